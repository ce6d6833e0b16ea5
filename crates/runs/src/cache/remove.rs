//! Takes stores away: what dead processes left, what was used longest ago, what the user no longer wants.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use stepscope_store::owned::{self, Claim};

use super::Cache;
use super::entry::{Entry, Known, is_key};
use super::guard::Guard;
use super::inputs::{Inputs, Setup};
use crate::error::RunError;

/// How the folders begin that only wait to be deleted.
const ASIDE: &str = ".trash";

impl Cache {
    /// Removes what processes that were killed left behind. Costs a look at one folder if there is nothing; nobody
    /// waits for it, so what fails is left to the next time.
    pub(super) fn sweep(&self) {
        let temporaries = || self.names().into_iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
        if temporaries().is_empty() {
            return;
        }
        let Ok(guard) = self.guard() else { return };
        let mut dead = Vec::new();
        for name in temporaries() {
            let path = self.stores_dir().join(&name);
            if name.starts_with(ASIDE) {
                dead.push(path);
            } else if path.is_file() {
                // Written under the guard, which we hold, so nobody is writing it.
                let _ = fs::remove_file(&path);
            } else if !matches!(owned::try_claim(&path), Claim::Held) {
                dead.extend(self.put_aside(&guard, &path));
            }
        }
        drop(guard);
        for path in dead {
            let _ = fs::remove_dir_all(path);
        }
    }

    /// Puts stores aside until the others fit the limit, those first that were used longest ago, but none that is open.
    /// The caller deletes them when it has let go of the guard.
    pub(super) fn evict(&self, guard: &Guard) -> Vec<PathBuf> {
        let keys = self.names().into_iter().filter(|name| is_key(name));
        let mut stores: Vec<(SystemTime, String, u64)> = keys
            .map(|key| {
                // A store without an entry is of no use to anybody, so it goes first.
                let entry = Entry::read(&self.store_dir(&key));
                let used = if entry.is_some() { self.last_used(&key) } else { UNIX_EPOCH };
                (used, key, entry.map_or(0, |entry| entry.size_bytes))
            })
            .collect();
        stores.sort();
        let mut total: u64 = stores.iter().map(|(_, _, size_bytes)| size_bytes).sum();
        let mut removed = Vec::new();
        let mut aside = Vec::new();
        for (_, key, size_bytes) in stores {
            if total <= self.limit_bytes {
                break;
            }
            if let Some(path) = self.take_away(guard, &key) {
                aside.push(path);
                removed.push(key);
                total -= size_bytes;
            }
        }
        self.forget(&removed);
        aside
    }

    /// Removes stores that nobody has open; the keys of those that are gone.
    pub(super) fn remove(&self, keys: &[String]) -> io::Result<Vec<String>> {
        let guard = self.guard()?;
        let taken = keys.iter().filter_map(|key| Some((key.clone(), self.take_away(&guard, key)?)));
        let (removed, aside): (Vec<String>, Vec<PathBuf>) = taken.unzip();
        self.forget(&removed);
        drop(guard);
        for path in aside {
            fs::remove_dir_all(path)?;
        }
        Ok(removed)
    }

    /// Removes the store that the files lead to. If somebody has it open it stays, but nothing leads to it any more.
    pub(crate) fn discard(&self, inputs: &Inputs, setup: &Setup) -> Result<(), RunError> {
        let index = self.index_file(inputs, setup);
        if let Some(known) = Known::read(&index) {
            self.remove(&[known.store]).map_err(self.fail())?;
        }
        match fs::remove_file(index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.fail()(error)),
            _ => Ok(()),
        }
    }

    /// When a store was last opened.
    pub(super) fn last_used(&self, key: &str) -> SystemTime {
        let lock = owned::lock_file(&self.store_dir(key));
        fs::metadata(lock).and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH)
    }

    /// Takes a folder out of everybody's sight; to be deleted after the guard, as that may take long.
    pub(super) fn put_aside(&self, _guard: &Guard, path: &Path) -> io::Result<PathBuf> {
        let aside = self.own_name(path, ASIDE);
        fs::rename(path, &aside)?;
        Ok(aside)
    }

    /// A name in the folder of stores that no other process and no other thread chooses.
    pub(super) fn own_name(&self, path: &Path, prefix: &str) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = name.trim_start_matches('.');
        self.stores_dir().join(format!("{prefix}-{}-{now}-{count}-{name}", std::process::id()))
    }

    fn take_away(&self, guard: &Guard, key: &str) -> Option<PathBuf> {
        let path = self.store_dir(key);
        if !path.is_dir() || matches!(owned::try_claim(&path), Claim::Held) {
            return None;
        }
        self.put_aside(guard, &path).ok()
    }

    /// Drops the files of the index that lead to stores that are gone.
    fn forget(&self, keys: &[String]) {
        if keys.is_empty() {
            return;
        }
        for (path, known) in self.index() {
            if known.is_none_or(|known| keys.contains(&known.store)) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The files of the index, and what they say where they can be read.
    pub(super) fn index(&self) -> Vec<(PathBuf, Option<Known>)> {
        let entries = fs::read_dir(self.index_dir()).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), Known::read(&path))).collect()
    }
}
