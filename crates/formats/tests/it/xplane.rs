//! XPlane files: the fixtures, which real programs recorded, and small ones made here.

use std::fs;
use std::path::Path;

use stepscope_formats::{Event, Limits, MemoryChange, ReadSummary, TraceSink, Track, Value, Warning, read_trace};
use stepscope_model::{Kind, Note};
use stepscope_testkit::corpus;

/// Keeps what a reader says, as text.
#[derive(Debug, Default, PartialEq)]
struct Told {
    events: Vec<String>,
    tracks: Vec<String>,
    headers: Vec<String>,
    warnings: Vec<String>,
    steps: usize,
}

impl TraceSink for Told {
    fn header(&mut self, key: &str, _: &Value<'_>) {
        self.headers.push(key.to_owned());
    }

    fn event(&mut self, event: &Event<'_>) {
        assert_eq!(event.position as usize, self.events.len() + self.losses(), "events are numbered");
        self.steps += usize::from(event.kind == Some(Kind::Annotation));
        let args: Vec<String> = event.args.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
        let times = (event.start.ns, event.dur.ns);
        self.events.push(format!(
            "{:?} {:?} {:?} {times:?} {}",
            event.kind,
            event.category,
            event.name,
            args.join(" ")
        ));
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        self.events.push(format!("memory {:?} {:?}", change.size_bytes, change.allocator));
    }

    fn track(&mut self, track: &Track<'_>) {
        self.tracks.push(format!("{} {} {:?} {:?}", track.process, track.thread, track.thread_name, track.stream_id));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        self.warnings.push(format!("{}{}", warning.code.code, if warning.code.is_loss { " lost" } else { "" }));
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

impl Told {
    fn losses(&self) -> usize {
        self.warnings.iter().filter(|warning| warning.ends_with("lost")).count()
    }
}

fn read(bytes: &[u8]) -> (Told, ReadSummary) {
    let mut told = Told::default();
    let summary = read_trace(bytes, &Limits::default(), &mut told).unwrap();
    (told, summary)
}

fn fixture(name: &str) -> Vec<u8> {
    let packed = fs::read(Path::new("../../fixtures/xplane").join(name)).unwrap();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut plain).unwrap();
    plain
}

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128, "one byte of length");
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

#[test]
fn real_recordings_are_read_whole() {
    for (name, events, steps) in [("jax.xplane.pb.gz", 100, 5), ("tensorflow.xplane.pb.gz", 3000, 5)] {
        let (told, summary) = read(&fixture(name));
        assert_eq!((summary.format, summary.notes.as_slice(), told.steps), ("xplane", &[][..], steps), "{name}");
        assert!(told.events.len() > events && told.warnings.is_empty(), "{name}: {:?}", told.warnings);
        let packed = fs::read(Path::new("../../fixtures/xplane").join(name)).unwrap();
        assert_eq!(read(&packed).0, told, "{name}: compressed");
    }
}

#[test]
fn a_cut_file_has_no_more_than_the_whole() {
    let plain = fixture("jax.xplane.pb.gz");
    let whole = read(&plain).0.events.len();
    for part in 1..64 {
        let mut told = Told::default();
        // The first bytes alone may be anything.
        if let Ok(summary) = read_trace(&plain[..plain.len() * part / 64], &Limits::default(), &mut told) {
            assert!(told.events.len() <= whole, "cut {part}");
            let is_cut = summary.notes.contains(&Note::ProtobufTruncated);
            assert!(is_cut || told.events.len() == whole, "cut {part}: {:?}", summary.notes);
        }
    }
}

/// Counts what a reader says.
#[derive(Debug, Default)]
struct Counted {
    events: u64,
}

impl TraceSink for Counted {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, _: &Event<'_>) {
        self.events += 1;
    }

    fn memory_change(&mut self, _: &MemoryChange<'_>) {
        self.events += 1;
    }

    fn warning(&mut self, _: &Warning<'_>) {}

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

#[test]
#[ignore = "needs the corpus"]
fn cut_recordings_have_no_more_than_the_whole() {
    let folders = ["xplane", "jax", "tensorflow"].map(|folder| corpus().trace(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("it is there"));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pb"));
    assert!(files.len() > 10);
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let mut whole = Counted::default();
        read_trace(&bytes[..], &Limits::default(), &mut whole).unwrap();
        for part in 1..64 {
            let length = bytes.len() * part / 64;
            let mut counted = Counted::default();
            // The first bytes alone may be anything.
            if let Err(error) = read_trace(&bytes[..length], &Limits::default(), &mut counted) {
                assert_eq!(counted.events, 0, "{}, {length} bytes: {error}", path.display());
            }
            assert!(counted.events <= whole.events, "{}, {length} bytes", path.display());
        }
    }
}

#[test]
fn the_order_of_fields_does_not_matter() {
    let name = field(2, b"/host:CPU");
    let event = field(4, b"\x08\x01\x10\xd0\x0f\x18\xe8\x07\x22\x04\x08\x07\x20\x2a");
    let line = field(3, &[b"\x08\x05".as_slice(), &field(2, b"main/5"), b"\x18\x0a", &event].concat());
    let late = field(3, &[event.as_slice(), b"\x18\x0a", &field(2, b"main/5"), b"\x08\x05"].concat());
    let kinds = field(4, &[b"\x08\x01".as_slice(), &field(2, &field(2, b"train"))].concat());
    let stats = field(5, &[b"\x08\x07".as_slice(), &field(2, &field(2, b"step_num"))].concat());
    let plane = |parts: &[&Vec<u8>]| field(1, &parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>());
    let (told, _) = read(&plane(&[&name, &line, &kinds, &stats]));
    assert_eq!(
        told.events,
        [r#"Some(Annotation) Text("step") Text("train") (Some(12), Some(1)) step_num=Number("42")"#]
    );
    assert_eq!(told.tracks, [r#"host 5 Some("main") None"#]);
    for parts in [[&stats, &name, &kinds, &late], [&kinds, &late, &stats, &name]] {
        let bytes = plane(&parts);
        let is_known = bytes[2] == 0x12 || bytes[4..].windows(6).any(|window| window == b"/host:");
        assert!(is_known);
        assert_eq!(read(&bytes).0.events, told.events);
    }
}
