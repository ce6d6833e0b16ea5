//! Where stores of traces that were opened directly are kept.
//!
//! A cached store is named by a key of everything it depends on: the files by path, size and time of change, and the
//! versions of tables and rules. It is written beside its place and moved there whole, so that a store with a name is
//! always complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use tempfile::TempDir;
use twox_hash::XxHash3_128;

use crate::error::AnalysisError;
use crate::settings::Settings;

/// A place for a store: there already, or to be filled.
pub(crate) enum Place {
    /// A complete store.
    Ready(PathBuf),
    /// A temporary folder beside the place where the store belongs.
    ToFill(Filling),
}

/// A store that is being filled.
pub(crate) struct Filling {
    folder: TempDir,
    place: PathBuf,
}

impl Filling {
    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the store to its place. If somebody else was faster, theirs stays and ours goes.
    pub(crate) fn finish(self) -> Result<PathBuf, AnalysisError> {
        match fs::rename(self.folder.path(), &self.place) {
            Ok(()) => {
                // The folder has moved, so there is nothing left to remove.
                let _ = self.folder.keep();
                Ok(self.place)
            }
            Err(_) if self.place.is_dir() => Ok(self.place),
            Err(source) => Err(AnalysisError::Cache { path: self.place, source }),
        }
    }
}

/// The place of the store for `paths`.
pub(crate) fn place(paths: &[PathBuf], settings: &Settings) -> Result<Place, AnalysisError> {
    let folder = cache_folder().join("stores");
    let fail = |source| AnalysisError::Cache { path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(fail)?;
    let place = folder.join(key(paths, settings)?);
    if place.is_dir() {
        return Ok(Place::Ready(place));
    }
    let folder = tempfile::Builder::new().prefix(".filling-").tempdir_in(&folder).map_err(fail)?;
    Ok(Place::ToFill(Filling { folder, place }))
}

/// `$XDG_CACHE_HOME/stepscope`, else `~/.cache/stepscope`, else a folder for temporary files.
fn cache_folder() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || from("HOME").map(|home| home.join(".cache"));
    from("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir).join("stepscope")
}

fn key(paths: &[PathBuf], settings: &Settings) -> Result<String, AnalysisError> {
    let mut files = BTreeMap::new();
    for path in paths {
        describe(path, &mut files).map_err(|source| AnalysisError::Cache { path: path.clone(), source })?;
    }
    let description = format!("{SCHEMA_VERSION} {DERIVATION_VERSION} {} {files:?}", settings.separate_runs);
    Ok(format!("{:032x}", XxHash3_128::oneshot(description.as_bytes())))
}

/// Size and time of change of every file at or below a path.
fn describe(path: &Path, files: &mut BTreeMap<PathBuf, (u64, u128)>) -> std::io::Result<()> {
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(&path)? {
            describe(&entry?.path(), files)?;
        }
        return Ok(());
    }
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    files.insert(path, (metadata.len(), changed));
    Ok(())
}
