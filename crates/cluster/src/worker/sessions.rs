//! The session of each part of a query on a worker: our functions, and a look at the plan before it runs.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion_distributed::{
    DistributedExt, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext, WorkerSessionBuilder,
};
use http::HeaderMap;
use stepscope_engine::functions;

use super::WorkerOptions;
use crate::channels::{Channels, Resolver};
use crate::identity::{QUERY_HEADER, STORE_HEADER, VERSION_HEADER};
use crate::plan_check;

/// Below this limit batches are small, as in the engine.
const ROOMY_BYTES: usize = 1 << 30;
const SMALL_BATCH_ROWS: usize = 2_048;

/// Makes sessions.
pub(crate) struct Sessions {
    peers: Arc<Channels>,
    batch_rows: Option<usize>,
}

impl Sessions {
    pub(crate) fn new(peers: Arc<Channels>, options: &WorkerOptions) -> Self {
        let is_small = options.memory_limit_bytes.is_some_and(|bytes| bytes < ROOMY_BYTES);
        Self { peers, batch_rows: is_small.then_some(SMALL_BATCH_ROWS) }
    }
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(&self, context: WorkerQueryContext) -> Result<SessionState, DataFusionError> {
        let mut builder = context.builder;
        let aggregates = functions::aggregates().map(Arc::new);
        builder.aggregate_functions().get_or_insert_default().extend(aggregates);
        let scalars = functions::scalars().map(Arc::new);
        builder.scalar_functions().get_or_insert_default().extend(scalars);
        if let Some(rows) = self.batch_rows {
            let config = builder.config().take().unwrap_or_default();
            *builder.config() = Some(config.with_batch_size(rows));
        }
        let resolver = Resolver { channels: Arc::clone(&self.peers), attempt: None };
        let builder = builder
            .with_distributed_channel_resolver(resolver)
            .with_distributed_passthrough_headers(passed_on(&context.headers))?
            .with_distributed_worker_plan_rewrite_handler(checked);
        Ok(builder.build())
    }
}

/// What other workers must know too.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let is_ours = |name: &str| [VERSION_HEADER, STORE_HEADER, QUERY_HEADER].contains(&name);
    let ours = headers.iter().filter(|(name, _)| is_ours(name.as_str()));
    ours.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn checked(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse, DataFusionError> {
    plan_check::check(&event.plan)?;
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}
