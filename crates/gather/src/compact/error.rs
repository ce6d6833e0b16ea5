//! What can go wrong with blocks.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_model::Hint;
use stepscope_store::StoreError;
use stepscope_store::marker::MarkerError;

/// Blocks that cannot be made, checked or deleted.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// An object or a table cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The marker of the store forbids it.
    #[error(transparent)]
    Marker(#[from] MarkerError),
    /// Two writers could not agree on who was first.
    #[error("the object store ignores conditions, expected one that keeps to them: {place}")]
    Unconditional {
        /// The store.
        place: String,
    },
    /// Others wrote manifests all the time.
    #[error("other writers were first {attempts} times: {run}")]
    Contended {
        /// How often it was tried.
        attempts: u32,
        /// The run.
        run: String,
    },
    /// The manifest names a block that is not there.
    #[error("found no block that the manifest names: {key}")]
    BlockGone {
        /// What describes it.
        key: String,
    },
    /// There is nothing to read.
    #[error("found no packs: {run}")]
    NoPacks {
        /// The run.
        run: String,
    },
    /// The file system refused.
    #[error("cannot {action}: {source}: {}", path.display())]
    Io {
        /// What was tried, as a verb and its object.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The system has no random numbers.
    #[error("cannot read random numbers: {0}")]
    Random(String),
    /// The caller ended it.
    #[error("canceled")]
    Canceled,
}

impl CompactError {
    /// Whether the next round may succeed, without a change by the user.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Contended { .. } => true,
            Self::Store(StoreError::Objects(error)) | Self::Marker(MarkerError::Object(error)) => error.is_temporary(),
            _ => false,
        }
    }

    /// Wraps what the file system said about `path`; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl Hint for CompactError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Marker(error) => error.hint(),
            Self::Unconditional { .. } => {
                Some("run one compactor alone, with `stepscope store compact --single-writer`".into())
            }
            Self::Contended { .. } => Some("run fewer compactors of this run, or try again".into()),
            Self::BlockGone { .. } => {
                Some("make manifest and blocks again from the packs with `stepscope store rebuild`".into())
            }
            Self::NoPacks { .. } => Some("check the name of the run, or upload packs first".into()),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("the disk is full: free some space, or set TMPDIR to a folder on another disk".into())
            }
            Self::Io { .. } | Self::Random(_) | Self::Canceled => None,
        }
    }
}
