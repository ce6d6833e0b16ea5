//! A piece of a table: a Parquet file of its own, or one inside of an object.

use std::path::{Path, PathBuf};

use stepscope_model::Table;
use stepscope_objects::{Bucket, Part};

/// Where a Parquet file of a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// An object, by its key. It may be replaced while the run is open.
    File(String),
    /// A part of an object, which never changes.
    Part(Part),
}

impl TablePart {
    pub(crate) fn file(path: &Path) -> Self {
        let parts: Vec<_> = path.iter().map(std::ffi::OsStr::to_string_lossy).collect();
        Self::File(parts.join("/"))
    }

    pub(crate) fn part(part: Part) -> Self {
        Self::Part(part)
    }

    /// Its path for the engine, below the place of the store.
    #[must_use]
    pub fn path(&self, table: &Table) -> String {
        match self {
            Self::File(key) => key.clone(),
            Self::Part(part) => part.path(&format!("{}.parquet", table.name)),
        }
    }
}

/// The name of an object in errors.
pub(crate) fn shown(bucket: &Bucket, key: &str) -> PathBuf {
    match bucket.place().folder() {
        Some(folder) => folder.join(key),
        None if key.is_empty() => bucket.place().to_string().into(),
        None => format!("{}/{key}", bucket.place()).into(),
    }
}
