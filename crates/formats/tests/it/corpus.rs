//! Every real file: read or refused, and every element accounted for.

use std::fs::File;
use std::io::BufReader;

use serde_json::Value as Json;
use stepscope_formats::{Limits, read_trace};
use stepscope_testkit::{corpus, plain_bytes};

use crate::dump::Count;
use crate::json::Seen;

/// Valid files up to this size are compared value by value.
const COMPARED_BYTES: u64 = 3 << 20;

/// Files that are no traces.
const REFUSED: [&str; 8] = [
    "execution_details.json",
    "_et.json.gz",
    "rocprof",
    ".xplane.pb",
    "memory_timeline",
    "execution_trace_named_like_kineto",
    "README",
    "MANIFEST",
];

#[test]
#[ignore = "needs the corpus"]
fn every_file_is_read_or_refused() {
    let corpus = corpus();
    let (mut files, mut elements, mut refused, mut compared) = (0, 0, 0, 0);
    for path in corpus.chrome_like() {
        let name = path.display();
        let open = || BufReader::new(File::open(&path).expect("the file is there"));
        let mut count = Count::default();
        files += 1;
        let summary = match read_trace(open(), &Limits::default(), &mut count) {
            Ok(summary) => summary,
            Err(error) => {
                let is_expected = REFUSED.iter().any(|part| path.to_string_lossy().contains(part));
                assert!(is_expected, "{name}: {error}");
                refused += 1;
                continue;
            }
        };
        elements += count.events + count.losses;
        if count.warnings > 0 || !summary.notes.is_empty() {
            eprintln!("{name}: {} events, {} warnings, {:?}", count.events, count.warnings, summary.notes);
        }
        if summary.bytes_plain > COMPARED_BYTES {
            continue;
        }
        let plain = plain_bytes(&path);
        assert_eq!(summary.bytes_plain, plain.len() as u64, "{name}");
        // Warnings of a valid file would be panics of this sink.
        if let Ok(whole) = serde_json::from_slice::<Json>(&plain) {
            let mut seen = Seen::default();
            read_trace(open(), &Limits::default(), &mut seen).expect("it was read before");
            assert!(seen == Seen::expected(&whole), "{name}");
            compared += 1;
        }
    }
    eprintln!("{files} files, {elements} elements, {refused} refused, {compared} compared");
    assert!(compared > 50);
}
