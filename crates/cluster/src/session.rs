//! The session of a query that workers run: that of the engine, with a planner that cuts plans into stages.

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DesiredTaskCountHandler, DistributedExt,
    SessionStateBuilderExt, WorkerResolver,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::channels::Resolver;
use crate::identity::{QUERY_HEADER, STORE_HEADER, VERSION_HEADER};
use crate::routes::ByFile;

/// What an attempt at a query is made of.
pub(crate) struct Asking {
    /// The workers to ask.
    pub(crate) workers: Vec<Url>,
    /// How to reach them.
    pub(crate) resolver: Resolver,
    /// The version of whoever asks.
    pub(crate) version: String,
    /// The address of the store.
    pub(crate) store: String,
    /// A number that no other attempt has.
    pub(crate) query: String,
    /// Bytes that one thread of a worker should read; less than that is not worth the way.
    pub(crate) bytes_per_partition: usize,
}

/// The session for an attempt.
pub(crate) fn session(state: SessionState, asking: Asking) -> Result<SessionState> {
    let partitions = state.config().target_partitions().max(2);
    let mut builder = SessionStateBuilder::new_from_existing(state)
        .with_distributed_planner()
        .with_distributed_route_tasks_handler(ByFile(asking.workers.clone()))
        .with_distributed_worker_resolver(Listed(asking.workers))
        .with_distributed_channel_resolver(asking.resolver)
        .with_distributed_desired_task_count_handler(OnePartOneTask)
        .with_distributed_file_scan_config_bytes_per_partition(asking.bytes_per_partition)?
        // Nobody looks at them, and a query would wait for them.
        .with_distributed_metrics_collection(false)?
        .with_distributed_passthrough_headers(headers(&[
            (VERSION_HEADER, &asking.version),
            (STORE_HEADER, &asking.store),
            (QUERY_HEADER, &asking.query),
        ])?)?;
    let config = builder.config().get_or_insert_default();
    let options = config.options_mut();
    // With one part there is nothing to hand out.
    options.execution.target_partitions = partitions;
    // What a join or a sort learns while it runs stays in its process; filters that wait for it would only cost.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.optimizer.enable_join_dynamic_filter_pushdown = false;
    options.optimizer.enable_topk_dynamic_filter_pushdown = false;
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // A file that is read in one part is worked on in one task: split it where it is worth it.
    options.optimizer.repartition_file_min_size =
        options.optimizer.repartition_file_min_size.min(asking.bytes_per_partition);
    Ok(builder.build())
}

fn headers(pairs: &[(&'static str, &str)]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let value = HeaderValue::from_str(value).map_err(|error| DataFusionError::External(error.into()))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// The workers of an attempt, fixed.
struct Listed(Vec<Url>);

impl WorkerResolver for Listed {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

/// Keeps rows that the plan reads in one part in one task. The nodes above such a part need no merge, and the library
/// adds none: spread over tasks, each would sum, sort or cut off its own share as if it were everything.
struct OnePartOneTask;

#[async_trait]
impl DesiredTaskCountHandler for OnePartOneTask {
    async fn handle(&self, event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
        let is_one_part = event.plan.children().is_empty() && event.plan.output_partitioning().partition_count() == 1;
        is_one_part.then(|| Ok(DesiredTaskCountEventResponse::maximum(1)))
    }
}
