//! An S3 server in this process, over a temporary folder.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{IF_MATCH, IF_NONE_MATCH};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use stepscope_objects::{Bucket, Place, Settings};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// A bucket that every server has.
pub(crate) const BUCKET: &str = "traces";

/// The credentials that the server takes.
const KEY_ID: &str = "AKIAEXAMPLE";
const SECRET: &str = "secret";

/// A server; ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let service = builder.build();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            // The server looks whether an object is there, and writes it afterwards: of several creators at once all
            // would win.
            let conditions = Arc::new(Mutex::new(()));
            while let Ok((socket, _)) = listener.accept().await {
                let (service, conditions) = (service.clone(), Arc::clone(&conditions));
                tokio::spawn(async move {
                    let answer = service_fn(move |request: hyper::Request<Incoming>| {
                        let (service, conditions) = (service.clone(), Arc::clone(&conditions));
                        async move {
                            let has_condition =
                                [IF_MATCH, IF_NONE_MATCH].iter().any(|name| request.headers().contains_key(name));
                            let _alone = if has_condition { Some(conditions.lock().await) } else { None };
                            Service::call(&service, request).await
                        }
                    });
                    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), answer).await.ok();
                });
            }
        });
        Self { address, _runtime: runtime, folder }
    }

    /// Puts objects below a prefix of the bucket, faster than with requests.
    pub(crate) fn fill(&self, prefix: &str, names: impl Iterator<Item = String>) {
        let folder = self.folder.path().join(BUCKET).join(prefix);
        std::fs::create_dir_all(&folder).unwrap();
        names.for_each(|name| std::fs::write(folder.join(name), "x").unwrap());
    }

    /// The bucket of the server, below a prefix.
    pub(crate) fn bucket(&self, prefix: &str) -> Bucket {
        open(&format!("s3://{BUCKET}/{prefix}"), &settings(self.address))
    }
}

/// A bucket with settings of a test.
pub(crate) fn open(place: &str, settings: &Settings) -> Bucket {
    Bucket::open_with(&Place::parse(place).unwrap(), settings).unwrap()
}

/// Settings for a server or a proxy at an address, with short waits.
pub(crate) fn settings(address: SocketAddr) -> Settings {
    let variables = [
        ("AWS_ACCESS_KEY_ID", KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", &format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true"),
    ];
    let environment: BTreeMap<String, String> =
        variables.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let first_wait = Duration::from_millis(5);
    Settings { first_wait, request_timeout: Duration::from_secs(20), ..Settings::new(environment) }
}
