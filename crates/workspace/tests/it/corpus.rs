//! Real recordings: each ingests with every element accounted for, or is refused with a reason.

use std::path::{Path, PathBuf};

use stepscope_model::{Cell, Exit, Part};
use stepscope_testkit::corpus;
use stepscope_workspace::{Settings, Workspace};

use crate::analyses::{ask, by, objects, table};
use crate::harness::{Silent, answer, open};

#[test]
#[ignore = "needs the corpus"]
fn every_element_is_a_row_or_a_reason() {
    let corpus = corpus();
    let unpacked = tempfile::tempdir().unwrap();
    let files = [corpus.chrome_like(), corpus.unpack_dlrm(unpacked.path())].concat();
    let (mut read, mut refused) = (0, 0);
    for file in &files {
        if account(file) { read += 1 } else { refused += 1 }
    }
    eprintln!("{read} traces ingested, {refused} files refused with a reason");
    assert!(read > 80 && refused > 4, "{read} {refused}");
}

/// Whether the file is a trace; fails if an element of it is not accounted for, or if what is stored breaks a promise.
fn account(file: &Path) -> bool {
    let store = tempfile::tempdir().unwrap();
    let settings = Settings { store: Some(store.path().to_owned()), ..Settings::default() };
    let report = match Workspace::ingest(&[file.to_owned()], &settings, &Silent) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(error.exit(), Exit::Unreadable, "{}: {error}", file.display());
            return false;
        }
    };
    let Some(Part::Table(table)) = report.parts.first() else { panic!("no table") };
    let cell = |name: &str| {
        let index = table.columns.iter().position(|column| column.name == name).unwrap();
        &table.rows[0][index]
    };
    let (Cell::Int(events_in), Cell::Int(rows), Cell::Json(dropped)) =
        (cell("events_in"), cell("rows"), cell("dropped"))
    else {
        panic!("unexpected cells");
    };
    let dropped: i64 = dropped.as_object().unwrap().values().filter_map(serde_json::Value::as_i64).sum();
    assert_eq!(*events_in, rows + dropped, "{}", file.display());
    let workspace = Workspace::open(&[store.path().to_owned()], &Settings::default(), &Silent).unwrap();
    for (promise, broken) in PROMISES {
        assert_eq!(answer(&workspace, broken), "0", "{promise}: {}", file.display());
    }
    true
}

/// What holds in every store: how many rows break it.
const PROMISES: [(&str, &str); 5] = [
    (
        "percentiles of sketches lie in order between the smallest and the largest value",
        "SELECT count(*) FROM (
           SELECT name, min(min_ns) AS min_ns, max(max_ns) AS max_ns, sketch_percentile(durations, 0) AS p0,
             sketch_percentile(durations, 50) AS p50, sketch_percentile(durations, 99) AS p99,
             sketch_percentile(durations, 100) AS p100
           FROM kernel_rollup GROUP BY name)
         WHERE NOT (min_ns <= p0 AND p0 <= p50 AND p50 <= p99 AND p99 <= p100 AND p100 <= max_ns)",
    ),
    (
        "a lower bound of FLOPs is not above the FLOPs",
        "SELECT count(*) FROM op_rollup WHERE least_flops > coalesce(outermost_flops, 0)",
    ),
    (
        "device events have a category, and nothing else has",
        "SELECT count(*) FROM spans
         WHERE (kernel_category IS NOT NULL) <> (kind IN ('kernel', 'memcpy', 'memset'))",
    ),
    (
        "kernels that communicate are a category",
        "SELECT count(*) FROM device_events WHERE (comm_rule IS NOT NULL) <> (category = 'communication')",
    ),
    // Embedding tables, sorting, and kernels of Triton whose names are signatures.
    (
        "names and operators say what most of the device time is",
        "SELECT count(*) FROM (
           SELECT sum(dur_ns) AS all_ns, coalesce(sum(dur_ns) FILTER (WHERE category = 'other'), 0) AS other_ns
           FROM device_events)
         WHERE all_ns > 1000000 AND other_ns > 0.4 * all_ns",
    ),
];

#[test]
#[ignore = "needs the corpus"]
fn percentiles_across_ranks_lie_between_the_smallest_and_the_largest() {
    let corpus = corpus();
    let unpacked = tempfile::tempdir().unwrap();
    // Only several ranks are added up from sketches; some kernels have one length, some two.
    for paths in [corpus.unpack_dlrm(unpacked.path()), vec![corpus.trace("astra-sim/megatron-tp8")]] {
        let workspace = open(&paths).unwrap();
        for group_by in [&[][..], &["step"]] {
            let report = ask(&workspace, "kernels", &by(group_by));
            let rows = objects(table(&report, "rows"));
            assert!(rows.len() > 20, "{}", rows.len());
            for row in rows {
                let figures =
                    ["min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"].map(|name| row[name].as_i64().unwrap());
                assert!(figures.is_sorted(), "{}: {figures:?}", row["name"]);
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn two_files_of_one_worker_are_two_windows() {
    let corpus = corpus();
    let folder: PathBuf = corpus.trace("kineto/resnet50_num_workers_0");
    let workspace = open(&[folder]).unwrap();
    assert_eq!(
        answer(&workspace, "SELECT rank, \"window\", count(*) FROM steps GROUP BY rank, \"window\" ORDER BY 1, 2"),
        "0 0 6\n0 1 6"
    );
    assert_eq!(workspace.run_info()["sources"].as_array().unwrap().len(), 2);
}
