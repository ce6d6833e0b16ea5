//! How large a store is: traces of several frameworks, devices and years take at most ten bytes per event.

use std::path::Path;

use stepscope_model::tables::{ROLLUPS, TILES};
use stepscope_testkit::corpus;

use crate::invariants::{contents, ingest_into};

const MAX_BYTES_AN_EVENT: f64 = 10.0;
const MAX_BYTES_OF_TILES: f64 = 1.5;
const MAX_BYTES_IN_ALL: f64 = 12.0;

const TRACES: [&str; 6] = [
    "hta/trace_diff/control/control.json.gz",
    "hta/df_index_resolver",
    "hta/ns_resolution_trace",
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
];

#[test]
#[ignore = "needs the corpus"]
fn a_store_takes_at_most_ten_bytes_an_event() {
    let corpus = corpus();
    for trace in TRACES {
        let mut path = corpus.trace(trace);
        if path.is_dir() {
            path = path.read_dir().unwrap().next().unwrap().unwrap().path();
        }
        let folder = tempfile::tempdir().unwrap();
        let record = ingest_into(folder.path(), &path, 2 << 30).unwrap();
        let files = contents(folder.path());
        let bytes_of = |is_asked: &dyn Fn(&Path) -> bool| {
            let bytes = files.iter().filter(|(file, _)| is_asked(file)).map(|(_, bytes)| bytes.len()).sum::<usize>();
            bytes as f64 / record.events_in as f64
        };
        let is_sum = |file: &Path| file.iter().any(|part| ROLLUPS.iter().any(|table| part == table.name));
        let is_tile = |file: &Path| file.iter().any(|part| part == TILES.name);
        let without = bytes_of(&|file| !is_sum(file) && !is_tile(file));
        let (tiles, all) = (bytes_of(&is_tile), bytes_of(&|_| true));
        eprintln!("{without:5.2} bytes per event, {tiles:.2} of tiles, {all:5.2} with sums and tiles: {trace}");
        assert!(without <= MAX_BYTES_AN_EVENT, "{without:.2} bytes per event: {trace}");
        assert!(tiles <= MAX_BYTES_OF_TILES, "{tiles:.2} bytes per event of tiles: {trace}");
        assert!(all <= MAX_BYTES_IN_ALL, "{all:.2} bytes per event in all: {trace}");
    }
}
