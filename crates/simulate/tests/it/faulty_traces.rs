//! Traces of jobs with faults are read by the ordinary way in, and say what the truth says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stepscope_ingest::{Options, ingest};
use stepscope_model::{Table, tables};
use stepscope_simulate::faults::{Fault, FaultyJob, Truth, population};
use stepscope_store::Store;
use tempfile::TempDir;

use crate::recording::Recording;
use crate::store::Silent;

fn ingested(job: &FaultyJob, folder: &Path) -> Store {
    job.write_traces(&folder.join("traces")).unwrap();
    let store = Store::create(&folder.join("store")).unwrap();
    let sources = ingest(&[folder.join("traces")], &store, &Options::default(), &Silent).unwrap().sources;
    for (rank, source) in sources.iter().enumerate() {
        assert_eq!(source.record.id.rank as usize, rank);
        assert_eq!((source.record.lost_events(), source.record.warnings.len()), (0, 0), "{}", job.name());
    }
    store
}

/// A column of integers, by rank; nulls are left out.
fn column(store: &Store, table: &'static Table, name: &str) -> Vec<Vec<i64>> {
    let mut paths = store.table_files("traces", table).unwrap();
    paths.sort();
    let read = |path| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
        let mut values = Vec::new();
        for batch in reader.map(Result::unwrap) {
            values.extend(batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter().flatten());
        }
        values
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn steps_are_those_of_the_truth() {
    let faults = [Fault::SlowInput, Fault::ItemInEveryStep, Fault::PageableCopies, Fault::HostPauses, Fault::SlowRank];
    for (seed, fault) in (40..).zip(faults) {
        let job = FaultyJob::new(seed, &[fault]);
        let folder = TempDir::new().unwrap();
        let store = ingested(&job, folder.path());
        let steps_ns = column(&store, &tables::STEPS, "dur_ns");
        let truth = Truth::of(&job);
        assert_eq!(steps_ns.len(), truth.ranks);
        if truth.ranks == 1 {
            assert_eq!(steps_ns[0], truth.steps_ns, "{fault:?}");
            continue;
        }
        // Ranks end a step at different times, but they take the same time for all of them.
        let total_ns: i64 = truth.steps_ns.iter().sum();
        for of_rank in steps_ns {
            let of_rank_ns: i64 = of_rank.iter().sum();
            assert!((of_rank_ns - total_ns).abs() * 20 < total_ns, "{fault:?}: {of_rank_ns} {total_ns}");
        }
    }
}

#[test]
fn every_launch_is_linked_and_every_collective_matches() {
    for job in population(700).into_iter().step_by(67) {
        let folder = TempDir::new().unwrap();
        let store = ingested(&job, folder.path());
        let recordings: Vec<Recording> =
            job.write_traces(&folder.path().join("again")).unwrap().iter().map(|path| Recording::read(path)).collect();
        let device_events = |recording: &Recording| {
            recording.of("kernel").chain(recording.of("gpu_memcpy")).filter(|event| event.dur_ns > 0).count()
        };
        let linked = column(&store, &tables::LAUNCHES, "device_start_ns");
        let written: Vec<usize> = recordings.iter().map(device_events).collect();
        assert_eq!(linked.iter().map(Vec::len).collect::<Vec<_>>(), written, "{}", job.name());
        for recording in &recordings {
            spans_of_a_thread_nest(recording);
        }
        let collectives = column(&store, &tables::ALL_COLLECTIVES, "dur_ns");
        let of_ranks: Vec<usize> = recordings.iter().map(|recording| recording.collectives().len()).collect();
        assert!(of_ranks.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(collectives.iter().map(Vec::len).sum::<usize>(), of_ranks.iter().sum::<usize>());
    }
}

fn spans_of_a_thread_nest(recording: &Recording) {
    let host = ["cpu_op", "user_annotation", "cuda_runtime"];
    let mut spans: Vec<_> = host.iter().flat_map(|category| recording.of(category)).collect();
    spans.sort_by_key(|span| (span.thread.clone(), span.start_ns, -span.dur_ns));
    let mut open: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for span in spans {
        let ends = open.entry(span.thread.clone()).or_default();
        while ends.last().is_some_and(|&end_ns| end_ns <= span.start_ns) {
            ends.pop();
        }
        assert!(ends.last().is_none_or(|&end_ns| span.end_ns() <= end_ns), "{} crosses", span.name);
        ends.push(span.end_ns());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let bytes = |seed: u64, name: &str| {
        let job = FaultyJob::new(seed, &[Fault::SlowLink, Fault::TinyKernels]);
        let paths = job.write_traces(&folder.path().join(name)).unwrap();
        paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let first = bytes(3, "first");
    assert_eq!(first.len(), 4);
    assert_eq!(first, bytes(3, "again"));
    assert_ne!(first, bytes(4, "other"));
}

#[test]
fn traces_are_small_and_valid_json() {
    for fault in [Fault::TinyKernels, Fault::ItemInEveryStep, Fault::SlowLink] {
        let folder = TempDir::new().unwrap();
        let paths = FaultyJob::new(5, &[fault]).write_traces(folder.path()).unwrap();
        for path in paths {
            let whole: serde_json::Value = serde_json::from_slice(&stepscope_testkit::plain_bytes(&path)).unwrap();
            let events = whole["traceEvents"].as_array().unwrap().len();
            assert!(events < 30_000, "{fault:?}: {events}");
            assert!(fs::metadata(&path).unwrap().len() < 1_500_000);
        }
    }
}
