//! Which workers can be asked now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use url::Url;

use crate::channels::Channels;
use crate::discovery::Source;
use crate::failure::{Code, Failure};

/// How long a look at the workers counts.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A worker that fails this often within this time is left out for as long.
const FAILURES: usize = 2;
const FAILURE_WINDOW: Duration = Duration::from_secs(30);

/// The workers of a cluster.
#[derive(Debug)]
pub(crate) struct Workers {
    sources: Vec<Source>,
    /// The version that they must have.
    version: String,
    channels: Arc<Channels>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    looked: Option<Instant>,
    usable: Vec<Url>,
    /// Why the others cannot be used.
    unusable: Vec<String>,
    failures: BTreeMap<Url, Vec<Instant>>,
}

/// What a look at the workers found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Workers to ask.
    pub(crate) usable: Vec<Url>,
    /// Why others cannot be asked.
    pub(crate) unusable: Vec<String>,
}

impl Workers {
    pub(crate) fn new(sources: Vec<Source>, version: String, channels: Arc<Channels>) -> Self {
        Self { sources, version, channels, seen: Mutex::default() }
    }

    /// The workers that can be asked now, but for some.
    pub(crate) async fn find(&self, left_out: &BTreeSet<Url>) -> Found {
        let is_fresh = self.seen().looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY);
        if !is_fresh {
            self.look().await;
        }
        let seen = self.seen();
        let is_resting = |worker: &Url| seen.failures.get(worker).is_some_and(|failures| is_resting(failures));
        let (resting, awake): (Vec<_>, Vec<_>) = seen.usable.iter().partition(|worker| is_resting(worker));
        let usable = awake.into_iter().filter(|worker| !left_out.contains(worker)).cloned().collect();
        let resting = resting.iter().map(|worker| format!("left out for {FAILURES} failures: {worker}"));
        Found { usable, unusable: seen.unusable.iter().cloned().chain(resting).collect() }
    }

    /// A worker failed.
    pub(crate) fn lost(&self, worker: &Url) {
        self.channels.forget(worker);
        let mut seen = self.seen();
        seen.looked = None;
        let failures = seen.failures.entry(worker.clone()).or_default();
        failures.retain(|failure| failure.elapsed() < FAILURE_WINDOW);
        failures.push(Instant::now());
    }

    async fn look(&self) {
        let scheme = if self.channels.is_encrypted() { "https" } else { "http" };
        let (mut workers, mut unusable) = (BTreeSet::new(), Vec::new());
        for found in join_all(self.sources.iter().map(|source| source.workers(scheme))).await {
            match found {
                Ok(found) => workers.extend(found),
                Err(reason) => unusable.push(reason),
            }
        }
        let checked = join_all(workers.iter().map(|worker| self.check(worker))).await;
        let mut usable = Vec::new();
        for (worker, checked) in workers.into_iter().zip(checked) {
            match checked {
                Ok(()) => usable.push(worker),
                Err(Failure { code, message, worker }) => {
                    unusable.push(format!("{}: {message}: {worker}", code.name()));
                }
            }
        }
        let mut seen = self.seen();
        (seen.looked, seen.usable, seen.unusable) = (Some(Instant::now()), usable, unusable);
    }

    async fn check(&self, worker: &Url) -> Result<(), Failure> {
        let version = self.channels.version_of(worker).await.inspect_err(|_| self.channels.forget(worker))?;
        if version == self.version {
            return Ok(());
        }
        let message = format!("found version {version}, expected {}", self.version);
        Err(Failure::of(Code::OtherVersion, worker, message))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_resting(failures: &[Instant]) -> bool {
    failures.iter().filter(|failure| failure.elapsed() < FAILURE_WINDOW).count() >= FAILURES
}
