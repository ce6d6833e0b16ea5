//! Buckets of a server in this process.

use std::net::SocketAddr;
use std::time::Duration;

use stepscope_objects::{Bucket, Place, Settings};
use stepscope_testkit::S3Server;

/// The bucket of a server, below a prefix.
pub(crate) fn bucket_of(server: &S3Server, prefix: &str) -> Bucket {
    open(&format!("s3://{}/{prefix}", S3Server::BUCKET), &settings(server.address()))
}

/// A bucket with settings of a test.
pub(crate) fn open(place: &str, settings: &Settings) -> Bucket {
    Bucket::open_with(&Place::parse(place).unwrap(), settings).unwrap()
}

/// Settings for a server or a proxy at an address, with short waits.
pub(crate) fn settings(address: SocketAddr) -> Settings {
    let first_wait = Duration::from_millis(5);
    let environment = S3Server::environment(address);
    Settings { first_wait, request_timeout: Duration::from_secs(20), ..Settings::new(environment) }
}
