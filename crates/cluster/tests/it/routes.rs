//! The same files go to the same workers each time.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use stepscope_cluster::WorkerOptions;
use stepscope_engine::{Engine, EngineOptions, QueryOptions, Runner};

use crate::cluster::{Cluster, anywhere};
use crate::engine_fixture::{RUN, small_store};

/// Bytes of the files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| if path.is_dir() { bytes_below(&path) } else { fs::metadata(&path).unwrap().len() }).sum()
}

#[test]
fn workers_read_what_they_read_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = small_store(folder.path());
    let options = WorkerOptions { threads: 2, ..WorkerOptions::new(anywhere(), store.root().display().to_string()) };
    // Four parts, in two tasks of two threads each: of three workers, one has nothing to do.
    let quarter = bytes_below(&store.root().join("runs").join(RUN).join("spans")) / 4 + 1;
    let cluster = Arc::new(Cluster::of(&[options.clone(), options.clone(), options], |client| {
        client.bytes_per_partition = quarter as usize;
    }));
    let runner: Arc<dyn Runner> = Arc::<Cluster>::clone(&cluster);
    let options = EngineOptions { memory_limit_bytes: 256 << 20, threads: 2, spill_dir: None };
    let engine = Engine::open_with(&store.catalog(RUN).unwrap(), &options, runner).unwrap();
    for round in 1..=8 {
        engine.query("SELECT sum(dur_ns) FROM spans", &QueryOptions::default()).unwrap();
        let mut queries = cluster.queries();
        queries.sort_unstable();
        assert_eq!(queries, [0, round, round]);
    }
}
