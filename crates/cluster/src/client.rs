//! What whoever asks a cluster may set.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::channels::Channels;
use crate::discovery::Source;
use crate::distributed::{Distributed, Notes};
use crate::health::Workers;
use crate::identity::identity;
use crate::secrets::Token;
pub use crate::tls::{CertificateFiles, ClientTlsFiles};

/// Bytes that one thread of a worker should read.
const BYTES_PER_PARTITION: usize = 16 << 20;

/// How to reach the workers, and when to use them.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Where workers are.
    pub sources: Vec<Source>,
    /// With fewer workers a query runs here.
    pub min_workers: usize,
    /// Certificates; without an authority connections are plain, and only to this machine.
    pub tls: ClientTlsFiles,
    /// The token that workers ask for.
    pub token_file: Option<PathBuf>,
    /// Bytes that one thread of a worker should read; less than that is not worth the way.
    pub bytes_per_partition: usize,
    /// The version that workers must have.
    pub version: String,
}

/// A cluster that cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The token cannot be used.
    #[error("cannot read the token: {error}: {}", file.display())]
    Token {
        /// Where it should be.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A certificate cannot be used.
    #[error("cannot use the certificates for the workers: {0}")]
    Certificates(io::Error),
    /// The thread for connections did not start.
    #[error("cannot start the network thread: {0}")]
    Start(io::Error),
}

impl ClientOptions {
    /// Options for some workers, with the usual settings.
    #[must_use]
    pub fn new(sources: Vec<Source>) -> Self {
        Self {
            sources,
            min_workers: 1,
            tls: ClientTlsFiles::default(),
            token_file: None,
            bytes_per_partition: BYTES_PER_PARTITION,
            version: identity(),
        }
    }

    /// Makes the runner. Asks nobody yet.
    pub fn runner(self, notes: Notes) -> Result<Distributed, ClientError> {
        // Wrong files are found before the first query.
        self.tls.config().map_err(ClientError::Certificates)?;
        let token = match &self.token_file {
            Some(file) => {
                let fail = |error| ClientError::Token { file: file.clone(), error };
                Some(Token::read(file).map_err(fail)?)
            }
            None => None,
        };
        let mut tls = self.tls;
        // The certificate of a worker behind a name is for the name.
        if let (None, [Source::Name { host, .. }]) = (&tls.name, self.sources.as_slice()) {
            tls.name = Some(host.clone());
        }
        let channels = Arc::new(Channels::new(tls, token).map_err(ClientError::Start)?);
        let workers = Workers::new(self.sources, self.version.clone(), Arc::clone(&channels));
        Ok(Distributed::new(workers, channels, self.version, self.min_workers, self.bytes_per_partition, notes))
    }
}
