//! Reads what Stepscope's own recorder writes: segments of frames (see `stepscope_model::segment`).
//!
//! A program that was killed leaves a last frame that is cut: everything before it is there. Frames of several processes
//! are in one file; a damaged frame is skipped up to the next one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read};

use memchr::memmem;
use stepscope_model::segment::{
    FRAME_HEAD_BYTES, MAGIC, MAX_PAYLOAD_BYTES, SegmentRecord, take_process_id, take_record,
};
use stepscope_model::{Content, Note, Phase, warning};
use twox_hash::XxHash3_128;

use crate::error::FormatError;
use crate::event::{Args, Event, Time, Value};
use crate::registry::{Confidence, Format, Limits};
use crate::sink::{TraceSink, Warning};

/// Segments of Stepscope's own recorder.
pub(crate) struct Segments;

impl Format for Segments {
    fn name(&self) -> &'static str {
        "stepscope"
    }

    fn yields(&self) -> Content {
        Content::Events
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        if head.starts_with(&MAGIC) { Confidence::Certain } else { Confidence::No }
    }

    fn read(
        &self,
        input: &mut (dyn Read + Send),
        _limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError> {
        let mut frames = Frames { input, bytes: Vec::new(), offset_bytes: 0, notes: Vec::new() };
        let mut reader = Reader { sink, first_process: None, processes: HashMap::new(), position: 0, offset_bytes: 0 };
        while frames.next(reader.sink)? {
            reader.offset_bytes = frames.offset_bytes;
            if reader.payload(payload(&frames.bytes)).is_err() {
                frames.damaged(reader.sink, "an invalid record");
            }
            frames.skip(FRAME_HEAD_BYTES + payload_length(&frames.bytes));
            if !reader.sink.progress(frames.offset_bytes) {
                return Err(FormatError::Stopped);
            }
        }
        let lost: u64 = reader.processes.values().map(|process| process.lost).sum();
        if lost > 0 {
            frames.notes.push(Note::NotRecorded);
            reader.warn(warning::NOT_RECORDED, &format!("{lost} regions"));
        }
        Ok(frames.notes)
    }
}

/// The frames of an input, one after the other.
struct Frames<'i> {
    input: &'i mut (dyn Read + Send),
    /// What was read and not yet used.
    bytes: Vec<u8>,
    offset_bytes: u64,
    notes: Vec<Note>,
}

impl Frames<'_> {
    /// Goes on until `bytes` begins with a frame that is whole; `false` at the end.
    fn next(&mut self, sink: &mut dyn TraceSink) -> io::Result<bool> {
        loop {
            if !self.fill(FRAME_HEAD_BYTES)? {
                if !self.bytes.is_empty() {
                    self.note(Note::RecordingTruncated);
                }
                return Ok(false);
            }
            let length = payload_length(&self.bytes);
            let is_frame = self.bytes.starts_with(&MAGIC) && length <= MAX_PAYLOAD_BYTES;
            if is_frame && !self.fill(FRAME_HEAD_BYTES + length)? {
                // Either the last frame is cut, or its length is wrong and another one begins in it.
                if !self.skip_to_frame()? {
                    self.note(Note::RecordingTruncated);
                    return Ok(false);
                }
                self.damaged(sink, "a truncated frame");
                continue;
            }
            if is_frame && checksum(&self.bytes) == XxHash3_128::oneshot(payload(&self.bytes)) as u64 {
                return Ok(true);
            }
            self.damaged(sink, "a damaged frame");
            if !self.skip_to_frame()? {
                return Ok(false);
            }
        }
    }

    /// Reads until so many bytes are there; `false` if the input ends before.
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        let missing = length.saturating_sub(self.bytes.len());
        if missing > 0 {
            (&mut *self.input).take(missing as u64).read_to_end(&mut self.bytes)?;
        }
        Ok(self.bytes.len() >= length)
    }

    /// Goes to where the next frame may begin; `false` if there is none.
    fn skip_to_frame(&mut self) -> io::Result<bool> {
        self.skip(1);
        loop {
            if let Some(at) = memmem::find(&self.bytes, &MAGIC) {
                self.skip(at);
                return Ok(true);
            }
            self.skip(self.bytes.len().saturating_sub(MAGIC.len() - 1));
            let before = self.bytes.len();
            (&mut *self.input).take(1 << 16).read_to_end(&mut self.bytes)?;
            if self.bytes.len() == before {
                return Ok(false);
            }
        }
    }

    fn skip(&mut self, length: usize) {
        self.bytes.drain(..length.min(self.bytes.len()));
        self.offset_bytes += length as u64;
    }

    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn damaged(&mut self, sink: &mut dyn TraceSink, what: &'static str) {
        self.note(Note::RecordingDamaged);
        let offset_bytes = self.offset_bytes;
        sink.warning(&Warning { code: warning::GARBAGE, position: None, offset_bytes, detail: what.into() });
    }
}

fn payload_length(frame: &[u8]) -> usize {
    frame.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
}

fn checksum(frame: &[u8]) -> u64 {
    frame.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn payload(frame: &[u8]) -> &[u8] {
    frame.get(FRAME_HEAD_BYTES..FRAME_HEAD_BYTES + payload_length(frame)).unwrap_or_default()
}

/// What a process has said.
#[derive(Default)]
struct Process {
    names: HashMap<u64, String>,
    series: HashMap<u64, String>,
    /// What the events of a track have as `tid`.
    tracks: HashMap<u64, String>,
    track: String,
    last_end_ns: i64,
    lost: u64,
}

struct Reader<'s> {
    sink: &'s mut dyn TraceSink,
    /// The process that spoke first: what several processes read of the machine is told as one, by this one.
    first_process: Option<u64>,
    processes: HashMap<u64, Process>,
    position: u64,
    offset_bytes: u64,
}

/// A payload that could not be read to its end.
struct Damaged;

impl Reader<'_> {
    fn payload(&mut self, mut payload: &[u8]) -> Result<(), Damaged> {
        let process_id = take_process_id(&mut payload).map_err(|_| Damaged)?;
        self.first_process.get_or_insert(process_id);
        let mut process = self.processes.remove(&process_id).unwrap_or_default();
        let outcome = loop {
            match take_record(&mut payload) {
                Ok(Some(record)) => self.record(process_id, &mut process, &record),
                Ok(None) => break Ok(()),
                Err(_) => break Err(Damaged),
            }
        };
        self.processes.insert(process_id, process);
        outcome
    }

    fn record(&mut self, process_id: u64, process: &mut Process, record: &SegmentRecord<'_>) {
        match *record {
            SegmentRecord::Process { name, rank, world_size } => {
                // A process that began anew, or one that was given the same number, says everything again.
                *process = Process { lost: process.lost, ..Process::default() };
                self.job(rank, world_size);
                self.label(process_id, "process_name", None, name);
            }
            SegmentRecord::Name { id, text } => {
                process.names.insert(id, text.to_owned());
            }
            SegmentRecord::Series { id, text } => {
                process.series.insert(id, text.to_owned());
            }
            SegmentRecord::Track { id, thread, task, name } => {
                let (track, label) = match task {
                    0 => (thread.to_string(), name.to_owned()),
                    _ => (format!("{thread} task {task}"), format!("{name} task {task}")),
                };
                self.label(process_id, "thread_name", Some(&track), label.trim_start());
                process.tracks.insert(id, track);
            }
            SegmentRecord::Spans { track, base_ns } => {
                process.track = process.tracks.get(&track).cloned().unwrap_or_else(|| format!("lost track {track}"));
                process.last_end_ns = base_ns;
            }
            SegmentRecord::Span { name, start_after_ns, dur_ns, samples } => {
                let start_ns = process.last_end_ns.saturating_add(start_after_ns);
                process.last_end_ns = start_ns.saturating_add_unsigned(dur_ns);
                let name =
                    process.names.get(&name).map_or_else(|| lost_name(name), |name| Cow::Borrowed(name.as_str()));
                let samples = samples.map(|samples| samples.to_string());
                let entry = samples.as_deref().map(|samples| ("samples".into(), Value::Number(samples)));
                let event = Event {
                    category: Value::Text("user_annotation".into()),
                    name: Value::Text(name),
                    start: Time::of_ns(start_ns),
                    dur: Time::of_ns(i64::try_from(dur_ns).unwrap_or(i64::MAX)),
                    thread: Value::Text(process.track.as_str().into()),
                    args: Args::from_entries(entry.as_slice()),
                    ..Event::of_phase(Phase::Complete)
                };
                self.event(process_id, event);
            }
            SegmentRecord::Reading { series, at_ns, value } => {
                let name =
                    process.series.get(&series).map_or_else(|| lost_name(series), |name| Cow::Borrowed(name.as_str()));
                let value = value.to_string();
                let is_of_process = name.contains("process_");
                let process_id = self.first_process.filter(|_| !is_of_process).unwrap_or(process_id);
                let entry = [("value".into(), Value::Number(&value))];
                let event = Event {
                    name: Value::Text(name),
                    start: Time::of_ns(at_ns),
                    args: Args::from_entries(&entry),
                    ..Event::of_phase(Phase::Counter)
                };
                self.event(process_id, event);
            }
            SegmentRecord::Dropped { regions } => process.lost = regions,
            SegmentRecord::End => {}
        }
    }

    fn job(&mut self, rank: Option<u64>, world_size: Option<u64>) {
        let Some(rank) = rank else { return };
        let world_size = world_size.map_or_else(|| "null".to_owned(), |size| size.to_string());
        let info = format!("{{\"rank\": {rank}, \"world_size\": {world_size}}}");
        self.sink.header("distributedInfo", &Value::Json(info.into()));
    }

    fn label(&mut self, process_id: u64, name: &str, thread: Option<&str>, label: &str) {
        let entry = [("name".into(), Value::Text(label.into()))];
        let event = Event {
            name: Value::Text(name.into()),
            thread: thread.map_or(Value::Missing, |text| Value::Text(text.into())),
            args: Args::from_entries(&entry),
            ..Event::of_phase(Phase::Metadata)
        };
        self.event(process_id, event);
    }

    fn event(&mut self, process_id: u64, event: Event<'_>) {
        let process_id = process_id.to_string();
        let (position, offset_bytes) = (self.position, self.offset_bytes);
        self.sink.event(&Event { position, offset_bytes, process: Value::Number(&process_id), ..event });
        self.position += 1;
    }

    fn warn(&mut self, code: warning::WarningCode, detail: &str) {
        let offset_bytes = self.offset_bytes;
        self.sink.warning(&Warning { code, position: None, offset_bytes, detail: detail.into() });
    }
}

/// A name that was in a frame which is damaged.
fn lost_name(id: u64) -> Cow<'static, str> {
    format!("lost name {id}").into()
}
