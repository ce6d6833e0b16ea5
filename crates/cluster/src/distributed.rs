//! The runner that hands queries to workers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion_distributed::DistributedExec;
use futures::StreamExt;
use futures::stream;
use stepscope_engine::{Local, QueryOptions, Runner};
use url::Url;

use crate::attempt::Attempt;
use crate::channels::{Channels, Resolver};
use crate::failure::{Code, Failure};
use crate::health::{Found, Workers};
use crate::identity::store_identity;
use crate::plan_check;
use crate::session::{Asking, session};

/// Attempts at a query.
const ATTEMPTS: usize = 3;

/// Answers up to this size are handed out when they are complete, so that nobody sees an attempt that failed.
const COLLECTED_BYTES: usize = 64 << 20;

/// How long to wait for the reason of an error that another error follows from.
const REASON_WAIT: Duration = Duration::from_millis(200);

/// Takes sentences for the user.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// Runs queries on workers, and here when there are too few.
pub struct Distributed {
    pub(crate) workers: Workers,
    pub(crate) channels: Arc<Channels>,
    pub(crate) version: String,
    pub(crate) min_workers: usize,
    pub(crate) bytes_per_partition: usize,
    pub(crate) notes: Notes,
    counts: Counts,
}

/// How many queries ran where.
#[derive(Debug, Default)]
struct Counts {
    attempts: AtomicU64,
    distributed: AtomicU64,
    refused: AtomicU64,
}

/// Where a query can run.
enum Planned {
    OnWorkers(Arc<dyn ExecutionPlan>, Box<SessionState>),
    /// Here; with the reason, unless that is the nature of the query.
    Here {
        because: Option<String>,
    },
}

/// What became of an attempt.
enum Outcome {
    Answer(SendableRecordBatchStream),
    Failed(Failure),
    Wrong(DataFusionError),
}

impl Distributed {
    pub(crate) fn new(
        workers: Workers,
        channels: Arc<Channels>,
        version: String,
        min_workers: usize,
        bytes_per_partition: usize,
        notes: Notes,
    ) -> Self {
        Self { workers, channels, version, min_workers, bytes_per_partition, notes, counts: Counts::default() }
    }

    /// Attempts that were made on workers.
    pub fn attempts(&self) -> u64 {
        self.counts.attempts.load(Ordering::Relaxed)
    }

    /// Queries that workers answered.
    pub fn answered_by_workers(&self) -> u64 {
        self.counts.distributed.load(Ordering::Relaxed)
    }

    /// Queries that workers took and could not run.
    pub fn not_run_by_workers(&self) -> u64 {
        self.counts.refused.load(Ordering::Relaxed)
    }

    /// The plan of an attempt.
    async fn plan(
        &self,
        plan: &LogicalPlan,
        state: SessionState,
        workers: Vec<Url>,
        store: &str,
        attempt: &Arc<Attempt>,
    ) -> Result<Planned, DataFusionError> {
        let asking = Asking {
            workers,
            resolver: Resolver { channels: Arc::clone(&self.channels), attempt: Some(Arc::clone(attempt)) },
            version: self.version.clone(),
            store: store.to_owned(),
            query: unique(),
            bytes_per_partition: self.bytes_per_partition,
        };
        let state = session(state, asking)?;
        let physical = state.create_physical_plan(plan).await?;
        // Nothing to hand out.
        let Some(distributed) = physical.downcast_ref::<DistributedExec>() else {
            return Ok(Planned::Here { because: None });
        };
        let stages = distributed.children();
        if let Err(error) = stages.iter().try_for_each(|stages| plan_check::check(stages)) {
            let is_known = stages.iter().any(|stages| plan_check::has_rows_made_here(stages));
            let reason = || Failure::inside(&error).map_or_else(|| error.to_string(), |failure| failure.message);
            return Ok(Planned::Here { because: (!is_known).then(reason) });
        }
        Ok(Planned::OnWorkers(physical, Box::new(state)))
    }

    /// Runs a query here, because there are too few workers.
    async fn run_here(
        &self,
        found: &Found,
        plan: LogicalPlan,
        state: SessionState,
        store: &str,
        limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        let (count, wanted) = (found.usable.len(), self.min_workers);
        let reasons =
            if found.unusable.is_empty() { String::new() } else { format!(" ({})", found.unusable.join("; ")) };
        (self.notes)(&format!("found {count} workers, expected at least {wanted}; the query runs here{reasons}"));
        Local.run(plan, state, store, limits).await
    }
}

#[async_trait]
impl Runner for Distributed {
    async fn run(
        &self,
        plan: LogicalPlan,
        state: SessionState,
        store: &str,
        limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        let place = store_identity(store);
        let mut left_out = BTreeSet::new();
        let mut attempts = 0;
        loop {
            let found = self.workers.find(&left_out).await;
            if found.usable.len() < self.min_workers.max(1) {
                return self.run_here(&found, plan, state, store, limits).await;
            }
            let attempt = Arc::new(Attempt::default());
            let planned = self.plan(&plan, state.clone(), found.usable, &place, &attempt).await?;
            let (physical, session) = match planned {
                Planned::OnWorkers(physical, session) => (physical, session),
                Planned::Here { because } => {
                    if let Some(reason) = because {
                        (self.notes)(&format!("{reason}; the query runs here"));
                    }
                    return Local.run(plan, state, store, limits).await;
                }
            };
            attempts += 1;
            self.counts.attempts.fetch_add(1, Ordering::Relaxed);
            let failure = match collect(physical, &session, &attempt, attempts).await {
                Outcome::Answer(rows) => {
                    self.counts.distributed.fetch_add(1, Ordering::Relaxed);
                    return Ok(rows);
                }
                // An error of the query comes again here. One that comes of sending the plan does not: a stage that is
                // decoded knows less about the order of its rows than the one that was planned.
                Outcome::Wrong(error) => {
                    self.counts.refused.fetch_add(1, Ordering::Relaxed);
                    (self.notes)(&format!(
                        "the workers could not run a query; it runs here ({})",
                        error.strip_backtrace()
                    ));
                    return Local.run(plan, state, store, limits).await;
                }
                Outcome::Failed(failure) => failure,
            };
            // A run in a folder of this machine is no concern of workers that read a bucket.
            if failure.code == Code::OtherStore && !place.contains("://") {
                (self.notes)(&format!("{}; the query runs here", failure.message));
                return Local.run(plan, state, store, limits).await;
            }
            if !failure.code.is_worth_another_attempt() || attempts == ATTEMPTS {
                return Err(failure.shown(attempts));
            }
            if let Ok(worker) = Url::parse(&failure.worker) {
                if failure.code == Code::WorkerLost {
                    self.workers.lost(&worker);
                }
                left_out.insert(worker);
            }
        }
    }
}

impl fmt::Debug for Distributed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Distributed").field("workers", &self.workers).finish_non_exhaustive()
    }
}

/// Runs a plan until its answer is complete, or too large to be kept.
async fn collect(
    physical: Arc<dyn ExecutionPlan>,
    state: &SessionState,
    attempt: &Arc<Attempt>,
    attempts: usize,
) -> Outcome {
    let schema = physical.schema();
    let mut rows = match execute_stream(physical, state.task_ctx()) {
        Ok(rows) => rows,
        Err(error) => return outcome_of(error, attempt).await,
    };
    let (mut kept, mut bytes) = (Vec::new(), 0);
    loop {
        match next(&mut rows, attempt).await {
            Ok(Some(batch)) => {
                bytes += batch.get_array_memory_size();
                kept.push(batch);
                if bytes > COLLECTED_BYTES {
                    return Outcome::Answer(continued(schema, kept, rows, Arc::clone(attempt), attempts));
                }
            }
            Ok(None) => {
                let rows = stream::iter(kept.into_iter().map(Ok));
                return Outcome::Answer(Box::pin(RecordBatchStreamAdapter::new(schema, rows)));
            }
            Err(outcome) => return *outcome,
        }
    }
}

/// The next rows. An end counts only while nothing failed: what looks complete may lack the rows of a lost worker.
async fn next(rows: &mut SendableRecordBatchStream, attempt: &Attempt) -> Result<Option<RecordBatch>, Box<Outcome>> {
    let item = tokio::select! {
        biased;
        failure = attempt.failed() => return Err(Box::new(Outcome::Failed(failure))),
        item = rows.next() => item,
    };
    match item {
        Some(Ok(batch)) => Ok(Some(batch)),
        Some(Err(error)) => Err(Box::new(outcome_of(error, attempt).await)),
        None => match attempt.failure() {
            Some(failure) => Err(Box::new(Outcome::Failed(failure))),
            None => Ok(None),
        },
    }
}

/// What an error means: a failure of a worker, or of the query itself.
async fn outcome_of(error: DataFusionError, attempt: &Attempt) -> Outcome {
    if let Some(failure) = Failure::inside(&error).filter(|failure| !failure.worker.is_empty()) {
        return Outcome::Failed(failure);
    }
    // An error of one worker can follow from the loss of another, of which this process hears by itself.
    let reason = tokio::time::timeout(REASON_WAIT, attempt.failed()).await;
    reason.map_or(Outcome::Wrong(error), Outcome::Failed)
}

/// The rest of a long answer. It cannot be repeated any more: with the loss of a worker it ends with an error.
fn continued(
    schema: SchemaRef,
    kept: Vec<RecordBatch>,
    rows: SendableRecordBatchStream,
    attempt: Arc<Attempt>,
    attempts: usize,
) -> SendableRecordBatchStream {
    let rest = stream::unfold(Some((rows, attempt)), move |open| async move {
        let (mut rows, attempt) = open?;
        match next(&mut rows, &attempt).await {
            Ok(Some(batch)) => Some((Ok(batch), Some((rows, attempt)))),
            Ok(None) => None,
            Err(outcome) => match *outcome {
                Outcome::Failed(failure) => Some((Err(failure.shown(attempts)), None)),
                Outcome::Wrong(error) => Some((Err(error), None)),
                Outcome::Answer(_) => None,
            },
        }
    });
    let rows = stream::iter(kept.into_iter().map(Ok)).chain(rest);
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// A number that no other attempt has.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{now:x}-{:x}-{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
