//! Three workers in this process.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use stepscope_cluster::{ClientOptions, Distributed, Source, Worker, WorkerOptions};
use stepscope_engine::{QueryOptions, Runner};

/// Workers, and a runner that asks them.
pub(crate) struct Cluster {
    pub(crate) runner: Distributed,
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    workers: Vec<Worker>,
}

impl Cluster {
    /// Three workers over a store. However little there is to read, it is spread over them.
    pub(crate) fn of_three(store: &str) -> Self {
        let options = WorkerOptions { threads: 2, ..WorkerOptions::new(anywhere(), store) };
        Self::of(&[options.clone(), options.clone(), options], |_| {})
    }

    /// Some workers, asked in some way.
    pub(crate) fn of(options: &[WorkerOptions], change: impl FnOnce(&mut ClientOptions)) -> Self {
        let workers: Vec<Worker> = options.iter().map(|options| Worker::start(options).unwrap()).collect();
        let address = |worker: &Worker| worker.address().to_string().parse::<Source>().unwrap();
        let mut client = ClientOptions::new(workers.iter().map(address).collect());
        client.bytes_per_partition = 1;
        change(&mut client);
        let notes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&notes);
        let runner = client.runner(Arc::new(move |note: &str| kept.lock().unwrap().push(note.to_owned()))).unwrap();
        Self { runner, notes, workers }
    }

    /// How many queries each worker took part in.
    pub(crate) fn queries(&self) -> Vec<u64> {
        self.workers.iter().map(Worker::queries).collect()
    }

    pub(crate) fn into_runner(self) -> Arc<dyn Runner> {
        Arc::new(self)
    }
}

#[async_trait]
impl Runner for Cluster {
    async fn run(
        &self,
        plan: LogicalPlan,
        state: SessionState,
        store: &str,
        limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        self.runner.run(plan, state, store, limits).await
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cluster").finish_non_exhaustive()
    }
}

/// A free port of this machine.
pub(crate) fn anywhere() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
