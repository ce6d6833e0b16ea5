//! Who runs a query: this process, or others for it. Nothing above the engine knows which.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;

use crate::query_options::QueryOptions;

/// Runs the plans of queries.
#[async_trait]
pub trait Runner: Debug + Send + Sync {
    /// Begins a query. `state` knows its tables and functions; `store` is the address of the store that they are in.
    async fn run(
        &self,
        plan: LogicalPlan,
        state: SessionState,
        store: &str,
        limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError>;
}

/// Runs queries in this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

#[async_trait]
impl Runner for Local {
    async fn run(
        &self,
        plan: LogicalPlan,
        state: SessionState,
        _store: &str,
        _limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        DataFrame::new(state, plan).execute_stream().await
    }
}

/// A failure of what runs queries, not of a query. A runner puts it into [`DataFusionError::External`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunnerError {
    /// A stable name for programs, such as `worker_lost`.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: Option<Cow<'static, str>>,
}

static RUNNER: OnceLock<Arc<dyn Runner>> = OnceLock::new();

/// Chooses who runs the queries of this process. The first choice counts; returns whether it was this one.
pub fn use_runner(runner: Arc<dyn Runner>) -> bool {
    RUNNER.set(runner).is_ok()
}

/// Who runs the queries of this process.
pub(crate) fn of_process() -> Arc<dyn Runner> {
    RUNNER.get().cloned().unwrap_or_else(|| Arc::new(Local))
}
