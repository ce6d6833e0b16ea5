//! Stores among what the user named.

use std::path::{Path, PathBuf};

use stepscope_store::Store;

/// The store at `path`, or the store and run that `path` is the folder of.
pub(crate) fn as_store(path: &Path) -> Option<(PathBuf, Option<String>)> {
    if Store::is_store(path) {
        return Some((path.to_owned(), None));
    }
    let runs = path.parent()?;
    let root = runs.parent()?;
    let is_run = runs.file_name()? == "runs" && path.join("sources").is_dir() && Store::is_store(root);
    is_run.then(|| (root.to_owned(), path.file_name().map(|name| name.to_string_lossy().into_owned())))
}
