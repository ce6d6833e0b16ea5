//! The result does not depend on how the bytes arrive.

use std::io::{self, BufReader, Read};

use stepscope_testkit::{TraceBuilder, corpus, plain_bytes};

use crate::dump::read;

/// Gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(out.len());
        self.0.read(&mut out[..count])
    }
}

#[track_caller]
fn check(bytes: &[u8], what: &str) {
    let (whole, summary) = read(bytes);
    for step in [1, 7, 4096] {
        let (dump, trickled) = read(BufReader::with_capacity(step, Trickle(bytes, step)));
        assert_eq!(dump.lines, whole.lines, "{what} in steps of {step}");
        assert_eq!(format!("{trickled:?}"), format!("{summary:?}"), "{what} in steps of {step}");
    }
}

#[test]
fn hand_made() {
    let builder = TraceBuilder::new()
        .header("baseTimeNanoseconds", "0")
        .op("aten::add", 1, "10", "5")
        .arg("Input Dims", "[[1, 2], []]")
        .event(r#"{"name": "a "quoted" text", "ts": 1}"#)
        .event(r#"{"ph": oops}"#)
        .kernel("k", 0, 7, "20.5", "1", 3)
        .metadata("process_name", 1, 0, "é😀");
    check(builder.finish().as_bytes(), "object");
    check(builder.finish_bare().as_bytes(), "list");
    check(&builder.finish().as_bytes()[..builder.finish().len() / 2], "cut");
}

#[test]
#[ignore = "needs the corpus"]
fn real_trace() {
    let corpus = corpus();
    check(&plain_bytes(&corpus.trace("aorta/mi350_200691.1758927066581847260.pt.trace.json")), "aorta");
    check(&plain_bytes(&corpus.trace("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz")), "ns");
}
