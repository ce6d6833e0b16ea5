//! What can go wrong while a simulated job is written.

use std::io;
use std::path::{Path, PathBuf};

use stepscope_store::StoreError;

/// Why a simulated job was not written.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A file or folder could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store did not take something.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SimulateError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
