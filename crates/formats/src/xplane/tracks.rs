//! The tracks of a file: one for each line of a plane; lines with one id are one track.

use hashbrown::HashMap;

use super::kinds::{LineRole, PlaneRole};
use super::metadata::{Metadata, StatValue};
use super::plane::Line;
use crate::sink::TraceSink;
use crate::track::{Track, TrackKind};

/// The tracks that were told.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// By the id of the line, in the current plane.
    of_plane: HashMap<i64, u32>,
    next: u32,
    plane: String,
    role: Option<PlaneRole>,
    labels: Option<String>,
    /// Tracks of the host, which get the name of the host when the file says it.
    host: Vec<HostTrack>,
}

#[derive(Debug)]
struct HostTrack {
    number: u32,
    plane: String,
    thread: String,
    thread_name: String,
}

impl Tracks {
    /// Begins with the lines of another plane.
    pub(super) fn enter_plane(&mut self, name: &str, role: &PlaneRole, metadata: &Metadata) {
        self.of_plane.clear();
        name.clone_into(&mut self.plane);
        self.role = Some(role.clone());
        let text = |stat: &str| metadata.of_plane(stat).and_then(|value: &StatValue<'_>| metadata.text(value));
        self.labels = text("device_type_string").or_else(|| text("device_vendor")).map(str::to_owned);
    }

    /// The track of a line, which is told when it is new.
    pub(super) fn of_line(&mut self, line: &Line, sink: &mut dyn TraceSink) -> u32 {
        if let Some(&number) = self.of_plane.get(&line.id) {
            return number;
        }
        let number = self.next;
        self.next += 1;
        self.of_plane.insert(line.id, number);
        let id = line.id.cast_unsigned().to_string();
        match &self.role {
            Some(PlaneRole::Host) => {
                let host = HostTrack {
                    number,
                    plane: self.plane.clone(),
                    thread_name: without_id(&line.name, line.id).to_owned(),
                    thread: id,
                };
                sink.track(&host.track("host"));
                self.host.push(host);
            }
            Some(role @ PlaneRole::Device { number: device, .. }) => {
                let line_role = LineRole::of(role, &line.name);
                let process = device.map_or_else(|| self.plane.clone(), |device| device.to_string());
                sink.track(&Track {
                    number,
                    kind: match line_role {
                        LineRole::Work { .. } | LineRole::Waits | LineRole::Stream => TrackKind::Stream,
                        _ => TrackKind::Async,
                    },
                    process: &process,
                    thread: &id,
                    process_name: Some(&self.plane),
                    process_labels: self.labels.as_deref(),
                    thread_name: Some(&line.name),
                    device_id: *device,
                    stream_id: stream(line_role, line),
                    keeps_order: false,
                    device_work_nests: matches!(line_role, LineRole::Work { .. }),
                });
            }
            _ => sink.track(&Track {
                number,
                kind: TrackKind::Async,
                process: &self.plane,
                thread: &id,
                process_name: Some(&self.plane),
                thread_name: Some(&line.name),
                ..Track::default()
            }),
        }
        number
    }

    /// Tells the tracks of the host again, now that the host is known.
    pub(super) fn name_host(&self, host: &str, sink: &mut dyn TraceSink) {
        for track in &self.host {
            sink.track(&track.track(host));
        }
    }
}

impl HostTrack {
    fn track<'t>(&'t self, host: &'t str) -> Track<'t> {
        Track {
            number: self.number,
            kind: TrackKind::Thread,
            process: host,
            thread: &self.thread,
            process_name: Some(&self.plane),
            thread_name: Some(&self.thread_name),
            ..Track::default()
        }
    }
}

/// The name of a line without its id behind it.
fn without_id(name: &str, id: i64) -> &str {
    let is_id = |tail: &str| tail.parse() == Ok(id) || tail.parse() == Ok(id.cast_unsigned());
    name.rsplit_once('/').filter(|(_, tail)| is_id(tail)).map_or(name, |(head, _)| head)
}

/// The stream that the work of a line runs on.
fn stream(role: LineRole, line: &Line) -> Option<i64> {
    match role {
        LineRole::Work { is_async } => Some(i64::from(is_async)),
        LineRole::Waits => Some(2),
        LineRole::Stream => {
            let number = line.name.strip_prefix("Stream #").map(|rest| rest.split('(').next().unwrap_or_default());
            Some(number.and_then(|number| number.trim().parse().ok()).unwrap_or(line.id))
        }
        _ => None,
    }
}
