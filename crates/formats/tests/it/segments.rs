//! Segments of the recorder: what is in them, and what is left of them when they are cut or damaged.

use stepscope_formats::{Event, FormatError, Limits, TraceSink, Value, Warning, read_trace};
use stepscope_model::Note;
use stepscope_model::segment::{MAGIC, SegmentRecord, put_process_id};
use twox_hash::XxHash3_128;

/// Everything that a reader says, one line each.
#[derive(Default)]
struct Lines(Vec<String>);

impl TraceSink for Lines {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.0.push(format!("{key} {}", text(value)));
    }

    fn event(&mut self, event: &Event<'_>) {
        let args: Vec<String> = event.args.iter().map(|(key, value)| format!("{key}={}", text(&value))).collect();
        let [phase, name, process, thread] =
            [&event.recorded_phase, &event.name, &event.process, &event.thread].map(text);
        let [start, dur] =
            [&event.start, &event.dur].map(|time| time.ns.map_or_else(|| "-".to_owned(), |ns| ns.to_string()));
        let line = format!("{phase} {name} {start} {dur} {process} {thread} {}", args.join(" "));
        self.0.push(line.trim_end().to_owned());
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        self.0.push(format!("{}: {}", warning.code.code, warning.detail));
    }

    fn progress(&mut self, _plain_bytes: u64) -> bool {
        true
    }
}

fn text(value: &Value<'_>) -> String {
    match value {
        Value::Missing | Value::Null => "-".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(text) => (*text).to_owned(),
        Value::Text(text) | Value::Json(text) => text.to_string(),
    }
}

fn frame(process_id: u32, records: &[SegmentRecord<'_>]) -> Vec<u8> {
    let mut payload = Vec::new();
    put_process_id(&mut payload, process_id);
    for record in records {
        record.put(&mut payload);
    }
    let mut frame = MAGIC.to_vec();
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend((XxHash3_128::oneshot(&payload) as u64).to_le_bytes());
    frame.extend(payload);
    frame
}

/// Two processes that take turns.
fn frames() -> [Vec<u8>; 4] {
    use SegmentRecord::{Dropped, End, Name, Process, Reading, Series, Span, Spans, Track};
    [
        frame(
            7,
            &[
                Process { name: "python train.py", rank: Some(3), world_size: Some(8) },
                Track { id: 0, thread: 71, task: 0, name: "MainThread" },
                Spans { track: 0, base_ns: 1_000_000 },
                Name { id: 1, text: "step" },
                Span { name: 1, start_after_ns: 0, dur_ns: 2_500, samples: Some(32) },
                Span { name: 1, start_after_ns: -3_000, dur_ns: 4_000, samples: None },
            ],
        ),
        frame(
            8,
            &[
                Process { name: "worker", rank: None, world_size: None },
                Name { id: 1, text: "load" },
                Track { id: 0, thread: 81, task: 2, name: "" },
                Spans { track: 0, base_ns: 500 },
                Span { name: 1, start_after_ns: 1, dur_ns: 1, samples: None },
                Series { id: 0, text: "process_rss_bytes" },
                Reading { series: 0, at_ns: 600, value: 9.0 },
                Series { id: 1, text: "cpu_percent" },
                Reading { series: 1, at_ns: 700, value: 2.0 },
            ],
        ),
        frame(
            7,
            &[
                Series { id: 0, text: "cpu_percent" },
                Reading { series: 0, at_ns: 2_000_000, value: 12.5 },
                Spans { track: 0, base_ns: 3_000_000 },
                Span { name: 1, start_after_ns: 0, dur_ns: 10, samples: None },
            ],
        ),
        frame(7, &[Dropped { regions: 5 }, End]),
    ]
}

const LINES: [&[&str]; 4] = [
    &[
        r#"distributedInfo {"rank": 3, "world_size": 8}"#,
        "M process_name - - 7 - name=python train.py",
        "M thread_name - - 7 71 name=MainThread",
        "X step 1000000 2500 7 71 samples=32",
        "X step 999500 4000 7 71",
    ],
    &[
        "M process_name - - 8 - name=worker",
        "M thread_name - - 8 81 task 2 name=task 2",
        "X load 501 1 8 81 task 2",
        "C process_rss_bytes 600 - 8 - value=9",
        // Of the machine, which the first process speaks for.
        "C cpu_percent 700 - 7 - value=2",
    ],
    &["C cpu_percent 2000000 - 7 - value=12.5", "X step 3000000 10 7 71"],
    &["not_recorded: 5 regions"],
];

fn read(bytes: &[u8]) -> (Vec<String>, Vec<Note>) {
    let mut lines = Lines::default();
    let summary = read_trace(bytes, &Limits::default(), &mut lines).unwrap();
    assert_eq!(summary.format, "stepscope");
    (lines.0, summary.notes)
}

#[test]
fn everything_is_read() {
    let (lines, notes) = read(&frames().concat());
    assert_eq!(lines, LINES.concat());
    assert_eq!(notes, [Note::NotRecorded]);
}

#[test]
fn a_recording_that_is_cut_has_everything_before_the_cut() {
    let frames = frames();
    let whole = frames.concat();
    for length in 4..whole.len() {
        let mut ends = frames.iter().scan(0, |end, frame| {
            *end += frame.len();
            Some(*end)
        });
        let complete = ends.clone().filter(|end| *end <= length).count();
        let is_at_an_end = ends.any(|end| end == length);
        let (lines, notes) = read(&whole[..length]);
        assert_eq!(lines, LINES[..complete].concat(), "cut at {length}");
        assert_eq!(notes.contains(&Note::RecordingTruncated), !is_at_an_end, "cut at {length}: {notes:?}");
    }
}

#[test]
fn damage_costs_one_frame() {
    let frames = frames();
    for damaged in 1..3 {
        let start: usize = frames[..damaged].iter().map(Vec::len).sum();
        for offset in 0..frames[damaged].len() {
            let mut bytes = frames.concat();
            bytes[start + offset] ^= 0x10;
            let (lines, notes) = read(&bytes);
            let others: Vec<&str> =
                LINES.iter().enumerate().filter(|(at, _)| *at != damaged).flat_map(|(_, l)| *l).copied().collect();
            let kept: Vec<&String> = lines.iter().filter(|line| !line.starts_with("garbage")).collect();
            assert_eq!(kept, others, "byte {offset} of frame {damaged}");
            assert!(notes.contains(&Note::RecordingDamaged), "byte {offset} of frame {damaged}: {notes:?}");
        }
    }
}

#[test]
fn names_that_were_lost_are_said_to_be() {
    let [mut first, _, third, _] = frames();
    first[20] ^= 1;
    let (lines, _) = read(&[first, third].concat());
    let lines: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.starts_with('X')).collect();
    assert_eq!(lines, ["X lost name 1 3000000 10 7 lost track 0"]);
}

#[test]
fn arbitrary_payloads_do_no_harm() {
    // A frame whose checksum is right and whose records are not.
    for seed in 0..2_000_u64 {
        let bytes: Vec<u8> = (0..64)
            .flat_map(|at: u64| (XxHash3_128::oneshot(&(seed * 64 + at).to_le_bytes()) as u64).to_le_bytes())
            .collect();
        let mut frame = MAGIC.to_vec();
        frame.extend((bytes.len() as u32).to_le_bytes());
        frame.extend((XxHash3_128::oneshot(&bytes) as u64).to_le_bytes());
        frame.extend(&bytes);
        let outcome = read_trace(frame.as_slice(), &Limits::default(), &mut Lines::default());
        assert!(matches!(outcome, Ok(_) | Err(FormatError::NoEvents { .. })));
    }
}
