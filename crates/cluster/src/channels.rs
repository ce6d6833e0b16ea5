//! Connections to workers, kept and shared by queries.
//!
//! A worker that is stopped or cut off keeps its connections open. Pings find out: without an answer a connection ends,
//! and everything on it fails. They run on a thread of their own, which no query can hold.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, GetWorkerInfoRequest, WorkerChannel};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use tokio::runtime::{Builder, Runtime};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::ServiceExt;
use url::{Host, Url};

use crate::attempt::Attempt;
use crate::failure::{Code, Failure};
use crate::secrets::Token;
use crate::tls::ClientTlsFiles;
use crate::watched::Watched;

/// How often a connection is pinged, and how long an answer may take: silence is found within 10 s.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(3);
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(6);

/// How long connecting and asking for a version may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Connections by worker.
#[derive(Debug)]
pub(crate) struct Channels {
    tls: ClientTlsFiles,
    token: Option<Token>,
    kept: Mutex<HashMap<Url, Channel>>,
    /// `None` only while it ends.
    network: Option<Runtime>,
}

impl Channels {
    pub(crate) fn new(tls: ClientTlsFiles, token: Option<Token>) -> io::Result<Self> {
        let network =
            Builder::new_multi_thread().worker_threads(1).thread_name("stepscope-network").enable_all().build()?;
        Ok(Self { tls, token, kept: Mutex::default(), network: Some(network) })
    }

    /// Whether connections use TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.ca.is_some()
    }

    /// A channel to a worker, watched for an attempt.
    pub(crate) async fn to(&self, worker: &Url, attempt: Option<Arc<Attempt>>) -> Result<Watched, DataFusionError> {
        let connected = self.connected(worker).await.inspect_err(|failure| {
            if let Some(attempt) = &attempt {
                attempt.fail(failure);
            }
        });
        let client = create_worker_client(self.with_token(connected.map_err(Failure::into_error)?));
        Ok(Watched::new(client, worker.clone(), attempt))
    }

    /// The version of a worker.
    pub(crate) async fn version_of(&self, worker: &Url) -> Result<String, Failure> {
        let ask = async {
            let mut channel = self.to(worker, None).await?;
            channel.get_worker_info(GetWorkerInfoRequest {}).await
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, ask).await {
            Ok(Ok(info)) => Ok(info.version),
            Ok(Err(error)) => Err(Failure::inside(&error)
                .unwrap_or_else(|| Failure::of(Code::WorkerLost, worker, error.strip_backtrace()))),
            Err(_) => Err(Failure::of(Code::WorkerLost, worker, "no answer within 3 s")),
        }
    }

    /// Lets go of a connection that failed.
    pub(crate) fn forget(&self, worker: &Url) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(worker);
    }

    async fn connected(&self, worker: &Url) -> Result<Channel, Failure> {
        if let Some(kept) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(worker) {
            return Ok(kept.clone());
        }
        let lost = |reason: String| Failure::of(Code::WorkerLost, worker, reason);
        let endpoint = self.endpoint(worker)?;
        let network = self.network.as_ref().ok_or_else(|| lost("used after its end".to_owned()))?;
        // The connection lives on the thread that it was made on.
        let connected = network.spawn(async move { endpoint.connect().await }).await;
        let connected = connected.map_err(|error| lost(error.to_string()))?;
        let channel = connected.map_err(|error| lost(format!("cannot connect: {}", reasons(&error))))?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(worker.clone(), channel.clone());
        Ok(channel)
    }

    fn endpoint(&self, worker: &Url) -> Result<Endpoint, Failure> {
        let refused = |reason: &str| Failure::of(Code::NotAllowed, worker, reason);
        let wanted = if self.is_encrypted() { "https" } else { "http" };
        if worker.scheme() != wanted {
            return Err(refused(&format!("found {}, expected {wanted}", worker.scheme())));
        }
        if !self.is_encrypted() && !is_loopback(worker) {
            return Err(refused("workers on other machines are reached over TLS only"));
        }
        let endpoint = Channel::from_shared(worker.to_string()).map_err(|error| refused(&error.to_string()))?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        match self.tls.config().map_err(|error| refused(&error.to_string()))? {
            Some(tls) => endpoint.tls_config(tls).map_err(|error| refused(&reasons(&error))),
            None => Ok(endpoint),
        }
    }

    fn with_token(&self, channel: Channel) -> BoxCloneSyncChannel {
        let header = self.token.as_ref().and_then(|token| HeaderValue::from_str(&token.header()).ok());
        let add = move |mut request: http::Request<Body>| {
            if let Some(header) = &header {
                request.headers_mut().insert(AUTHORIZATION, header.clone());
            }
            request
        };
        BoxCloneSyncChannel::new(channel.map_request(add))
    }
}

impl Drop for Channels {
    /// May be dropped inside of a runtime, where waiting is not allowed.
    fn drop(&mut self) {
        if let Some(network) = self.network.take() {
            network.shutdown_background();
        }
    }
}

/// The connections as the library asks for them.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    pub(crate) channels: Arc<Channels>,
    pub(crate) attempt: Option<Arc<Attempt>>,
}

#[async_trait]
impl ChannelResolver for Resolver {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        Ok(Box::new(self.channels.to(url, self.attempt.clone()).await?))
    }
}

fn is_loopback(worker: &Url) -> bool {
    match worker.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// An error with the reasons below it, which hold what matters.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        let words = reason.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = reason.source();
    }
    text
}
