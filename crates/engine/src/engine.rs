//! One run of a store, ready for queries.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use stepscope_model::derived_tables::DERIVED_TABLES;
use stepscope_model::tables::TABLES;
use stepscope_model::{SourceId, Table};
use stepscope_store::Catalog;
use tokio::runtime::Runtime;

use crate::derived::{DerivedTable, Rows};
use crate::error::EngineError;
use crate::functions;
use crate::plain;
use crate::runner::{self, Local, Runner};
use crate::tables;
use crate::views::{self, View};
use crate::yielding::YieldAfterGrowth;

/// How many parts of a query an out-of-memory message names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Planning recurses along a query; `complexity` allows what fits. Only what is used of a stack takes memory.
const THREAD_STACK_BYTES: usize = 64 * 1024 * 1024;

/// What one thread may hold of the rows that it reads. The pool of a query does not count them, so a small limit allows
/// few threads.
const PARTITION_BYTES: usize = 64 << 20;

/// The share of the limit that the pool leaves to what it does not count: rows that are decoded, merged and written.
const UNCOUNTED_SHARE: usize = 8;

/// Below this limit batches are small.
const ROOMY_BYTES: usize = 1 << 30;
const SMALL_BATCH_ROWS: usize = 2_048;

/// What an engine may use.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Memory for everything that queries hold at one time; past it they spill to disk, and fail if that cannot help.
    pub memory_limit_bytes: usize,
    /// Threads, and parts that a table is read in.
    pub threads: usize,
    /// Where queries spill to; the system's folder for temporaries when not given.
    pub spill_dir: Option<PathBuf>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { memory_limit_bytes: 2 << 30, threads, spill_dir: None }
    }
}

/// One run of a store, with its tables, views and functions. Every call blocks its thread until it is done.
pub struct Engine {
    pub(crate) context: SessionContext,
    pub(crate) memory_limit_bytes: usize,
    pub(crate) runner: Arc<dyn Runner>,
    /// The address of the store; empty without one.
    pub(crate) store: Arc<str>,
    runtime: Option<Runtime>,
}

impl Engine {
    /// Opens a run. Reads no table.
    pub fn open(catalog: &Catalog, options: &EngineOptions) -> Result<Self, EngineError> {
        Self::open_with(catalog, options, runner::of_process())
    }

    /// Opens a run whose queries run elsewhere. Reads no table.
    pub fn open_with(catalog: &Catalog, options: &EngineOptions, runner: Arc<dyn Runner>) -> Result<Self, EngineError> {
        let store = catalog.bucket().place().to_string().into();
        let mut engine = Self::start(options)?;
        (engine.runner, engine.store) = (runner, store);
        tables::register(&engine.context, catalog, engine.memory_limit_bytes)?;
        engine.with_views()
    }

    /// An engine whose tables have no rows: for what follows from the schema alone.
    pub fn without_run(options: &EngineOptions) -> Result<Self, EngineError> {
        let engine = Self::start(options)?;
        let all = TABLES.into_iter().chain(DERIVED_TABLES);
        tables::register_empty(&engine.context, all, engine.memory_limit_bytes)?;
        engine.with_views()
    }

    fn start(options: &EngineOptions) -> Result<Self, EngineError> {
        Self::spilling_to(spill_folder(options), options)
    }

    /// An engine without tables that spills to `spill`.
    pub(crate) fn spilling_to(spill: DiskManagerMode, options: &EngineOptions) -> Result<Self, EngineError> {
        let threads = options.threads.min(options.memory_limit_bytes / PARTITION_BYTES).max(1);
        let memory_limit_bytes = options.memory_limit_bytes;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("stepscope-engine")
            .thread_stack_size(THREAD_STACK_BYTES)
            // A bucket is read over the network.
            .enable_all()
            .build()
            .map_err(EngineError::Start)?;
        let context = context(options, threads, spill)
            .map_err(|error| EngineError::from_datafusion(&error, memory_limit_bytes))?;
        let (runner, store) = (Arc::new(Local), Arc::default());
        Ok(Self { context, memory_limit_bytes, runner, store, runtime: Some(runtime) })
    }

    /// Gives a derived table its rows: those of one recording at a time, and of those alone that a query asks for.
    pub fn derive(&self, table: &Table, recordings: Vec<SourceId>, rows: Arc<Rows>) -> Result<(), EngineError> {
        let fail = |error: DataFusionError| EngineError::from_datafusion(&error, self.memory_limit_bytes);
        // Until now it has none.
        self.context.deregister_table(table.name).map_err(fail)?;
        let derived = Arc::new(DerivedTable::new(table, recordings, rows));
        self.context.register_table(table.name, derived).map_err(fail)?;
        Ok(())
    }

    /// Views are planned against the tables, so these come first.
    fn with_views(self) -> Result<Self, EngineError> {
        let context = self.context.clone();
        self.wait(async move { views::register(&context).await })?
            .map_err(|error| EngineError::from_datafusion(&error, self.memory_limit_bytes))?;
        Ok(self)
    }

    /// The views that every engine has.
    #[must_use]
    pub fn views() -> &'static [View] {
        views::views()
    }

    /// Names and types of the columns of a table or view, in order; types are named as `stepscope schema` does.
    pub fn columns_of(&self, table_or_view: &str) -> Result<Vec<(String, String)>, EngineError> {
        let (context, name) = (self.context.clone(), table_or_view.to_owned());
        // A bare reference: a dot or a capital is part of the name.
        let provider = self.wait(async move { context.table_provider(TableReference::bare(name)).await })?;
        let provider = provider.map_err(|error| EngineError::from_datafusion(&error, self.memory_limit_bytes))?;
        let schema = provider.schema();
        let columns = schema.fields().iter();
        Ok(columns.map(|field| (field.name().clone(), plain::type_text(field.data_type()))).collect())
    }

    /// Runs something that needs no limits to its end.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, EngineError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            // The receiver waits below.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| EngineError::Bug { message: "a thread of the engine panicked".to_owned() })
    }

    pub(crate) fn runtime(&self) -> Result<&Runtime, EngineError> {
        self.runtime.as_ref().ok_or_else(|| EngineError::Bug { message: "used after its end".to_owned() })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("memory_limit_bytes", &self.memory_limit_bytes).finish_non_exhaustive()
    }
}

/// How long threads may take to end.
const SHUTDOWN: Duration = Duration::from_millis(250);

impl Drop for Engine {
    /// A canceled query may still be busy on a thread; nobody should wait for it long. Idle threads end at once and are
    /// waited for: to let go of a thread while it ends can crash in the C library (glibc bug 19951).
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN);
        }
    }
}

/// Where queries spill to: the folder of the options, or the system's.
fn spill_folder(options: &EngineOptions) -> DiskManagerMode {
    match &options.spill_dir {
        Some(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
        None => DiskManagerMode::OsTmpDirectory,
    }
}

fn context(options: &EngineOptions, threads: usize, spill: DiskManagerMode) -> Result<SessionContext, DataFusionError> {
    let pool = TrackConsumersPool::new(
        FairSpillPool::new(options.memory_limit_bytes - options.memory_limit_bytes / UNCOUNTED_SHARE),
        NAMED_CONSUMERS,
    );
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
        .build_arc()?;
    let mut config = SessionConfig::new().with_target_partitions(threads).with_information_schema(true);
    // A merge of spilled rows holds a batch of each piece, and rows of `spans` are wide.
    if options.memory_limit_bytes < ROOMY_BYTES {
        config = config.with_batch_size(SMALL_BATCH_ROWS);
    }
    // Most queries keep few of many rows and need few of many columns: rows are chosen before columns are decoded.
    config.options_mut().execution.parquet.pushdown_filters = true;
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(environment)
        .with_physical_optimizer_rule(Arc::new(YieldAfterGrowth))
        .build();
    let context = SessionContext::new_with_state(state);
    for function in functions::aggregates() {
        context.register_udaf(function);
    }
    for function in functions::scalars() {
        context.register_udf(function);
    }
    Ok(context)
}

#[cfg(test)]
mod tests;
