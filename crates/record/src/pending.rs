//! Records on their way to a segment: the payload of the next frame, and what the reader has been told already.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use stepscope_model::segment::{MAX_PAYLOAD_BYTES, SegmentRecord, put_process_id};

use crate::names::{NameId, resolve};

/// Longest name that is written.
const MAX_TEXT_BYTES: usize = 4096;

/// Most bytes of one record.
const MAX_RECORD_BYTES: usize = MAX_TEXT_BYTES + 64;

pub(crate) struct Pending {
    payload: Vec<u8>,
    /// Bytes of an empty payload.
    head_bytes: usize,
    /// Bytes that may still be written.
    room_bytes: u64,
    names: HashSet<NameId>,
    tracks: HashMap<(u64, u16), u64>,
    series: HashMap<Arc<str>, u64>,
    /// End of the span before, which the next one is relative to.
    last_end_ns: i64,
    /// The span that was put last and where it stands, for samples that come after it.
    last_span: Option<(usize, NameId, i64, i64, i64)>,
    /// Regions for which there was no room, and what was said of it.
    pub(crate) lost: u64,
    pub(crate) lost_said: u64,
}

impl Pending {
    pub(crate) fn new(room_bytes: u64) -> Self {
        let mut pending = Self {
            payload: Vec::new(),
            head_bytes: 0,
            room_bytes,
            names: HashSet::new(),
            tracks: HashMap::new(),
            series: HashMap::new(),
            last_end_ns: 0,
            last_span: None,
            lost: 0,
            lost_said: 0,
        };
        pending.restart();
        let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse().ok());
        let name = process_name();
        let process =
            SegmentRecord::Process { name: short(&name), rank: number("RANK"), world_size: number("WORLD_SIZE") };
        pending.put(&process);
        pending
    }

    /// The payload so far, if there is something in it; the next one begins.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        if self.payload.len() <= self.head_bytes {
            return None;
        }
        let payload = std::mem::take(&mut self.payload);
        self.room_bytes = self.room_bytes.saturating_sub(payload.len() as u64);
        self.restart();
        Some(payload)
    }

    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.payload.len()
    }

    pub(crate) fn put(&mut self, record: &SegmentRecord<'_>) {
        self.last_span = None;
        record.put(&mut self.payload);
    }

    /// What follows happened on this thread or task.
    pub(crate) fn start_track(&mut self, thread: u64, task: u16, name: &str, base_ns: i64) {
        let next = self.tracks.len() as u64;
        let id = *self.tracks.entry((thread, task)).or_insert(next);
        if id == next {
            self.put(&SegmentRecord::Track { id, thread, task: u64::from(task), name: short(name) });
        }
        self.put(&SegmentRecord::Spans { track: id, base_ns });
        self.last_end_ns = base_ns;
    }

    pub(crate) fn span(&mut self, name: NameId, start_ns: i64, end_ns: i64) {
        if !self.has_room() {
            self.lost += 1;
            return;
        }
        if self.names.insert(name) {
            let text = resolve(name).map(|(_, text)| text).unwrap_or_default();
            self.put(&SegmentRecord::Name { id: u64::from(name.0), text: short(&text) });
        }
        let at = self.payload.len();
        self.put_span(name, start_ns, end_ns, None);
        self.last_span = Some((at, name, self.last_end_ns, start_ns, end_ns));
        self.last_end_ns = end_ns;
    }

    /// The span that was put last worked on so many samples.
    pub(crate) fn samples_of_last(&mut self, samples: u64) {
        if let Some((at, name, last_end_ns, start_ns, end_ns)) = self.last_span.take() {
            self.payload.truncate(at);
            self.last_end_ns = last_end_ns;
            self.put_span(name, start_ns, end_ns, Some(samples));
            self.last_end_ns = end_ns;
        }
    }

    pub(crate) fn reading(&mut self, series: &Arc<str>, at_ns: i64, value: f64) {
        if !self.has_room() {
            return;
        }
        let next = self.series.len() as u64;
        let id = *self.series.entry(Arc::clone(series)).or_insert(next);
        if id == next {
            self.put(&SegmentRecord::Series { id, text: short(series) });
        }
        self.put(&SegmentRecord::Reading { series: id, at_ns, value });
    }

    fn put_span(&mut self, name: NameId, start_ns: i64, end_ns: i64, samples: Option<u64>) {
        let start_after_ns = start_ns - self.last_end_ns;
        let dur_ns = end_ns.abs_diff(start_ns);
        SegmentRecord::Span { name: u64::from(name.0), start_after_ns, dur_ns, samples }.put(&mut self.payload);
    }

    /// A payload that nobody writes, because the disk is stalled, grows no further than a frame may be.
    fn has_room(&self) -> bool {
        let after = self.payload.len() + 3 * MAX_RECORD_BYTES;
        after <= MAX_PAYLOAD_BYTES && (after as u64) < self.room_bytes
    }

    fn restart(&mut self) {
        put_process_id(&mut self.payload, std::process::id());
        self.head_bytes = self.payload.len();
        self.last_span = None;
    }
}

fn process_name() -> String {
    let arguments: Vec<String> = std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = arguments.split_first() else { return String::new() };
    // Where the program lies tells little, and takes the room of what does.
    let program = Path::new(program).file_name().map_or(program.as_str().into(), |name| name.to_string_lossy());
    [program.as_ref()].into_iter().chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// A text that is not longer than one may be.
fn short(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
