//! The few file operations whose order makes a commit safe against a crash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Writes a small file so that a reader sees either the old one, the new one, or none, but never a part of one.
/// `temporary` must lie on the same file system as `target`.
pub fn write_atomically(temporary: &Path, target: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = File::create(temporary).map_err(StoreError::io("create a file", temporary))?;
    file.write_all(bytes).map_err(StoreError::io("write a file", temporary))?;
    file.sync_all().map_err(StoreError::io("write a file to disk", temporary))?;
    move_into_place(temporary, target)
}

/// Renames over whatever was there, making the folders on the way.
pub fn move_into_place(temporary: &Path, target: &Path) -> Result<(), StoreError> {
    let folder = parent(target);
    create_folders(folder)?;
    fs::rename(temporary, target).map_err(StoreError::io("move a file into place", target))?;
    sync_folder(folder)
}

/// Makes a folder and those above it, and sees to it that the new names survive a crash.
pub fn create_folders(folder: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.is_dir()).collect();
    fs::create_dir_all(folder).map_err(StoreError::io("create a folder", folder))?;
    missing.into_iter().try_for_each(|made| sync_folder(parent(made)))
}

/// Removes a file that may be missing; true if it was there.
pub(crate) fn remove_if_present(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(parent(path)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("remove a file", path)(error)),
    }
}

/// The entries of a folder, sorted by path; a missing folder has none.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let fail = |error| StoreError::io("list a folder", folder)(error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    paths.sort();
    Ok(paths)
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A rename is only on disk once its folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // Some network file systems cannot do this for folders; there is nothing better to do on them.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other.map_err(StoreError::io("write a folder to disk", folder)),
    }
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> Result<(), StoreError> {
    Ok(())
}
