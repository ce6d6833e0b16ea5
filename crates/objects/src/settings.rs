//! How a bucket is reached: the usual environment, times to wait, retries.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use crate::error::ObjectError;
use crate::place::Place;
use crate::provider::Provider;

/// How a bucket is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Variables such as `AWS_ACCESS_KEY_ID`, `GOOGLE_APPLICATION_CREDENTIALS` and `AZURE_STORAGE_ACCOUNT_KEY`.
    pub environment: BTreeMap<String, String>,
    /// How often a request is repeated at most.
    pub retries: usize,
    /// How long after the first attempt a request is repeated at most.
    pub retry_for: Duration,
    /// How long to wait before the first repetition; each further wait is twice as long.
    pub first_wait: Duration,
    /// How long one request may take, with everything that it sends and receives.
    pub request_timeout: Duration,
    /// How long a connection may take.
    pub connect_timeout: Duration,
}

impl Settings {
    /// The environment of this process, and the usual times.
    #[must_use]
    pub fn from_env() -> Self {
        let pairs =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Self::new(pairs.filter(|(key, _)| is_used(key)).collect())
    }

    /// Other variables than those of this process, and the usual times.
    #[must_use]
    pub fn new(environment: BTreeMap<String, String>) -> Self {
        Self {
            environment,
            retries: 10,
            retry_for: Duration::from_mins(3),
            first_wait: Duration::from_millis(100),
            // 64 MiB, the most that one request sends, at 1.1 MB/s.
            request_timeout: Duration::from_mins(1),
            connect_timeout: Duration::from_secs(5),
        }
    }

    /// The client of a bucket. Sends nothing yet, but looks whether there can be credentials.
    pub(crate) fn connect(
        &self,
        place: &Place,
        provider: Provider,
        bucket: &str,
    ) -> Result<Arc<dyn ObjectStore>, ObjectError> {
        let refuse = |reason: String, hint| ObjectError::BadSettings { reason, hint, place: place.to_string() };
        self.check_plain_http(provider).map_err(|endpoint| {
            refuse(format!("found an address without TLS, {endpoint}"), "set AWS_ALLOW_HTTP=true to allow it")
        })?;
        if provider == Provider::S3 && !self.has_s3_credentials() && !self.reaches_metadata() {
            return Err(refuse(
                "found no credentials".to_owned(),
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; profiles in `~/.aws` are not read",
            ));
        }
        let failed = |error: object_store::Error| {
            let reason = match error {
                // Without "Generic S3 error", which says nothing.
                object_store::Error::Generic { source, .. } => source.to_string(),
                other => other.to_string(),
            };
            refuse(format!("wrong settings: {reason}"), provider.variables().setup)
        };
        Ok(match provider {
            Provider::S3 => Arc::new(self.s3(bucket).build().map_err(failed)?),
            Provider::Google => Arc::new(self.google(bucket).build().map_err(failed)?),
            Provider::Azure => Arc::new(self.azure(bucket).build().map_err(failed)?),
        })
    }

    fn s3(&self, bucket: &str) -> AmazonS3Builder {
        // The client options come first: a variable such as `AWS_ALLOW_HTTP` changes them.
        let builder = AmazonS3Builder::new().with_client_options(self.client()).with_retry(self.retry());
        let builder = self.settings_of("AWS_").fold(builder, |builder, (key, value)| match setting(key) {
            Some(key) => builder.with_config(key, value),
            None => builder,
        });
        builder.with_bucket_name(bucket).with_conditional_put(S3ConditionalPut::ETagMatch)
    }

    fn google(&self, bucket: &str) -> GoogleCloudStorageBuilder {
        let builder = GoogleCloudStorageBuilder::new().with_client_options(self.client()).with_retry(self.retry());
        let builder = self.settings_of("GOOGLE_").fold(builder, |builder, (key, value)| match setting(key) {
            Some(key) => builder.with_config(key, value),
            None => builder,
        });
        let builder = match self.environment.get("SERVICE_ACCOUNT") {
            Some(path) => builder.with_service_account_path(path),
            None => builder,
        };
        builder.with_bucket_name(bucket)
    }

    fn azure(&self, container: &str) -> MicrosoftAzureBuilder {
        let builder = MicrosoftAzureBuilder::new().with_client_options(self.client()).with_retry(self.retry());
        let builder = self.settings_of("AZURE_").fold(builder, |builder, (key, value)| match setting(key) {
            Some(key) => builder.with_config(key, value),
            None => builder,
        });
        let builder = match self.environment.get("IDENTITY_ENDPOINT") {
            Some(endpoint) => builder.with_msi_endpoint(endpoint),
            None => builder,
        };
        builder.with_container_name(container)
    }

    fn client(&self) -> ClientOptions {
        ClientOptions::new().with_timeout(self.request_timeout).with_connect_timeout(self.connect_timeout)
    }

    fn retry(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig { init_backoff: self.first_wait, ..BackoffConfig::default() },
            max_retries: self.retries,
            retry_timeout: self.retry_for,
        }
    }

    fn settings_of(&self, start: &'static str) -> impl Iterator<Item = (&str, &str)> {
        let all = self.environment.iter().filter(move |(key, _)| key.starts_with(start));
        all.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.environment.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The library would refuse such an address with the first request, in words that name no variable.
    fn check_plain_http(&self, provider: Provider) -> Result<(), &str> {
        if provider != Provider::S3 || self.get("AWS_ALLOW_HTTP").is_some_and(is_true) {
            return Ok(());
        }
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].iter().find_map(|key| self.get(key));
        endpoint.filter(|endpoint| endpoint.starts_with("http://")).map_or(Ok(()), Err)
    }

    fn has_s3_credentials(&self) -> bool {
        let keys = [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ];
        keys.iter().any(|key| self.get(key).is_some()) || self.get("AWS_SKIP_SIGNATURE").is_some_and(is_true)
    }

    /// Whether credentials can come from the machine itself. Outside of the cloud nothing answers there, and the library
    /// would ask for as long as requests are repeated.
    fn reaches_metadata(&self) -> bool {
        if self.get("AWS_METADATA_ENDPOINT").is_some() {
            return true;
        }
        let address = ("169.254.169.254", 80).to_socket_addrs().ok().and_then(|mut all| all.next());
        address.is_some_and(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
    }
}

fn setting<K: FromStr>(name: &str) -> Option<K> {
    name.to_ascii_lowercase().parse().ok()
}

fn is_true(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn is_used(key: &str) -> bool {
    ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|start| key.starts_with(start))
        || ["SERVICE_ACCOUNT", "IDENTITY_ENDPOINT"].contains(&key)
}
