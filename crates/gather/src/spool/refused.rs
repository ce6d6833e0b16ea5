//! How many recordings the spool could not take.
//!
//! The length of a file is the number: a file can be made longer without a byte of space, so also on a full disk.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::GatherError;

/// Makes the file while there is space for its name.
pub(super) fn prepare(root: &Path) -> Result<(), GatherError> {
    let path = file(root);
    OpenOptions::new().create(true).append(true).open(&path).map(drop).map_err(GatherError::io("create a file", &path))
}

/// Counts one more. What is refused has an error of its own, so one that cannot be counted is not another.
pub(super) fn add(root: &Path) {
    let longer = || -> io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(file(root))?;
        // Let go of when the file is closed.
        file.lock()?;
        file.set_len(file.metadata()?.len() + 1)?;
        file.sync_all()
    };
    let _ = longer();
}

/// How many there are.
pub(super) fn count(root: &Path) -> Result<u64, GatherError> {
    let path = file(root);
    match fs::metadata(&path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(GatherError::io("read a file", &path)(error)),
    }
}

fn file(root: &Path) -> PathBuf {
    root.join("refused")
}
