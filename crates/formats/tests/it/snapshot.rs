//! Memory snapshots: what the reader tells of real ones, of cut ones, and of hostile ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value as Json, json};
use stepscope_formats::{
    Event, FORMATS, FormatError, Frame, Limits, MemoryBlock, MemoryChange, MemorySegment, TraceSink, Track, Value,
    Warning, read_trace,
};
use stepscope_model::BlockState;
use stepscope_testkit::corpus;

/// Counts and sums of all that is told; order and numbers are checked as it comes.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) segments: u64,
    pub(crate) blocks: u64,
    pub(crate) changes: u64,
    pub(crate) losses: u64,
    pub(crate) frames: Vec<String>,
    pub(crate) stacks: Vec<Vec<u32>>,
    /// Stacks of blocks and changes.
    used_stacks: BTreeSet<u32>,
    /// Figures of segments by device.
    state: BTreeMap<i64, BTreeMap<&'static str, i64>>,
    /// Changes by device and action.
    actions: BTreeMap<i64, BTreeMap<String, u64>>,
    /// Signed bytes of changes by device and action.
    sums: BTreeMap<i64, BTreeMap<String, i64>>,
    ts_ns: Vec<Option<i64>>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) annotations: Vec<(String, i64, i64)>,
    pub(crate) warnings: BTreeMap<&'static str, u64>,
    /// Everything but places, for comparing.
    pub(crate) lines: Vec<String>,
    open_blocks: u64,
    tracks: u32,
    /// Whether the reader is asked to stop.
    pub(crate) is_stopped: bool,
}

impl Seen {
    fn element(&mut self, position: u64) {
        assert_eq!(position, self.changes + self.losses + self.annotations.len() as u64, "elements are numbered");
    }

    fn check_stack(&mut self, stack: Option<u32>) {
        if let Some(stack) = stack {
            assert!((stack as usize) < self.stacks.len(), "a stack is told before it is referred to");
            self.used_stacks.insert(stack);
        }
    }

    /// The content of a stack, as numbers differ between files that are the same otherwise.
    fn show_stack(&self, stack: Option<u32>) -> String {
        let frames = stack.map(|stack| self.stacks[stack as usize].clone()).unwrap_or_default();
        frames.iter().map(|&frame| self.frames[frame as usize].as_str()).collect::<Vec<_>>().join(" < ")
    }
}

impl TraceSink for Seen {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.headers.insert(key.to_owned(), format!("{value:?}"));
    }

    fn event(&mut self, event: &Event<'_>) {
        self.element(event.position);
        assert!(event.track.is_some_and(|track| track < self.tracks));
        let name = event.name.as_text().expect("an annotation has a name").to_owned();
        self.annotations.push((name, event.start.ns.expect("a start"), event.dur.ns.expect("a duration")));
    }

    fn track(&mut self, track: &Track<'_>) {
        assert_eq!((track.number, track.thread), (self.tracks, "memory"));
        self.tracks += 1;
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.frames.push(format!("{}:{} {}", frame.file.unwrap(), frame.line.unwrap(), frame.name));
    }

    fn stack(&mut self, frames: &[u32]) {
        assert!(frames.iter().all(|&frame| (frame as usize) < self.frames.len()), "frames are told first");
        self.stacks.push(frames.to_vec());
    }

    fn memory_block(&mut self, block: &MemoryBlock) {
        assert_eq!((block.segment, block.position), (self.segments, self.open_blocks));
        self.open_blocks += 1;
        self.blocks += 1;
        self.check_stack(block.stack);
        if block.state == Some(BlockState::Inactive) {
            let figures = self.state.entry(block.device_id).or_default();
            let largest = figures.entry("largest_free_bytes").or_default();
            *largest = (*largest).max(block.size_bytes);
        }
        let line = format!("{:?} {}", MemoryBlock { stack: None, ..block.clone() }, self.show_stack(block.stack));
        self.lines.push(line);
    }

    fn memory_segment(&mut self, segment: &MemorySegment<'_>) {
        assert_eq!((segment.segment, segment.blocks), (self.segments, self.open_blocks));
        (self.segments, self.open_blocks) = (self.segments + 1, 0);
        let is_stuck = segment.allocated_bytes != 0 || segment.pending_bytes != 0;
        let figures = self.state.entry(segment.device_id).or_default();
        for (name, figure) in [
            ("segments", 1),
            ("blocks", segment.blocks as i64),
            ("reserved_bytes", segment.total_bytes),
            ("allocated_bytes", segment.allocated_bytes),
            ("pending_bytes", segment.pending_bytes),
            ("inactive_bytes", segment.inactive_bytes),
            ("requested_bytes", segment.requested_bytes),
            ("stuck_bytes", if is_stuck { segment.inactive_bytes } else { 0 }),
            ("cached_bytes", if is_stuck { 0 } else { segment.inactive_bytes }),
            ("largest_free_bytes", 0),
        ] {
            *figures.entry(name).or_default() += figure;
        }
        let line = format!("{:?} {}", MemorySegment { stack: None, ..segment.clone() }, self.show_stack(segment.stack));
        self.lines.push(line);
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        self.element(change.position);
        self.changes += 1;
        assert!(change.track < self.tracks);
        self.check_stack(change.stack);
        let (device, action) = (change.device_id.unwrap(), change.action.unwrap_or("None").to_owned());
        *self.actions.entry(device).or_default().entry(action.clone()).or_default() += 1;
        *self.sums.entry(device).or_default().entry(action).or_default() += change.size_bytes.unwrap_or(0);
        self.ts_ns.push(change.ts_ns);
        let mut args: Vec<String> = change.args.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
        args.sort();
        let stack = self.show_stack(change.stack);
        let MemoryChange { position, ts_ns, action, size_bytes, address, stream_id, category, .. } = change;
        self.lines.push(format!(
            "{position} {device} {ts_ns:?} {action:?} {size_bytes:?} {address:?} {stream_id:?} {category:?} {args:?} {stack}"
        ));
    }

    fn scratch_file(&mut self) -> io::Result<File> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("stepscope-test-{}-{number}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        if let Some(position) = warning.position {
            self.element(position);
        }
        self.losses += u64::from(warning.code.is_loss);
        *self.warnings.entry(warning.code.code).or_default() += 1;
    }

    fn progress(&mut self, _: u64) -> bool {
        !self.is_stopped
    }
}

/// What is told of a file, and its notes or the refusal.
pub(crate) fn read(bytes: &[u8]) -> (Seen, Result<BTreeSet<String>, FormatError>) {
    let mut seen = Seen::default();
    let outcome = read_trace(bytes, &Limits::default(), &mut seen).map(|summary| {
        assert_eq!(summary.format, "memory_snapshot");
        summary.notes.iter().map(|note| note.as_text().to_owned()).collect()
    });
    (seen, outcome)
}

fn oracle(rel_path: &str) -> PathBuf {
    corpus().trace("../oracles/formats").join(rel_path)
}

fn json_at(rel_path: &str) -> Json {
    serde_json::from_slice(&fs::read(oracle(rel_path)).expect("the values are there")).expect("the values are JSON")
}

/// Every snapshot of the corpus, by name.
fn snapshots() -> Vec<(String, Vec<u8>)> {
    let folder = corpus().trace("memory_snapshots");
    let names = fs::read_dir(&folder).expect("the snapshots are there").map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".pickle"));
    names.sort();
    assert!(names.len() > 10);
    names.into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).expect("it can be read"))).collect()
}

#[test]
#[ignore = "needs the corpus"]
fn real_snapshots_have_the_known_values() {
    for (name, bytes) in snapshots() {
        let values = json_at(&format!("values/memory_snapshots__{name}.json"));
        let (seen, outcome) = read(&bytes);
        let format = &values["format"];
        let notes: BTreeSet<String> = serde_json::from_value(format["notes"].clone()).unwrap();
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{name}: {error}")), notes, "{name}");
        assert_eq!(seen.warnings, BTreeMap::new(), "{name}");
        let used: BTreeSet<u32> = seen.used_stacks.iter().flat_map(|&it| seen.stacks[it as usize].clone()).collect();
        let found = json!([seen.segments, seen.blocks, seen.changes, seen.used_stacks.len(), used.len()]);
        let want = ["segments", "blocks", "events", "stacks", "frames"].map(|key| format[key].clone());
        assert_eq!(found, json!(want), "{name}");
        // Only segments that no history tells of have stacks of their own.
        let is_bare = notes.contains("segments_only");
        assert!(seen.stacks.len() == seen.used_stacks.len() || is_bare, "{name}: {}", seen.stacks.len());
        let whole = if format["state_is_whole"] == json!(true) { "whole" } else { "none" };
        assert_eq!(seen.headers["snapshot_state"], format!("Text({whole:?})"), "{name}");
        assert_eq!(seen.headers["segment_totals_differ"], "Number(\"0\")", "{name}");
        check_state(&name, &seen, &values["state"]);
        check_history(&name, &seen, &values["history"]);
        check_annotations(&name, &seen, format["annotations"].as_array().unwrap());
    }
}

fn check_state(name: &str, seen: &Seen, state: &Json) {
    assert_eq!(seen.state.len(), state.as_object().unwrap().len(), "{name}");
    for (device, figures) in &seen.state {
        for (figure, value) in figures {
            assert_eq!(json!(value), state[device.to_string()][figure], "{name}: {figure} of device {device}");
        }
    }
}

fn check_history(name: &str, seen: &Seen, history: &Json) {
    assert_eq!(seen.actions.len(), history.as_object().unwrap().len(), "{name}");
    for (device, actions) in &seen.actions {
        let want = &history[device.to_string()];
        assert_eq!(json!(actions), want["by_action"], "{name}: actions of device {device}");
        assert_eq!(json!(seen.sums[device].get("alloc").unwrap_or(&0)), want["allocated_bytes_sum"], "{name}");
        assert!(seen.sums[device].get("free_completed").is_none_or(|&sum| sum <= 0), "{name}");
    }
    if let ([want], 1) = (history.as_object().unwrap().values().collect::<Vec<_>>().as_slice(), seen.actions.len()) {
        assert_eq!(json!(seen.ts_ns.iter().flatten().next()), want["first_ns"], "{name}");
        assert_eq!(json!(seen.ts_ns.iter().flatten().last()), want["last_ns"], "{name}");
    }
}

fn check_annotations(name: &str, seen: &Seen, annotations: &[Json]) {
    assert_eq!(2 * seen.annotations.len(), annotations.len(), "{name}");
    let starts: Vec<i64> = annotations
        .iter()
        .filter(|annotation| annotation["stage"] == "START")
        .map(|annotation| annotation["time_us"].as_i64().unwrap() * 1000)
        .collect();
    assert_eq!(seen.annotations.iter().map(|range| range.1).collect::<Vec<_>>(), starts, "{name}");
}

#[test]
#[ignore = "needs the corpus"]
fn cut_snapshots_have_the_known_values() {
    let cuts = json_at("values/cuts.json");
    for (name, bytes) in snapshots() {
        let Some(cuts) = cuts[format!("memory_snapshots/{name}")].as_object() else { continue };
        for (length, want) in cuts {
            let (seen, outcome) = read(&bytes[..length.parse().unwrap()]);
            if want["refused"].is_string() {
                let error = outcome.expect_err("it is refused").to_string();
                assert!(error.contains("not a memory snapshot"), "{name} at {length}: {error}");
                continue;
            }
            let mut notes = outcome.unwrap_or_else(|error| panic!("{name} at {length}: {error}"));
            if seen.headers["snapshot_state"] == "Text(\"cut\")" {
                notes.insert("state_cut".to_owned());
            }
            let found =
                json!({"notes": notes, "segments": seen.segments, "blocks": seen.blocks, "events": seen.changes});
            assert_eq!(found, *want, "{name} at {length}");
            assert!(seen.losses <= 1, "{name} at {length}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn a_cut_snapshot_has_no_more_than_the_whole() {
    for (name, bytes) in snapshots() {
        let (whole, _) = read(&bytes);
        let mut changes = 0;
        for part in 0..64 {
            let length = bytes.len() * part / 64;
            let (seen, outcome) = read(&bytes[..length]);
            let Ok(notes) = outcome else { continue };
            assert!(notes.contains("pickle_truncated"), "{name} at {length}: {notes:?}");
            assert!(seen.segments <= whole.segments && seen.blocks <= whole.blocks, "{name} at {length}");
            assert!(seen.changes >= changes && seen.changes <= whole.changes, "{name} at {length}");
            assert!(seen.annotations.len() <= whole.annotations.len(), "{name} at {length}");
            changes = seen.changes;
        }
    }
}

/// The reader itself, whatever a file looks like.
pub(crate) fn read_as_snapshot(bytes: &[u8]) -> (Seen, Result<BTreeSet<String>, FormatError>) {
    let format = FORMATS.iter().find(|format| format.name() == "memory_snapshot").expect("it is in the list");
    let mut seen = Seen::default();
    let mut input = bytes;
    let outcome = format.read(&mut input, &Limits::default(), &mut seen);
    (seen, outcome.map(|notes| notes.iter().map(|note| note.as_text().to_owned()).collect()))
}
