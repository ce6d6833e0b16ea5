//! A channel to a worker that names the worker in every failure, and reports the first one to the attempt.
//!
//! The library notices that a worker refused its plan only when all rows are there; until then others wait for it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::{
    CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse, SetPlanRequest,
    WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::stream::{BoxStream, StreamExt};
use http::HeaderMap;
use tonic::Status;
use url::Url;

use crate::attempt::Attempt;
use crate::failure::{Code, Failure};

/// A channel to one worker.
pub(crate) struct Watched {
    inner: Box<dyn WorkerChannel>,
    watch: Watch,
}

/// What a channel does about errors.
#[derive(Clone)]
struct Watch {
    worker: Url,
    attempt: Option<Arc<Attempt>>,
}

impl Watched {
    /// Watches a channel for an attempt, if whoever asks is here.
    pub(crate) fn new(inner: Box<dyn WorkerChannel>, worker: Url, attempt: Option<Arc<Attempt>>) -> Self {
        Self { inner, watch: Watch { worker, attempt } }
    }
}

impl Watch {
    /// The error with the name of the worker; errors of the query stay as they are.
    fn named(&self, error: DataFusionError) -> DataFusionError {
        let Some(failure) = failure_of(&error, &self.worker) else { return error };
        if let Some(attempt) = &self.attempt {
            attempt.fail(&failure);
        }
        failure.into_error()
    }

    fn over<T: 'static>(&self, stream: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
        let watch = self.clone();
        stream.map(move |item| item.map_err(|error| watch.named(error))).boxed()
    }
}

/// The failure that an error of a request to a worker means; `None` for an error of the query.
fn failure_of(error: &DataFusionError, worker: &Url) -> Option<Failure> {
    if let Some(failure) = Failure::inside(error) {
        let worker_speaks = failure.worker.is_empty();
        return Some(if worker_speaks { Failure::of(failure.code, worker, failure.message) } else { failure });
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(message) => {
            Some(Failure::of(Code::WorkerOutOfMemory, worker, message.lines().next().unwrap_or_default()))
        }
        DataFusionError::External(external) => {
            external.downcast_ref::<Status>().map(|status| Failure::of_status(worker, status))
        }
        _ => None,
    }
}

#[async_trait]
impl WorkerChannel for Watched {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        set_plan_request: SetPlanRequest,
        c2w_stream: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let begun = self.inner.coordinator_channel(headers, set_plan_request, c2w_stream, metrics, task_ctx).await;
        begun.map(|stream| self.watch.over(stream)).map_err(|error| self.watch.named(error))
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let begun = self.inner.execute_task(headers, request, metrics, task_ctx).await;
        let streams = begun.map_err(|error| self.watch.named(error))?;
        Ok(streams.into_iter().map(|stream| self.watch.over(stream)).collect())
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await.map_err(|error| self.watch.named(error))
    }
}
