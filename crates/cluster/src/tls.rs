//! TLS on both sides: what a worker shows and asks for, and what whoever connects to a worker shows and asks for.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::secrets::Followed;

/// A certificate with its key.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The chain, PEM.
    pub cert: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// What a worker shows and asks for.
pub(crate) struct ServerTls {
    own: CertificateFiles,
    client_ca: Option<PathBuf>,
    config: Followed<Arc<ServerConfig>>,
}

impl ServerTls {
    pub(crate) fn read(own: CertificateFiles, client_ca: Option<PathBuf>) -> io::Result<Self> {
        let mut files = vec![own.cert.clone(), own.key.clone()];
        files.extend(client_ca.clone());
        let config = Followed::new(files, || server_config(&own, client_ca.as_deref()))?;
        Ok(Self { own, client_ca, config })
    }

    /// The configuration for the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.get(|| server_config(&self.own, self.client_ca.as_deref()))
    }
}

fn server_config(own: &CertificateFiles, client_ca: Option<&Path>) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder = match client_ca {
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(|error| unusable(file, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(file, &error))?)
        }
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::from_pem_file(&own.key).map_err(|error| unusable(&own.key, &error))?;
    let config = builder.with_single_cert(certificates(&own.cert)?, key);
    let mut config = config.map_err(|error| unusable(&own.cert, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    found.map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &dyn fmt::Display) -> io::Error {
    io::Error::other(format!("cannot use the certificate or key: {error}: {}", file.display()))
}

/// What whoever connects to a worker shows and asks for.
#[derive(Clone, Debug, Default)]
pub struct ClientTlsFiles {
    /// Who must have signed the certificates of workers; without it, connections are plain.
    pub ca: Option<PathBuf>,
    /// What to show to workers that ask for a certificate.
    pub own: Option<CertificateFiles>,
    /// The name in the certificates of workers, if it is not the host of their addresses.
    pub name: Option<String>,
}

impl ClientTlsFiles {
    /// The configuration for the next connection; `None` for plain ones.
    pub(crate) fn config(&self) -> io::Result<Option<ClientTlsConfig>> {
        let Some(ca) = &self.ca else { return Ok(None) };
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
        if let Some(own) = &self.own {
            config = config.identity(Identity::from_pem(read(&own.cert)?, read(&own.key)?));
        }
        if let Some(name) = &self.name {
            config = config.domain_name(name);
        }
        Ok(Some(config))
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    fs::read(file).map_err(|error| io::Error::new(error.kind(), format!("{error}: {}", file.display())))
}
