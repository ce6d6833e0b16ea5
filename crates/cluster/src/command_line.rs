//! The options of `stepscope-cluster` beside those of `stepscope`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use stepscope_cluster::client::{CertificateFiles, ClientTlsFiles};
use stepscope_cluster::{ClientOptions, Source, WorkerOptions};
use stepscope_model::arguments::limit_bytes;

/// Run parts of queries for others
///
/// A worker reads one store and nothing else. Beyond this machine it needs TLS, and a client certificate or a token.
#[derive(Debug, Parser)]
#[command(name = "stepscope-cluster worker", version)]
pub(crate) struct WorkerArguments {
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Read this store: a folder or an address such as `s3://bucket/prefix`
    #[arg(long, value_name = "STORE")]
    store: String,
    /// Show this certificate (PEM) to those who connect
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Use this private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let in those whose certificate this authority (PEM) signed
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Let in those who have the token in FILE; other workers need the same one
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Trust other workers whose certificate this authority (PEM) signed [default: that of --client-ca]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Expect this name in the certificates of other workers [default: the host of their address]
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// Limit the memory of queries, such as 8GiB [default: 70 % of the container or machine]
    #[arg(long, value_name = "SIZE", value_parser = limit_bytes)]
    memory_limit: Option<u64>,
    /// Spill to DIR [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// Limit what queries spill
    #[arg(long, value_name = "SIZE", value_parser = limit_bytes, default_value = "100GiB")]
    spill_limit: u64,
    /// Keep what was read of a bucket in DIR, for queries that read it again [default: nowhere]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Limit what is kept there
    #[arg(long, value_name = "SIZE", value_parser = limit_bytes, default_value = "20GiB", requires = "cache_dir")]
    cache_limit: u64,
    /// Run queries on N threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl WorkerArguments {
    /// What they mean.
    pub(crate) fn options(self) -> Result<WorkerOptions, String> {
        let mut options = WorkerOptions::new(self.listen, self.store);
        options.tls = self.tls_cert.zip(self.tls_key).map(|(cert, key)| CertificateFiles { cert, key });
        options.client_ca = self.client_ca;
        options.token_file = self.token_file;
        options.peers = ClientTlsFiles { ca: self.ca, own: None, name: self.tls_name };
        options.memory_limit_bytes = self.memory_limit.map(|bytes| bytes as usize);
        options.spill_limit_bytes = self.spill_limit;
        if let Some(folder) = &self.spill_dir {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make the folder to spill to: {error}: {}", folder.display()))?;
        }
        options.spill_dir = self.spill_dir;
        options.cache_dir = self.cache_dir;
        options.cache_limit_bytes = self.cache_limit;
        options.threads = self.threads.map_or(options.threads, usize::from);
        Ok(options)
    }
}

/// The options about the cluster, each with its variable.
const OPTIONS: [(&str, &str); 8] = [
    ("--cluster", "STEPSCOPE_CLUSTER"),
    ("--min-workers", "STEPSCOPE_CLUSTER_MIN_WORKERS"),
    ("--cluster-ca", "STEPSCOPE_CLUSTER_CA"),
    ("--cluster-cert", "STEPSCOPE_CLUSTER_CERT"),
    ("--cluster-key", "STEPSCOPE_CLUSTER_KEY"),
    ("--cluster-name", "STEPSCOPE_CLUSTER_NAME"),
    ("--cluster-token-file", "STEPSCOPE_CLUSTER_TOKEN_FILE"),
    ("--cluster-part-bytes", "STEPSCOPE_CLUSTER_PART_BYTES"),
];

/// The options about the cluster among those of a command.
#[derive(Debug, Default)]
pub(crate) struct ClusterArguments([Option<String>; OPTIONS.len()]);

impl ClusterArguments {
    /// Takes them out of a command line, wherever they are in it, and fills up from the environment. Without
    /// `--cluster` there is no cluster.
    pub(crate) fn taken_from(arguments: Vec<OsString>) -> Result<(Option<ClientOptions>, Vec<OsString>), String> {
        let mut found = Self::default();
        let mut rest = Vec::new();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
            let Some(place) = OPTIONS.iter().position(|(option, _)| *option == name) else {
                rest.push(argument);
                continue;
            };
            let next = || arguments.next().map(|value| value.to_string_lossy().into_owned());
            let value = value.map(str::to_owned).or_else(next);
            found.0[place] = Some(value.ok_or_else(|| format!("expected a value after {name}"))?);
        }
        for (value, (_, variable)) in found.0.iter_mut().zip(OPTIONS) {
            let set = || std::env::var(variable).ok().filter(|text| !text.is_empty());
            *value = value.take().or_else(set);
        }
        Ok((found.options()?, rest))
    }

    fn options(self) -> Result<Option<ClientOptions>, String> {
        let [cluster, min_workers, ca, cert, key, name, token_file, part_bytes] = self.0;
        let Some(cluster) = cluster else { return Ok(None) };
        let mut options = ClientOptions::new(Source::parse_list(&cluster)?);
        if let Some(text) = min_workers {
            let wrong = |_| format!("expected a number of workers after --min-workers: {text}");
            options.min_workers = text.parse().map_err(wrong)?;
        }
        if let Some(text) = part_bytes {
            options.bytes_per_partition = limit_bytes(&text).map_err(|error| format!("{error}: {text}"))? as usize;
        }
        let own = match (cert, key) {
            (Some(cert), Some(key)) => Some(CertificateFiles { cert: cert.into(), key: key.into() }),
            (None, None) => None,
            _ => return Err("expected --cluster-cert and --cluster-key together".to_owned()),
        };
        options.tls = ClientTlsFiles { ca: ca.map(PathBuf::from), own, name };
        options.token_file = token_file.map(PathBuf::from);
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &str) -> Result<(Option<ClientOptions>, Vec<String>), String> {
        let (options, rest) = ClusterArguments::taken_from(line.split(' ').map(OsString::from).collect())?;
        Ok((options, rest.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()))
    }

    #[test]
    fn options_of_the_cluster_are_taken_out_of_a_command() -> Result<(), String> {
        let (options, rest) = taken("stepscope-cluster sql a --cluster=h:1,i:2 query --min-workers 2 -f csv")?;
        let options = options.ok_or("no cluster")?;
        assert_eq!((options.sources.len(), options.min_workers), (2, 2));
        assert_eq!(rest, ["stepscope-cluster", "sql", "a", "query", "-f", "csv"]);
        assert!(taken("stepscope-cluster sql a")?.0.is_none());
        for wrong in [
            "x --cluster",
            "x --cluster nowhere",
            "x --cluster a:1 --min-workers many",
            "x --cluster a:1 --cluster-key k",
        ] {
            assert!(taken(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
