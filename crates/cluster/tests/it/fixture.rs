//! The fixture of the engine's tests, but with an engine whose queries run on three workers.

use stepscope_engine::{Engine, EngineError, EngineOptions};
use stepscope_store::Store;
use tempfile::TempDir;

pub(crate) use crate::engine_fixture::{RUN, Row, Value, batch, check, commit, small_store};

use crate::cluster::Cluster;

/// An engine over [`small_store`], with the folder that it lives in.
pub(crate) fn small_engine() -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&small_store(folder.path()));
    (folder, engine)
}

/// An engine whose queries run on three workers of its own.
pub(crate) fn open(store: &Store) -> Engine {
    let options = EngineOptions { memory_limit_bytes: 256 << 20, threads: 2, spill_dir: None };
    let cluster = Cluster::of_three(&store.root().display().to_string());
    Engine::open_with(&store.catalog(RUN).unwrap(), &options, cluster.into_runner()).unwrap()
}

/// The rows of an answer.
pub(crate) fn ask(engine: &Engine, sql: &str) -> Result<Vec<String>, EngineError> {
    crate::engine_fixture::ask(engine, sql)
}
