//! Compressed files, whole and broken.

use std::io::Write as _;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use stepscope_formats::Limits;
use stepscope_model::Note;

use crate::dump::{Dump, read, read_within};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A trace of `count` events that does not compress too well.
fn trace(count: usize) -> Vec<u8> {
    let mut random = stepscope_testkit::Random::new(1);
    let events: Vec<String> =
        (0..count).map(|i| format!(r#"{{"ts": {i}, "name": "{:x}"}}"#, random.next_u64())).collect();
    format!(r#"{{"traceEvents": [{}]}}"#, events.join(",\n")).into_bytes()
}

fn notes(bytes: &[u8]) -> (Dump, Vec<Note>) {
    let (dump, summary) = read(bytes);
    (dump, summary.unwrap().notes)
}

#[test]
fn one_member_and_several() {
    let plain = trace(1000);
    let (whole, none) = notes(&plain);
    assert!(none.is_empty());
    let (first, second) = plain.split_at(plain.len() / 3);
    let named = {
        let mut builder = GzBuilder::new()
            .filename("a.json")
            .comment("c")
            .extra(b"xyz".to_vec())
            .write(Vec::new(), Compression::fast());
        builder.write_all(&plain).unwrap();
        builder.finish().unwrap()
    };
    for bytes in [gzip(&plain), [gzip(first), gzip(b""), gzip(second)].concat(), named] {
        let (dump, summary) = read(bytes.as_slice());
        let summary = summary.unwrap();
        assert_eq!((summary.bytes_plain, summary.notes.len()), (plain.len() as u64, 0));
        assert_eq!(dump.lines, whole.lines);
        // A reader that gives a byte at a time.
        let (dump, summary) = read(std::io::BufReader::with_capacity(1, bytes.as_slice()));
        assert_eq!((dump.lines, summary.unwrap().notes.len()), (whole.lines.clone(), 0));
    }
}

#[test]
fn the_first_byte_of_gzip_alone_is_none() {
    let plain = [b"\x1f".as_slice(), &trace(10)].concat();
    for capacity in [1, 2, 100] {
        let (dump, summary) = read(std::io::BufReader::with_capacity(capacity, plain.as_slice()));
        assert_eq!((dump.events.len(), summary.unwrap().bytes_plain), (10, plain.len() as u64), "{capacity}");
    }
    assert_eq!(
        read(&b"\x1f"[..]).1.unwrap_err().to_string(),
        "not a trace that Stepscope reads: it looks like binary data"
    );
}

#[test]
fn trailing_bytes_are_ignored() {
    let plain = trace(10);
    for tail in [&b"\0\0\0"[..], b"garbage", b"\x1f", b"\x1fgarbage", &vec![0; 100_000]] {
        let (dump, notes) = notes(&[gzip(&plain), tail.to_vec()].concat());
        assert_eq!((dump.events.len(), notes), (10, vec![]), "{}", tail.escape_ascii());
    }
}

#[test]
fn truncated_streams_keep_what_was_decoded() {
    let plain = trace(5000);
    let bytes = gzip(&plain);
    for cut in [bytes.len() / 2, bytes.len() / 3, bytes.len() - 9, bytes.len() - 8, bytes.len() - 1] {
        let (dump, summary) = read(&bytes[..cut]);
        let summary = summary.unwrap();
        assert_eq!(summary.notes[0], Note::GzipTruncated, "{cut}");
        assert!(dump.events.len() + 200 > 5000 * cut / bytes.len(), "{cut}: {}", dump.events.len());
    }
    // The head of a further member is cut.
    let (dump, notes) = notes(&[bytes, gzip(&plain)[..6].to_vec()].concat());
    assert_eq!((dump.events.len(), notes), (5000, vec![Note::GzipTruncated]));
}

#[test]
fn corrupt_streams_keep_what_was_decoded() {
    let plain = trace(5000);
    let bytes = gzip(&plain);
    for tail in 1..=8 {
        let mut flipped = bytes.clone();
        let at = flipped.len() - tail;
        flipped[at] ^= 0x10;
        let (dump, notes) = notes(&flipped);
        assert_eq!((dump.events.len(), notes), (5000, vec![Note::GzipCorrupt]), "{tail}");
    }
    // A block of a type that does not exist, after whole blocks.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&plain).unwrap();
    encoder.flush().unwrap();
    let mut broken = encoder.get_ref().clone();
    broken.extend([0xff; 20]);
    let (dump, notes) = notes(&broken);
    assert_eq!((dump.events.len(), notes), (5000, vec![Note::GzipCorrupt]));
}

#[test]
fn expansion_is_capped() {
    let plain = format!("[{{\"ts\": 1}},{}{{\"ts\": 2}}]", " ".repeat(4 << 20));
    let limits = Limits { max_gzip_ratio: 100, gzip_free_bytes: 1 << 20, ..Limits::default() };
    let (dump, summary) = read_within(gzip(plain.as_bytes()).as_slice(), &limits);
    let summary = summary.unwrap();
    assert_eq!(
        (dump.events.len(), summary.notes),
        (1, vec![Note::GzipExpansionCapped, Note::JsonTruncated, Note::BareArray])
    );
    assert!(summary.bytes_plain < 2 << 20);
    // Below the free bytes and below the ratio nothing is capped.
    let limits = Limits { max_gzip_ratio: 100, gzip_free_bytes: 8 << 20, ..Limits::default() };
    assert_eq!(read_within(gzip(plain.as_bytes()).as_slice(), &limits).0.events.len(), 2);
}

#[test]
fn every_cut_is_read() {
    let bytes = gzip(&trace(20));
    for cut in 0..bytes.len() {
        let (_, outcome) = read(&bytes[..cut]);
        if let Ok(summary) = outcome {
            assert_eq!(summary.notes[0], Note::GzipTruncated);
        }
    }
}
