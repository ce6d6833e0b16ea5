//! What holds for any input of the reader, valid or not. The fuzz targets in `fuzz/` check the same.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value as Json;
use stepscope_formats::{
    Event, FORMATS, Frame, FunctionTotals, Limits, MemoryBlock, MemoryChange, MemorySegment, TraceSink, Track, Value,
    Warning, read_trace,
};

/// Small, so that small inputs meet them.
const LIMITS: Limits = Limits {
    max_depth: 12,
    max_event_bytes: 600,
    max_string_bytes: 200,
    max_gzip_ratio: 50,
    gzip_free_bytes: 64 << 10,
};

/// What the Chrome reader asks for at once; a test that pads to just before it puts the seam into the document.
const BLOCK_BYTES: usize = 256 << 10;

/// Keys of the root that are never taken for those of an event.
const ROOT_KEYS: [&str; 6] =
    ["schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceEvents"];

/// Panics if the reader breaks a promise on `bytes`.
pub(crate) fn check_reader(bytes: &[u8]) {
    let whole = Reading::of(bytes, &LIMITS);
    for step in [1, 2 + bytes.len() % 29] {
        let trickled = Reading::of(BufReader::with_capacity(step, Trickle(bytes, step)), &LIMITS);
        assert_eq!(trickled, whole, "in steps of {step}");
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    assert_eq!(Reading::of(gzip(bytes).as_slice(), &LIMITS), whole, "compressed");
    // Behind the first invalid byte of a block, places are not exact; and a mark of byte order is one only at the start.
    if std::str::from_utf8(bytes).is_ok_and(|text| !text.starts_with('\u{FEFF}')) {
        check_seam(bytes, bytes.iter().fold(bytes.len(), |sum, &byte| sum + usize::from(byte)) % (bytes.len() + 1));
    }
    check_valid(bytes);
}

/// The bytes before and after `seam` come in different blocks.
pub(crate) fn check_seam(bytes: &[u8], seam: usize) {
    let read = |padding: usize| {
        let mut seen = Seen { padding: padding as u64, ..Seen::default() };
        let mut input = io::repeat(b' ').take(padding as u64).chain(bytes);
        let outcome = FORMATS[0].read(&mut input, &LIMITS, &mut seen);
        (seen.lines, format!("{outcome:?}"))
    };
    assert_eq!(read(BLOCK_BYTES - seam), read(0), "with a seam at {seam}");
}

/// In a valid trace every element is whole.
fn check_valid(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Json>(bytes) else { return };
    let list = match &document {
        Json::Array(list) => list,
        Json::Object(members) if members.keys().all(|key| ROOT_KEYS.contains(&key.as_str())) => {
            let Some(Json::Array(list)) = members.get("traceEvents") else { return };
            list
        }
        _ => return,
    };
    let keys = bytes.windows(11).filter(|window| *window == b"traceEvents").count();
    let mut seen = Seen::default();
    // A text that holds the key may be taken for a trace inside a trace.
    if keys > usize::from(document.is_object()) || read_trace(bytes, &Limits::default(), &mut seen).is_err() {
        return;
    }
    assert_eq!(seen.elements, list.len() as u64, "elements");
    assert_eq!(seen.losses, list.iter().filter(|element| !element.is_object()).count() as u64, "losses");
}

/// All that a reader says about an input.
#[derive(Debug, PartialEq)]
struct Reading {
    lines: Vec<String>,
    outcome: String,
}

impl Reading {
    fn of(input: impl BufRead + Send, limits: &Limits) -> Self {
        let mut seen = Seen::default();
        let outcome = read_trace(input, limits, &mut seen);
        if let Ok(summary) = &outcome {
            assert!(seen.last_offset_bytes <= Some(summary.bytes_plain), "places are in the input");
        }
        Self { lines: seen.lines, outcome: format!("{outcome:?}") }
    }
}

/// Keeps what a reader says, and checks it as it comes.
#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    elements: u64,
    losses: u64,
    /// Where the last event starts. A loss may point into itself, at what is wrong, and the next event begin before that.
    last_offset_bytes: Option<u64>,
    padding: u64,
    tracks: u32,
    frames: u32,
    stacks: u32,
    segments: u64,
    /// Blocks of the segment that comes next.
    blocks: u64,
}

impl Seen {
    /// Elements come once each, in the order of the file.
    fn element(&mut self, position: Option<u64>) {
        assert_eq!(position, Some(self.elements), "elements are numbered");
        self.elements += 1;
    }

    /// What is referred to by number was told before.
    fn check_references(&self, track: Option<u32>, stack: Option<u32>) {
        assert!(track.is_none_or(|track| track < self.tracks), "track {track:?} is not known");
        assert!(stack.is_none_or(|stack| stack < self.stacks), "stack {stack:?} is not known");
    }
}

impl TraceSink for Seen {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        assert_ne!(*value, Value::Missing, "a header has a value");
        self.lines.push(format!("{key:?}: {}", show(value)));
    }

    fn event(&mut self, event: &Event<'_>) {
        self.element(Some(event.position));
        self.check_references(event.track, None);
        let before = self.last_offset_bytes.replace(event.offset_bytes);
        // Elements of a pickle may be referred to in any order.
        let is_in_order = before <= Some(event.offset_bytes) || event.track.is_some();
        assert!(is_in_order, "event {} is before the one before", event.position);
        let mut line = format!("#{} @{}", event.position, event.offset_bytes - self.padding);
        let fields = [
            &event.recorded_phase,
            &event.category,
            &event.name,
            &event.start.recorded,
            &event.dur.recorded,
            &event.process,
            &event.thread,
            &event.id,
        ];
        for value in fields {
            write!(line, " {}", show(value)).unwrap();
        }
        for (key, value) in event.args.iter() {
            assert_ne!(value, Value::Missing, "an argument has a value");
            write!(line, " {key:?}={}", show(&value)).unwrap();
        }
        self.lines.push(line);
    }

    fn function(&mut self, function: &FunctionTotals) {
        self.element(Some(function.position));
        let before = self.last_offset_bytes.replace(function.offset_bytes);
        assert!(before < Some(function.offset_bytes), "function {} is before the one before", function.position);
        self.lines.push(format!("{function:?}"));
    }

    fn track(&mut self, track: &Track<'_>) {
        assert_eq!(track.number, self.tracks, "tracks are numbered");
        self.tracks += 1;
        self.lines.push(format!("{track:?}"));
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.frames += 1;
        self.lines.push(format!("{frame:?}"));
    }

    fn stack(&mut self, frames: &[u32]) {
        assert!(frames.iter().all(|&frame| frame < self.frames), "frames are told before their stack");
        self.stacks += 1;
        self.lines.push(format!("stack {frames:?}"));
    }

    fn memory_block(&mut self, block: &MemoryBlock) {
        assert_eq!((block.segment, block.position), (self.segments, self.blocks), "blocks are numbered");
        self.check_references(None, block.stack);
        self.blocks += 1;
        self.lines.push(format!("{block:?}"));
    }

    fn memory_segment(&mut self, segment: &MemorySegment<'_>) {
        assert_eq!((segment.segment, segment.blocks), (self.segments, self.blocks), "segments are numbered");
        self.check_references(None, segment.stack);
        (self.segments, self.blocks) = (self.segments + 1, 0);
        self.lines.push(format!("{segment:?}"));
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        self.element(Some(change.position));
        self.check_references(Some(change.track), change.stack);
        self.last_offset_bytes = self.last_offset_bytes.max(Some(change.offset_bytes));
        for (_, value) in change.args.iter() {
            assert_ne!(value, Value::Missing, "an argument has a value");
            show(&value);
        }
        self.lines.push(format!("{change:?}"));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        if warning.code.is_loss {
            self.element(warning.position);
            self.losses += 1;
        }
        assert!(warning.detail.len() <= 100, "details are short");
        let offset_bytes = warning.offset_bytes.saturating_sub(self.padding);
        self.lines.push(format!("! {} {:?} @{offset_bytes}", warning.code.code, warning.position));
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// A value as text; numbers and JSON must be valid.
fn show(value: &Value<'_>) -> String {
    if let Value::Number(text) = value {
        check_json(text);
    }
    if let Value::Json(text) = value {
        check_json(text);
        assert!(text.starts_with(['[', '{']), "JSON is a list or an object: {text}");
    }
    format!("{value:?}")
}

fn check_json(text: &str) {
    if let Err(error) = serde_json::from_str::<Json>(text) {
        // The grammar allows any exponent.
        assert!(error.to_string().starts_with("number out of range"), "{error}: {text}");
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(out.len());
        self.0.read(&mut out[..count])
    }
}
