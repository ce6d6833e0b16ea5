//! Finds the store of some files: at a glance if they are where and what they were, by their content otherwise.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stepscope_ingest::{IngestError, Progress};
use stepscope_store::owned;

use super::Cache;
use super::content::{self, Method};
use super::entry::{Entry, Known, is_key};
use super::guard::Guard;
use super::inputs::{Inputs, Setup, inode};
use super::trust::is_own;
use crate::error::RunError;

/// A store of the cache that is open: nobody removes it as long as this lives.
#[derive(Debug)]
pub(crate) struct CachedStore {
    root: PathBuf,
    /// What the files are called now, by what they were called when the store was made.
    names: BTreeMap<String, String>,
    _lock: File,
}

impl CachedStore {
    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Gives a file the path under which the user knows it today.
    pub(crate) fn rename(&self, path: &mut String) {
        if let Some(name) = self.names.get(path.as_str()) {
            path.clone_from(name);
        }
    }
}

impl Cache {
    /// The store of files that are where and what they were when they were last opened.
    pub(super) fn find(&self, inputs: &Inputs, setup: &Setup) -> Option<CachedStore> {
        let index = self.index_file(inputs, setup);
        let known = Known::read(&index).filter(|known| is_own(&index) && known.is_current(inputs))?;
        self.open(&known.store, inputs, setup)
    }

    /// The store of files that are new here but hold what other files held: copied, moved or touched ones. The index
    /// learns them. Only files whose names and sizes are known are read.
    pub(super) fn find_by_content(
        &self,
        inputs: &Inputs,
        setup: &Setup,
        progress: &dyn Progress,
    ) -> Result<Option<CachedStore>, RunError> {
        let mut digests = Digests::new(inputs, progress);
        for (key, entry) in self.entries() {
            if inputs.files.is_empty() || !entry.resembles(inputs, setup) {
                continue;
            }
            let contents = entry.files.iter().map(|file| file.content.as_str());
            if !digests.agree(contents)? {
                continue;
            }
            // A file that was read while it changed may agree by chance.
            if Inputs::look(&inputs.roots, inputs.is_flat).ok().flatten().is_none_or(|now| !same_stamps(inputs, &now)) {
                return Ok(None);
            }
            if let Some(found) = self.open(&key, inputs, setup) {
                self.learn(inputs, setup, &key);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Remembers that these files, as they are now, are answered by a store. A full or read-only disk is no reason to
    /// keep back an answer; without the shortcut the next search takes longer.
    fn learn(&self, inputs: &Inputs, setup: &Setup, key: &str) {
        if let Ok(guard) = self.guard() {
            self.learn_under(&guard, inputs, setup, key);
        }
    }

    /// Opens a store by its key and notes the time; `None` if it is not there, not whole, or of other files.
    pub(super) fn open(&self, key: &str, inputs: &Inputs, setup: &Setup) -> Option<CachedStore> {
        let root = self.store_dir(key);
        if !is_own(&root) || !is_own(&Entry::path(&root)) {
            return None;
        }
        // Asked first: opening the lock would make one in a folder that is none of ours.
        let entry = Entry::read(&root).filter(|entry| entry.resembles(inputs, setup))?;
        let lock = owned::hold(&root).ok()?;
        // The store may have been removed, or replaced, between finding and locking it.
        let (held, there) = (lock.metadata().ok()?, fs::metadata(owned::lock_file(&root)).ok()?);
        if inode(&held) != inode(&there) {
            return None;
        }
        // In a cache that can only be read there is no order to keep.
        let _ = lock.set_modified(SystemTime::now());
        let shown = inputs.files.iter().map(|file| file.shown.display().to_string());
        let names = entry.files.into_iter().map(|file| file.shown).zip(shown).collect();
        Some(CachedStore { root, names, _lock: lock })
    }

    /// Every store that says what it is, by key.
    pub(super) fn entries(&self) -> Vec<(String, Entry)> {
        let keys = self.names().into_iter().filter(|name| is_key(name));
        keys.filter_map(|key| Entry::read(&self.store_dir(&key)).map(|entry| (key, entry))).collect()
    }

    /// The names in the folder of stores, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.stores_dir()).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(super) fn index_file(&self, inputs: &Inputs, setup: &Setup) -> PathBuf {
        self.index_dir().join(format!("{}.json", inputs.question(setup)))
    }

    /// Like [`Self::learn`], for whoever holds the lock of the cache already.
    pub(super) fn learn_under(&self, held: &Guard, inputs: &Inputs, setup: &Setup, key: &str) {
        let _ = self.write_whole(held, &self.index_file(inputs, setup), &Known::of(inputs, key).to_json());
    }
}

/// The digests of the files, each made when it is first needed.
struct Digests<'a> {
    inputs: &'a Inputs,
    progress: &'a dyn Progress,
    made: BTreeMap<(usize, bool), String>,
}

impl<'a> Digests<'a> {
    fn new(inputs: &'a Inputs, progress: &'a dyn Progress) -> Self {
        Self { inputs, progress, made: BTreeMap::new() }
    }

    /// Whether every file has the digest that is given for it.
    fn agree<'k>(&mut self, known: impl Iterator<Item = &'k str>) -> Result<bool, RunError> {
        for (place, known) in known.enumerate() {
            let Some(method) = Method::of(known) else { return Ok(false) };
            match self.of(place, method) {
                Ok(digest) if digest == known => {}
                // What cannot be read now is not what was read then; the ingest says so.
                Ok(_) | Err(RunError::Ingest(IngestError::Open { .. })) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn of(&mut self, place: usize, method: Method) -> Result<String, RunError> {
        let key = (place, method == Method::Full);
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        let file = &self.inputs.files[place];
        let shown = file.shown.display().to_string();
        let mut on_bytes = |bytes| {
            self.progress.update(&shown, bytes, Some(file.stamp.size_bytes));
            !self.progress.canceled()
        };
        let digest = content::digest(&file.path, method, &mut on_bytes);
        let digest = digest.map_err(|source| IngestError::Open { path: file.shown.clone(), source })?;
        self.progress.finished_file();
        let digest = digest.ok_or(IngestError::Canceled)?;
        self.made.insert(key, digest.clone());
        Ok(digest)
    }
}

fn same_stamps(before: &Inputs, now: &Inputs) -> bool {
    before.files.iter().map(|file| file.stamp).eq(now.files.iter().map(|file| file.stamp))
}
