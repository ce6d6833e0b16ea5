//! An S3 server in this process, over a temporary folder.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{IF_MATCH, IF_NONE_MATCH};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, HttpResponse};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// The credentials that every server takes.
const KEY_ID: &str = "AKIAEXAMPLE";
const SECRET: &str = "secret";

/// A server on a port of its own. Ends when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    address: SocketAddr,
    // Requests end before their folder goes.
    _runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl S3Server {
    /// A bucket that every server has.
    pub const BUCKET: &str = "traces";

    /// Starts a server whose bucket is empty.
    pub fn start() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join(Self::BUCKET))?;
        let files = FileSystem::new(folder.path()).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(serve(listener, builder.build(), folder.path().to_owned()));
        Ok(Self { address, _runtime: runtime, folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The environment of a client that reaches this server, or a proxy before it, at an address.
    #[must_use]
    pub fn environment(address: SocketAddr) -> BTreeMap<String, String> {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://{address}")),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The folder of the bucket, for tests that look or write past the server.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(Self::BUCKET)
    }
}

async fn serve(listener: TcpListener, service: S3Service, root: PathBuf) {
    // The server looks whether an object is there, and writes it afterwards: of several creators at once all would win.
    let conditions = Arc::new(Mutex::new(()));
    while let Ok((socket, _)) = listener.accept().await {
        // Else an answer waits 40 ms for the acknowledgment of its head.
        let _ = socket.set_nodelay(true);
        let (service, conditions, root) = (service.clone(), Arc::clone(&conditions), root.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request: hyper::Request<Incoming>| {
                let (service, conditions) = (service.clone(), Arc::clone(&conditions));
                let bucket = request.uri().path().split('/').nth(1).unwrap_or_default();
                let has_bucket = root.join(bucket).is_dir();
                async move {
                    // It would create a bucket with the first object.
                    if !has_bucket {
                        return Ok(no_bucket());
                    }
                    let has_condition =
                        [IF_MATCH, IF_NONE_MATCH].iter().any(|name| request.headers().contains_key(name));
                    let _alone = if has_condition { Some(conditions.lock().await) } else { None };
                    Service::call(&service, request).await
                }
            });
            // A client that gives up is no trouble of the server.
            http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await.ok();
        });
    }
}

fn no_bucket() -> HttpResponse {
    let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code></Error>";
    let mut response = HttpResponse::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}
