//! Objects in a folder, with the same meaning as in a bucket: an object is there as a whole or not at all, also after a
//! crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use crate::entry::{Entry, Put};
use crate::error::ObjectError;
use crate::watch::{UNWATCHED, Watch};

/// How names of files begin that are not objects yet.
const TEMPORARY: &str = ".tmp-";

/// Bytes between two looks at the watch.
const STRIDE: usize = 1 << 20;

/// Objects below a folder, which need not exist before the first is written.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn put_new(&self, key: &str, bytes: &Bytes) -> Result<Put, ObjectError> {
        self.create(key, &mut &bytes[..], bytes.len() as u64, UNWATCHED)
    }

    pub(crate) fn is_created(&self, key: &str, bytes: &Bytes) -> Result<bool, ObjectError> {
        match self.put_new(key, bytes) {
            Ok(put) => Ok(put == Put::Created),
            Err(ObjectError::Taken { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn put_file(&self, key: &str, file: &File, name: &Path, watch: Watch<'_>) -> Result<Put, ObjectError> {
        let size = file.metadata().map_err(ObjectError::io("read a file", name))?.len();
        let mut file = file;
        self.create(key, &mut file, size, watch)
    }

    pub(crate) fn put(&self, key: &str, bytes: &Bytes) -> Result<(), ObjectError> {
        let path = self.path(key);
        let temporary = self.write_temporary(key, &path, &mut &bytes[..], UNWATCHED)?;
        let moved = fs::rename(&temporary, &path).map_err(ObjectError::io("move a file into place", &path));
        if moved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        moved?;
        sync_parent(&path)
    }

    pub(crate) fn get(&self, key: &str, watch: Watch<'_>) -> Result<Bytes, ObjectError> {
        let path = self.path(key);
        let mut file = self.open(key, &path)?;
        let mut bytes = Vec::new();
        self.copy(key, &path, &mut file, &mut bytes, watch)?;
        Ok(bytes.into())
    }

    pub(crate) fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ObjectError> {
        let path = self.path(key);
        let mut file = self.open(key, &path)?;
        let mut read = |range: &Range<u64>| {
            let length = range.end.saturating_sub(range.start);
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(range.start))?;
            (&mut file).take(length).read_to_end(&mut bytes)?;
            Ok(Bytes::from(bytes))
        };
        ranges.iter().map(|range| read(range).map_err(ObjectError::io("read a file", &path))).collect()
    }

    pub(crate) fn head(&self, key: &str) -> Result<Option<Entry>, ObjectError> {
        let path = self.path(key);
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => Ok(Some(entry(key.to_owned(), &found))),
            Ok(_) => Ok(None),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(ObjectError::io("look for a file", &path)(error)),
        }
    }

    pub(crate) fn list(&self, prefix: &str, watch: Watch<'_>) -> Result<Vec<Entry>, ObjectError> {
        let mut found = Vec::new();
        let mut open = vec![(self.path(prefix), prefix.to_owned())];
        while let Some((folder, key)) = open.pop() {
            if watch(0).is_break() {
                return Err(ObjectError::Canceled { at: self.name_of(prefix) });
            }
            let failed = |error| ObjectError::io("list a folder", &folder)(error);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(failed(error)),
            };
            for item in entries {
                let item = item.map_err(failed)?;
                let name = item.file_name();
                // Other names are not keys: nothing here could have written them.
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
                let key = if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") };
                // A file that went away since it was listed is not there.
                let Ok(metadata) = fs::metadata(item.path()) else { continue };
                if metadata.is_dir() {
                    open.push((item.path(), key));
                } else {
                    found.push(entry(key, &metadata));
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn folders(&self, prefix: &str) -> Result<Vec<String>, ObjectError> {
        let folder = self.path(prefix);
        let failed = |error| ObjectError::io("list a folder", &folder)(error);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        for item in entries {
            let item = item.map_err(failed)?;
            let name = item.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if item.path().is_dir() {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Ok(()) => sync_parent(&path),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(ObjectError::io("remove a file", &path)(error)),
        }
    }

    /// Writes under another name, and gives the file its own name only if nothing has it.
    fn create(&self, key: &str, from: &mut dyn Read, size: u64, watch: Watch<'_>) -> Result<Put, ObjectError> {
        let path = self.path(key);
        let temporary = self.write_temporary(key, &path, from, watch)?;
        let linked = match fs::hard_link(&temporary, &path) {
            // Some file systems have no links. Then the last of two writers wins, with the same content.
            Err(error) if !path.exists() && error.kind() != io::ErrorKind::AlreadyExists => {
                fs::rename(&temporary, &path)
            }
            outcome => outcome,
        };
        let _ = fs::remove_file(&temporary);
        match linked {
            Ok(()) => sync_parent(&path).map(|()| Put::Created),
            Err(_) if path.is_file() => {
                let found = fs::metadata(&path).map_err(ObjectError::io("look for a file", &path))?.len();
                if found != size {
                    return Err(ObjectError::Taken { found, expected: size, at: self.name_of(key) });
                }
                Ok(Put::Found)
            }
            Err(error) => Err(ObjectError::io("create a file", &path)(error)),
        }
    }

    /// Writes a file beside `path`, down to the disk.
    fn write_temporary(
        &self,
        key: &str,
        path: &Path,
        from: &mut dyn Read,
        watch: Watch<'_>,
    ) -> Result<PathBuf, ObjectError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().unwrap_or(&self.root);
        create_folders(folder)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{TEMPORARY}{}-{number}", std::process::id()));
        let written = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&temporary)
                .map_err(ObjectError::io("create a file", &temporary))?;
            self.copy(key, &temporary, from, &mut file, watch)?;
            file.sync_all().map_err(ObjectError::io("write a file to disk", &temporary))
        };
        match { written }() {
            Ok(()) => Ok(temporary),
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                Err(error)
            }
        }
    }

    fn copy(
        &self,
        key: &str,
        path: &Path,
        from: &mut dyn Read,
        to: &mut dyn Write,
        watch: Watch<'_>,
    ) -> Result<(), ObjectError> {
        let mut done = 0;
        loop {
            let count = io::copy(&mut from.take(STRIDE as u64), to).map_err(ObjectError::io("copy a file", path))?;
            done += count;
            if watch(done).is_break() {
                return Err(ObjectError::Canceled { at: self.name_of(key) });
            }
            if count < STRIDE as u64 {
                return Ok(());
            }
        }
    }

    fn open(&self, key: &str, path: &Path) -> Result<File, ObjectError> {
        match File::open(path) {
            Ok(file) if path.is_file() => Ok(file),
            Ok(_) => Err(ObjectError::NotFound { at: self.name_of(key) }),
            Err(error) if is_missing(&error) => Err(ObjectError::NotFound { at: self.name_of(key) }),
            Err(error) => Err(ObjectError::io("open a file", path)(error)),
        }
    }

    /// Keys were checked: none of their parts leads out of the folder.
    fn path(&self, key: &str) -> PathBuf {
        key.split('/').filter(|part| !part.is_empty()).fold(self.root.clone(), |path, part| path.join(part))
    }

    fn name_of(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }
}

fn entry(key: String, metadata: &fs::Metadata) -> Entry {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    Entry { key, size_bytes: metadata.len(), modified_ns }
}

/// A file where a folder of the key should be means that there is no such object either.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes a folder and those above it, so that their names survive a crash.
fn create_folders(folder: &Path) -> Result<(), ObjectError> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.is_dir()).collect();
    fs::create_dir_all(folder).map_err(ObjectError::io("create a folder", folder))?;
    missing.into_iter().try_for_each(sync_parent)
}

/// A new name is only on disk once its folder is.
#[cfg(unix)]
fn sync_parent(path: &Path) -> Result<(), ObjectError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems cannot do this for folders; there is nothing better to do on them.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        outcome => outcome.map_err(ObjectError::io("write a folder to disk", folder)),
    }
}

#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> Result<(), ObjectError> {
    Ok(())
}
