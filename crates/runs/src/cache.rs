//! Stores of traces that were opened directly: found again by what the files are, never by trust.
//!
//! ```text
//! <cache>/lock                     taken for moments: whoever makes, moves or removes anything below holds it
//! <cache>/index/<hash>.json        the files of one question, as they were last seen, and the store that answers it
//! <cache>/stores/<key>/            a store; its `lock` is held by every process that has it open
//! <cache>/stores/<key>/entry.json  which files it was made from, with their digests
//! <cache>/stores/.filling-<key>/   a store that is being filled; its `lock` is held by the process that fills it
//! ```
//! A store is written to disk first and then moved to its place whole, so that a store with a name is always complete.
//! Locks are those of the system, which lets go of them when a process ends, however it ends. Names in `stores` that
//! begin with a dot are temporaries; those of dead processes are swept at the next start.

mod content;
mod entry;
mod fill;
mod find;
mod guard;
mod inputs;
mod manage;
mod moment;
mod remove;
mod trust;

use std::path::{Path, PathBuf};

pub(crate) use fill::{CachePlace, Filling, Published};
pub(crate) use find::CachedStore;
pub(crate) use inputs::{Inputs, Setup};
pub use manage::Clear;
use stepscope_model::arguments;

use crate::error::RunError;

/// What the stores may take together unless `STEPSCOPE_CACHE_LIMIT` says otherwise.
const USUAL_LIMIT_BYTES: u64 = 20_000_000_000;

/// The folder of cached stores, and how large it may grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
    limit_bytes: u64,
}

impl Cache {
    /// The user's cache: `$STEPSCOPE_CACHE`, else `$XDG_CACHE_HOME/stepscope`, else `~/.cache/stepscope`. It is kept
    /// below `$STEPSCOPE_CACHE_LIMIT`, else 20 GB. Without any of these there is none: a folder that all users share is
    /// no place for what is trusted.
    pub fn from_environment() -> Result<Self, RunError> {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || from("HOME").map(|home| home.join(".cache"));
        let own = || from("XDG_CACHE_HOME").or_else(home).map(|folder| folder.join("stepscope"));
        let limit_bytes = match std::env::var("STEPSCOPE_CACHE_LIMIT") {
            Ok(text) if !text.trim().is_empty() => {
                arguments::size_bytes(&text).map_err(|expected| RunError::CacheLimit { expected, value: text })?
            }
            _ => USUAL_LIMIT_BYTES,
        };
        let root = from("STEPSCOPE_CACHE").or_else(own).ok_or(RunError::NoCacheFolder)?;
        Ok(Self::at(&root, limit_bytes))
    }

    /// A cache in a folder; it is made when something is first kept in it.
    #[must_use]
    pub fn at(root: &Path, limit_bytes: u64) -> Self {
        Self { root: root.to_owned(), limit_bytes }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Bytes that the stores may take together.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    fn stores_dir(&self) -> PathBuf {
        self.root.join("stores")
    }

    fn index_dir(&self) -> PathBuf {
        self.root.join("index")
    }

    fn store_dir(&self, key: &str) -> PathBuf {
        self.stores_dir().join(key)
    }

    fn fail(&self) -> impl Fn(std::io::Error) -> RunError {
        let path = self.root.clone();
        move |source| RunError::cache(&path, source)
    }
}
