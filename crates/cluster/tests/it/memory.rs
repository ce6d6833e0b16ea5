//! Memory of a worker: a right answer or an error with a name, and never much more than its pool.
//!
//! `stepscope-bench fleet --workers` asks the same of 65.5 million rows.

use std::sync::Arc;
use std::time::Instant;

use stepscope_engine::{Engine, EngineError, EngineOptions, Local, QueryOptions, Runner};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;

use crate::processes::{Process, runner};

/// The pool of each worker.
const POOL: &str = "256MiB";
const POOL_BYTES: u64 = 256 << 20;

/// Ranks of the job, with 4,000 collectives each.
const RANKS: u32 = 64;

/// What a worker may hold beside its pool.
const BESIDE_BYTES: u64 = 150_000_000;

/// A small answer from many rows, one group per collective, and one group per row.
const QUERIES: [&str; 3] = [
    "SELECT step, count(*) AS n, sum(dur_ns) AS total_ns, max(dur_ns) AS longest_ns
     FROM all_collectives GROUP BY step ORDER BY step",
    "SELECT count(*) AS groups, sum(n) AS n, sum(spread_ns) AS spread_ns FROM
       (SELECT process_group, ordinal, step, count(*) AS n, max(dur_ns) - min(dur_ns) AS spread_ns
        FROM all_collectives GROUP BY process_group, ordinal, step)",
    "SELECT count(*) AS groups, max(n) AS most, sum(longest_ns) AS longest_ns FROM
       (SELECT rank, step, start_ns, count(*) AS n, max(dur_ns) AS longest_ns
        FROM all_collectives GROUP BY rank, step, start_ns)",
];

#[test]
fn a_small_pool() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let job = Job { ranks: RANKS, steps: 20, collectives_per_step: 200, ..Job::scale() };
    write_store(&job, &store, "run").unwrap();
    let spill = tempfile::tempdir().unwrap();
    let more = ["--memory-limit", POOL, "--spill-dir", spill.path().to_str().unwrap()];
    let workers: Vec<Process> = (0..3).map(|_| Process::start(folder.path(), &more)).collect();
    let (runner, notes) = runner(&workers);
    let options = EngineOptions { memory_limit_bytes: 4 << 30, threads: 2, spill_dir: None };
    let catalog = store.catalog("run").unwrap();
    let local = Engine::open_with(&catalog, &options, Arc::new(Local)).unwrap();
    let there: Arc<dyn Runner> = Arc::<stepscope_cluster::Distributed>::clone(&runner);
    let distributed = Engine::open_with(&catalog, &options, there).unwrap();
    for (place, sql) in QUERIES.into_iter().enumerate() {
        let (begun, answered) = (Instant::now(), runner.answered_by_workers());
        let outcome = distributed.query(sql, &QueryOptions::default());
        let took = begun.elapsed();
        let peaks: Vec<u64> = workers.iter().map(|worker| worker.peak_bytes() / 1_000_000).collect();
        let outcome = match outcome {
            Ok(rows) => {
                assert_eq!(runner.answered_by_workers(), answered + 1, "{:?}", notes.lock().unwrap());
                let right = local.query(sql, &QueryOptions::default()).unwrap();
                assert_eq!(text(&rows.batches), text(&right.batches), "{sql}");
                "right".to_owned()
            }
            Err(EngineError::Runner(error)) if error.code == "worker_out_of_memory" => error.message,
            Err(error) => panic!("{error}: {sql}"),
        };
        eprintln!("query {place}: {outcome} after {took:?}; peaks of the workers {peaks:?} MB");
    }
    for worker in &workers {
        let peak = worker.peak_bytes();
        assert!(peak <= POOL_BYTES + BESIDE_BYTES, "a worker held {peak} bytes");
    }
}

fn text(batches: &[arrow::array::RecordBatch]) -> Vec<String> {
    let lines = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(|row| {
            let cell =
                |column: &arrow::array::ArrayRef| arrow::util::display::array_value_to_string(column, row).unwrap();
            batch.columns().iter().map(cell).collect::<Vec<_>>().join("|")
        })
    });
    lines.collect()
}
