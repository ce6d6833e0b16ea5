//! Fills the cache: one process reads a trace, others that want it wait.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use stepscope_ingest::{IngestError, Progress};
use stepscope_model::SourceRecord;
use stepscope_store::owned::{self, Claim};

use super::content::{self, Method, SAMPLED_FROM_BYTES};
use super::entry::{self, Entry, KnownFile};
use super::guard::{sync_folder, write_synced};
use super::{Cache, CachedStore, Inputs, Setup, trust};
use crate::error::RunError;

/// How often a waiting process looks again.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long it waits before it says so.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the store of some files is, or will be.
#[derive(Debug)]
pub(crate) enum CachePlace {
    /// A complete store.
    Ready(CachedStore),
    /// A folder to fill.
    ToFill(Filling),
}

/// What became of a filled folder.
#[derive(Debug)]
pub(crate) enum Published {
    /// It is in its place.
    Kept(CachedStore),
    /// Its place is taken by a damaged store that somebody has open, so it serves this process only.
    Unkept(Filling),
}

/// A store that is being filled. Unless it is published it goes away with this.
#[derive(Debug)]
pub(crate) struct Filling {
    cache: Cache,
    inputs: Inputs,
    setup: Setup,
    folder: Option<PathBuf>,
    _lock: File,
}

impl Cache {
    /// The store of the files: found, or to be filled by the caller. Waits for another process that fills it.
    pub(crate) fn place(
        &self,
        inputs: &Inputs,
        setup: &Setup,
        progress: &dyn Progress,
    ) -> Result<CachePlace, RunError> {
        self.sweep();
        if let Some(found) = self.find(inputs, setup) {
            return Ok(CachePlace::Ready(found));
        }
        if let Some(found) = self.find_by_content(inputs, setup, progress)? {
            return Ok(CachePlace::Ready(found));
        }
        let started = Instant::now();
        let mut is_told = false;
        loop {
            if let Some(place) = self.find_or_begin(inputs, setup)? {
                return Ok(place);
            }
            if progress.canceled() {
                return Err(IngestError::Canceled.into());
            }
            if !is_told && started.elapsed() >= PATIENCE {
                progress.notice("another stepscope process is reading this trace; waiting");
                is_told = true;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// `None` while somebody else fills it.
    fn find_or_begin(&self, inputs: &Inputs, setup: &Setup) -> Result<Option<CachePlace>, RunError> {
        let guard = self.guard().map_err(self.fail())?;
        if let Some(found) = self.find(inputs, setup) {
            return Ok(Some(CachePlace::Ready(found)));
        }
        let folder = self.store_dir(&format!(".filling-{}", inputs.key(setup)));
        let mut dead = None;
        if folder.exists() {
            if let Claim::Held = owned::try_claim(&folder) {
                return Ok(None);
            }
            // Its process was killed: this one takes over, from the beginning.
            dead = Some(self.put_aside(&guard, &folder).map_err(self.fail())?);
        }
        let begun = trust::private().create(&folder).and_then(|()| owned::hold(&folder));
        let lock = begun.map_err(|error| {
            let _ = fs::remove_dir_all(&folder);
            RunError::cache(&folder, error)
        })?;
        drop(guard);
        if let Some(dead) = dead {
            let _ = fs::remove_dir_all(dead);
        }
        let (inputs, setup) = (inputs.clone(), setup.clone());
        Ok(Some(CachePlace::ToFill(Filling { cache: self.clone(), inputs, setup, folder: Some(folder), _lock: lock })))
    }
}

impl Filling {
    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new(""))
    }

    /// Moves the store to its place and remembers what it was made from. The files must not have changed since.
    pub(crate) fn publish(mut self, sources: &[&SourceRecord]) -> Result<Published, RunError> {
        let key = self.inputs.key(&self.setup);
        let place = self.cache.store_dir(&key);
        let fail = |source| RunError::cache(&place, source);
        let Some(folder) = self.folder.clone() else { return Ok(Published::Unkept(self)) };
        let entry = self.entry(&folder, sources).map_err(fail)?;
        write_synced(&Entry::path(&folder), &entry.to_json()).map_err(fail)?;
        sync_folder(&folder).map_err(fail)?;

        let guard = self.cache.guard().map_err(fail)?;
        let mut replaced = None;
        if place.exists() {
            if let Claim::Held = owned::try_claim(&place) {
                drop(guard);
                return self.detach().map(Published::Unkept);
            }
            replaced = Some(self.cache.put_aside(&guard, &place).map_err(fail)?);
        }
        fs::rename(&folder, &place).map_err(fail)?;
        self.folder = None;
        sync_folder(&self.cache.stores_dir()).map_err(fail)?;
        self.cache.learn_under(&guard, &self.inputs, &self.setup, &key);
        let gone = || RunError::cache(&place, io::ErrorKind::NotFound.into());
        let store = self.cache.open(&key, &self.inputs, &self.setup).ok_or_else(gone)?;
        let evicted = self.cache.evict(&guard);
        drop(guard);
        for dead in evicted.into_iter().chain(replaced) {
            let _ = fs::remove_dir_all(dead);
        }
        Ok(Published::Kept(store))
    }

    /// Keeps what was filled for this process alone, out of the way of others that want to fill the same place.
    pub(crate) fn detach(mut self) -> Result<Self, RunError> {
        if let Some(folder) = self.folder.take() {
            let own = self.cache.own_name(&folder, ".filling-own");
            let guard = self.cache.guard().map_err(|source| RunError::cache(&folder, source))?;
            let moved = fs::rename(&folder, &own);
            drop(guard);
            self.folder = Some(if moved.is_ok() { own } else { folder.clone() });
            moved.map_err(|source| RunError::cache(&folder, source))?;
        }
        Ok(self)
    }

    fn entry(&self, folder: &Path, sources: &[&SourceRecord]) -> io::Result<Entry> {
        let files = self.inputs.files.iter().map(|file| {
            let shown = file.shown.display().to_string();
            let size_bytes = file.stamp.size_bytes;
            let source = sources.iter().find(|source| source.path == shown && source.bytes_in == size_bytes);
            let content = match source {
                Some(source) if size_bytes < SAMPLED_FROM_BYTES => content::full(&source.digest),
                _ => {
                    // No source of its own: the same content as another file, or no trace at all, which its beginning
                    // has shown already.
                    let is_double = sources.iter().any(|source| source.bytes_in == size_bytes);
                    let is_full = is_double && size_bytes < SAMPLED_FROM_BYTES;
                    let method = if is_full { Method::Full } else { Method::Sampled };
                    content::digest(&file.path, method, &mut |_| true)?.unwrap_or_default()
                }
            };
            Ok(KnownFile { shown, name: file.name.clone(), size_bytes, content })
        });
        Ok(Entry {
            setup: self.setup.as_text().to_owned(),
            stepscope: env!("CARGO_PKG_VERSION").to_owned(),
            roots: entry::roots(&self.inputs),
            files: files.collect::<io::Result<_>>()?,
            events_in: sources.iter().map(|source| source.events_in).sum(),
            size_bytes: folder_bytes(folder)?,
        })
    }
}

impl Drop for Filling {
    /// Moved aside first: at its old name somebody may begin anew while this one is being removed.
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        let aside = self.cache.guard().and_then(|guard| self.cache.put_aside(&guard, &folder));
        let _ = fs::remove_dir_all(aside.unwrap_or(folder));
    }
}

fn folder_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
