//! A worker: runs parts of queries for those who may ask, over one store, within its memory.

mod connection;
mod disk_cache;
mod gate;
mod listen;
mod load;
mod memory;
mod only_store;
mod sessions;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::error::DataFusionError;
use object_store::ObjectStore;
use stepscope_objects::{Bucket, ObjectError, Place};
use tokio::runtime::{Builder, Handle, Runtime};
use tonic::transport::Server;

use crate::channels::{Channels, PING_EVERY, PING_TIMEOUT};
use crate::identity::{identity, store_identity};
use crate::secrets::Token;
use crate::tls::{CertificateFiles, ClientTlsFiles, ServerTls};

use disk_cache::DiskCache;
use gate::GateLayer;
use load::Load;
use sessions::Sessions;

/// A plan at most.
const PLAN_BYTES: usize = 64 << 20;

/// How long parts of queries may go on after the worker was asked to end.
const DRAIN: Duration = Duration::from_mins(1);

/// Decoding a plan recurses along it. Only what is used of a stack takes memory.
const THREAD_STACK_BYTES: usize = 64 << 20;

/// What a worker may do.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The store that it reads: an address or a folder.
    pub store: String,
    /// What it shows to those who connect.
    pub tls: Option<CertificateFiles>,
    /// Who must have signed the certificates of those who connect.
    pub client_ca: Option<PathBuf>,
    /// The token that those who connect must have.
    pub token_file: Option<PathBuf>,
    /// How it reaches other workers: who must have signed their certificates, and the name in them.
    pub peers: ClientTlsFiles,
    /// Memory for everything that queries hold at one time; 70 % of what the machine or container has if not given.
    pub memory_limit_bytes: Option<usize>,
    /// Where queries spill to; the system's folder for temporaries if not given.
    pub spill_dir: Option<PathBuf>,
    /// Bytes that queries may spill at one time.
    pub spill_limit_bytes: u64,
    /// Where parts of objects are kept that queries may read again; nowhere if not given.
    pub cache_dir: Option<PathBuf>,
    /// Bytes to keep there.
    pub cache_limit_bytes: u64,
    /// Threads that run queries.
    pub threads: usize,
    /// Queries at one time; two per thread if not given.
    pub most_queries: Option<usize>,
    /// The version that it reports.
    pub version: String,
}

impl WorkerOptions {
    /// A worker for those on this machine.
    #[must_use]
    pub fn new(listen: SocketAddr, store: impl Into<String>) -> Self {
        Self {
            listen,
            store: store.into(),
            tls: None,
            client_ca: None,
            token_file: None,
            peers: ClientTlsFiles::default(),
            memory_limit_bytes: None,
            spill_dir: None,
            spill_limit_bytes: 100 << 30,
            cache_dir: None,
            cache_limit_bytes: 20 << 30,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            most_queries: None,
            version: identity(),
        }
    }
}

/// A worker that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Others could reach it without showing who they are.
    #[error("a worker that other machines can reach needs {missing}: {listen}")]
    Open {
        /// What is missing.
        missing: &'static str,
        /// Where it would listen.
        listen: SocketAddr,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] ObjectError),
    /// A file cannot be used.
    #[error("cannot use the file: {error}: {}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The certificates cannot be used.
    #[error("{0}")]
    Certificates(io::Error),
    /// Nothing can listen there.
    #[error("cannot listen: {error}: {listen}")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// Threads or the query engine did not start.
    #[error("cannot start the worker: {0}")]
    Start(String),
}

/// A worker that listens. Dropping it ends it at once.
pub struct Worker {
    address: SocketAddr,
    load: Arc<Load>,
    network: Option<Runtime>,
    compute: Option<Runtime>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    served: Option<tokio::task::JoinHandle<Result<(), tonic::transport::Error>>>,
}

impl Worker {
    /// Starts a worker. It answers when this returns.
    pub fn start(options: &WorkerOptions) -> Result<Self, WorkerError> {
        check_doors(options)?;
        let place = Place::parse(&options.store)?;
        let objects = kept(Bucket::open(&place)?.for_engine()?, options)?;
        let (load, token) = (Arc::new(Load::new(most_queries(options))), token(options)?);
        let tls = match &options.tls {
            Some(own) => {
                Some(ServerTls::read(own.clone(), options.client_ca.clone()).map_err(WorkerError::Certificates)?)
            }
            None => None,
        };
        let peers = Channels::new(peers(options), self::token(options)?).map_err(|error| start(&error))?;
        let environment = memory::environment(options, objects).map_err(|error: DataFusionError| start(&error))?;
        let sessions = Sessions::new(Arc::new(peers), options);
        let service = datafusion_distributed::Worker::from_session_builder(sessions)
            .with_runtime_env(environment)
            .with_version(options.version.clone());
        let service = service.into_worker_server().max_decoding_message_size(PLAN_BYTES);
        let compute = runtime("stepscope-compute", options.threads.max(1))?;
        let network = runtime("stepscope-network", 1)?;
        let gate = GateLayer::new(gate::Rules {
            token,
            version: options.version.clone(),
            store: store_identity(&options.store),
            load: Arc::clone(&load),
            compute: compute.handle().clone(),
        });
        let listener = listener(options.listen)?;
        let address = listener.local_addr().map_err(|error| WorkerError::Listen { listen: options.listen, error })?;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let entered = network.enter();
        let connections = listen::connections(listener, tls.map(Arc::new))
            .map_err(|error| WorkerError::Listen { listen: address, error })?;
        drop(entered);
        let served = network.spawn(async move {
            Server::builder()
                .http2_keepalive_interval(Some(PING_EVERY))
                .http2_keepalive_timeout(Some(PING_TIMEOUT))
                .layer(gate)
                .add_service(service)
                .serve_with_incoming_shutdown(connections, async move {
                    // A sender that is gone ends the worker too.
                    let _ = stopped.await;
                })
                .await
        });
        Ok(Self {
            address,
            load,
            network: Some(network),
            compute: Some(compute),
            stop: Some(stop),
            served: Some(served),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle to wait with.
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        self.network.as_ref().map(|network| network.handle().clone())
    }

    /// Queries that it took part in so far.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.load.taken()
    }

    /// Serves until `ended` is ready, then takes no more queries and gives those that run a minute. Returns how many
    /// queries it took part in, and how many of them were cut off.
    pub fn serve_until(mut self, ended: impl Future<Output = ()>) -> (u64, usize) {
        let Some(network) = self.network.take() else { return (0, 0) };
        let cut_off = network.block_on(async {
            ended.await;
            self.load.drain();
            let begun = Instant::now();
            while self.load.queries() > 0 && begun.elapsed() < DRAIN {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let cut_off = self.load.queries();
            self.stop.take();
            if let Some(served) = self.served.take() {
                // Connections of those who asked stay open; the worker does not wait for them.
                let _ = tokio::time::timeout(Duration::from_secs(1), served).await;
            }
            cut_off
        });
        self.network = Some(network);
        (self.load.taken(), cut_off)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for runtime in [self.compute.take(), self.network.take()].into_iter().flatten() {
            runtime.shutdown_background();
        }
    }
}

/// Refuses to listen where everybody can ask.
fn check_doors(options: &WorkerOptions) -> Result<(), WorkerError> {
    let open = |missing| Err(WorkerError::Open { missing, listen: options.listen });
    if options.listen.ip().is_loopback() {
        return Ok(());
    }
    if options.tls.is_none() {
        return open("--tls-cert and --tls-key");
    }
    if options.client_ca.is_none() && options.token_file.is_none() {
        return open("--client-ca or --token-file");
    }
    if options.peers.ca.is_none() && options.client_ca.is_none() {
        return open("--ca, to know the other workers");
    }
    Ok(())
}

/// How a worker reaches others: it shows its own certificate, and knows theirs by the same authority as its clients'.
fn peers(options: &WorkerOptions) -> ClientTlsFiles {
    let mut peers = options.peers.clone();
    if options.tls.is_some() {
        peers.ca = peers.ca.or_else(|| options.client_ca.clone());
        peers.own = peers.own.or_else(|| options.tls.clone());
    }
    peers
}

fn token(options: &WorkerOptions) -> Result<Option<Token>, WorkerError> {
    let Some(file) = &options.token_file else { return Ok(None) };
    Token::read(file).map(Some).map_err(|error| WorkerError::File { file: file.clone(), error })
}

/// The store, with what is kept of it on disk.
fn kept(objects: Arc<dyn ObjectStore>, options: &WorkerOptions) -> Result<Arc<dyn ObjectStore>, WorkerError> {
    let Some(folder) = &options.cache_dir else { return Ok(objects) };
    let cache = DiskCache::new(objects, folder.clone(), options.cache_limit_bytes);
    Ok(Arc::new(cache.map_err(|error| WorkerError::File { file: folder.clone(), error })?))
}

fn most_queries(options: &WorkerOptions) -> usize {
    options.most_queries.unwrap_or(2 * options.threads.max(1))
}

fn listener(listen: SocketAddr) -> Result<TcpListener, WorkerError> {
    TcpListener::bind(listen).map_err(|error| WorkerError::Listen { listen, error })
}

fn runtime(name: &str, threads: usize) -> Result<Runtime, WorkerError> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name(name).thread_stack_size(THREAD_STACK_BYTES).enable_all();
    builder.build().map_err(|error| start(&error))
}

fn start(error: &dyn std::error::Error) -> WorkerError {
    WorkerError::Start(error.to_string())
}
