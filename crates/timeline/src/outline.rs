//! The outline of a recording: how long it is, its steps and its tracks.

use stepscope_engine::CancelFlag;
use stepscope_model::{SourceRecord, Timeline, TimelineStep, TimelineTrack, step_numbers};
use stepscope_runs::{Frame, RunError};

use super::{Timelines, condition, zero_of};

impl Timelines {
    /// The outline of a recording's timeline: how long it is, its steps and its tracks.
    pub fn outline(&self, rank: Option<u32>, window: Option<u32>, cancel: &CancelFlag) -> Result<Timeline, RunError> {
        let source = self.run.source(rank, window)?;
        let zero = zero_of(source);
        let steps = self.steps(source, cancel)?;
        Ok(Timeline {
            start_ns: 0,
            end_ns: source.last_event_ns.map_or(0, |last| last - zero),
            zero_ns: steps.first().map_or(0, |step| step.start_ns),
            steps,
            tracks: self.tracks(source, cancel)?,
        })
    }

    pub(super) fn steps(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Vec<TimelineStep>, RunError> {
        let sql = format!(
            "SELECT step, name, start_ns, end_ns, is_complete FROM steps WHERE {} ORDER BY step",
            condition(source)
        );
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        let (steps, names) = (frame.required_i64("step")?, frame.text("name")?);
        let (starts, ends) = (frame.required_i64("start_ns")?, frame.required_i64("end_ns")?);
        let complete = frame.bool("is_complete")?;
        let zero = zero_of(source);
        let numbers = step_numbers(names.iter().map(|name| name.as_deref().unwrap_or_default()));
        let step = |row: usize| TimelineStep {
            step: steps[row] as u32,
            number: numbers[row],
            name: names[row].clone().unwrap_or_default(),
            start_ns: starts[row] - zero,
            end_ns: ends[row] - zero,
            complete: complete[row].unwrap_or(false),
        };
        Ok((0..frame.rows()).map(step).collect())
    }

    fn tracks(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Vec<TimelineTrack>, RunError> {
        let sql = format!(
            "SELECT track_id, type, process, thread, process_name, process_labels, thread_name, device_id, stream_id,
                    spans, first_ns, last_ns
             FROM tracks WHERE {} ORDER BY process_sort_index, thread_sort_index, track_id",
            condition(source)
        );
        let shapes = self.shapes(source, cancel)?;
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        let integers = |name: &str| frame.i64(name);
        let (tracks, spans) = (frame.required_i64("track_id")?, frame.required_i64("spans")?);
        let (devices, streams) = (integers("device_id")?, integers("stream_id")?);
        let (firsts, lasts) = (integers("first_ns")?, integers("last_ns")?);
        let [types, processes, threads, process_names, labels, thread_names] =
            ["type", "process", "thread", "process_name", "process_labels", "thread_name"].map(|name| frame.text(name));
        let (types, processes, threads) = (types?, processes?, threads?);
        let (process_names, labels, thread_names) = (process_names?, labels?, thread_names?);
        let zero = zero_of(source);
        let track = |row: usize| {
            let kind = types[row].clone().unwrap_or_default();
            let thread = threads[row].as_deref().unwrap_or_default();
            TimelineTrack {
                track: tracks[row],
                process: process_words(
                    &kind,
                    processes[row].as_deref(),
                    process_names[row].as_deref(),
                    labels[row].as_deref(),
                ),
                name: thread_names[row].clone().unwrap_or_else(|| thread_words(&kind, thread)),
                kind,
                device: devices[row],
                stream: streams[row],
                spans: spans[row],
                depth: shapes.of(tracks[row]).lanes(),
                first_ns: firsts[row].map(|first| first - zero),
                last_ns: lasts[row].map(|last| last - zero),
            }
        };
        Ok((0..frame.rows()).map(track).collect())
    }
}

/// A device by its label, a process by its name and number.
fn process_words(kind: &str, process: Option<&str>, name: Option<&str>, labels: Option<&str>) -> String {
    let process = process.unwrap_or_default();
    if kind == "stream" {
        return labels.or(name).map_or_else(|| format!("device {process}"), str::to_owned);
    }
    match name.or(labels) {
        Some(name) if process.is_empty() || name.contains(process) => name.to_owned(),
        Some(name) => format!("{name} ({process})"),
        None => process.to_owned(),
    }
}

/// A number needs a word before it; some profilers write a name instead.
fn thread_words(kind: &str, thread: &str) -> String {
    let is_name = !thread.is_empty() && thread.parse::<i64>().is_err();
    if is_name { thread.to_owned() } else { format!("{kind} {thread}").trim_end().to_owned() }
}
