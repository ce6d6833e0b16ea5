//! How large a store is: traces of several frameworks, devices and years take at most ten bytes an event.

use std::path::Path;

use stepscope_model::tables::OP_ROLLUP;
use stepscope_testkit::corpus;

use crate::invariants::{contents, ingest_into};

const MAX_BYTES_AN_EVENT: f64 = 10.0;

const TRACES: [&str; 6] = [
    "hta/trace_diff/control/control.json.gz",
    "hta/df_index_resolver",
    "hta/ns_resolution_trace",
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
];

#[test]
fn a_store_takes_at_most_ten_bytes_an_event() {
    let Some(corpus) = corpus() else { return };
    for trace in TRACES {
        let mut path = corpus.trace(trace);
        if path.is_dir() {
            path = path.read_dir().unwrap().next().unwrap().unwrap().path();
        }
        let folder = tempfile::tempdir().unwrap();
        let record = ingest_into(folder.path(), &path, 2 << 30).unwrap();
        // Sums that can be made anew from the rest are not part of the figure.
        let is_counted = |file: &Path| !file.iter().any(|part| part == OP_ROLLUP.name);
        let files = contents(folder.path());
        let bytes: usize = files.iter().filter(|(file, _)| is_counted(file)).map(|(_, bytes)| bytes.len()).sum();
        let bytes_an_event = bytes as f64 / record.events_in as f64;
        eprintln!("{bytes_an_event:5.2} bytes an event: {trace}");
        assert!(bytes_an_event <= MAX_BYTES_AN_EVENT, "{bytes_an_event:.2} bytes an event: {trace}");
    }
}
