//! The lock of the whole cache, and the small files that are written under it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value as Json;

use super::Cache;

/// Held while anything is made, moved or removed, for moments only: nobody can be half way through any of it then.
pub(super) struct Guard {
    _lock: File,
}

impl Cache {
    /// Waits for the lock of the cache.
    pub(super) fn guard(&self) -> io::Result<Guard> {
        self.make_folders()?;
        let lock = File::options().create(true).truncate(false).write(true).open(self.root.join("lock"))?;
        match lock.lock() {
            // A file system without locks: the last one to move a store wins, and no store is ever half there.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            other => other?,
        }
        Ok(Guard { _lock: lock })
    }

    /// Writes a file so that it is there entirely or not at all, whatever happens.
    pub(super) fn write_whole(&self, _guard: &Guard, target: &Path, json: &Json) -> io::Result<()> {
        // Nobody else writes one at this moment, so one name is enough, and a sweep knows what to do with it.
        let temporary = self.stores_dir().join(".tmp-index");
        let written = write_synced(&temporary, json).and_then(|()| fs::rename(&temporary, target));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        sync_folder(&self.index_dir())
    }
}

/// Writes a file and waits until the disk has it.
pub(super) fn write_synced(path: &Path, json: &Json) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(format!("{json}\n").as_bytes())?;
    file.sync_all()
}

/// A new name in a folder is on disk once the folder is.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot do this for folders; there is nothing better to do on them.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        Err(_) if cfg!(not(unix)) => Ok(()),
        other => other,
    }
}
