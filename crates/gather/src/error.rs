//! What can go wrong on the way of a recording into a store.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_model::Hint;
use stepscope_model::arguments::Expected;
use stepscope_objects::ObjectError;
use stepscope_store::marker::MarkerError;
use stepscope_store::{StoreError, is_disk_full};

/// A recording that cannot be kept, or a pack that cannot be uploaded.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// Nothing says where the spool is.
    #[error("no spool folder: found neither STEPSCOPE_SPOOL nor XDG_STATE_HOME nor HOME")]
    NoSpoolFolder,
    /// The limit of the spool is not a size.
    #[error("{expected}, found {value:?}: STEPSCOPE_SPOOL_LIMIT")]
    BadLimit {
        /// What was expected.
        expected: Expected,
        /// What the variable holds.
        value: String,
    },
    /// The spool holds as much as it may.
    #[error("the spool is full: found {bytes} bytes, expected at most {limit_bytes}: {}", path.display())]
    Full {
        /// Bytes that it would hold with the recording.
        bytes: u64,
        /// Bytes that it may hold.
        limit_bytes: u64,
        /// The spool.
        path: PathBuf,
    },
    /// The disk of the spool holds as much as it can.
    #[error("the disk of the spool is full: {}", path.display())]
    DiskFull {
        /// The spool.
        path: PathBuf,
        /// What failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The text of a place does not lead back to it, so a later process could not find it.
    #[error("cannot remember this place: {place}")]
    BadPlace {
        /// The place.
        place: String,
    },
    /// Packs in the spool whose place is not known.
    #[error("found no place for these packs: {reason}: {}", path.display())]
    UnknownPlace {
        /// What is wrong.
        reason: String,
        /// The file that should say it.
        path: PathBuf,
    },
    /// The folder of a store is gone, for example because its disk is not mounted.
    #[error("found no folder: {}", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The caller ended it.
    #[error("canceled: {}", path.display())]
    Canceled {
        /// The spool.
        path: PathBuf,
    },
    /// A file of the spool cannot be read or written.
    #[error("cannot {action}: {source}: {}", path.display())]
    Io {
        /// What was tried, as a verb and its object.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The source cannot be read, or its pack cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The place refused.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The place is not a store that can be written to.
    #[error(transparent)]
    Marker(#[from] MarkerError),
}

impl GatherError {
    /// Whether the spool could not take a recording, rather than the recording could not be read.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Full { .. } | Self::DiskFull { .. } | Self::Io { .. } => true,
            Self::Store(error) => error.is_about_writing(),
            _ => false,
        }
    }

    /// Wraps what the file system said about `path`; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// The same error, or the one that names a full disk if that is its reason.
    pub(crate) fn in_spool(self, spool: &Path) -> Self {
        if !self.is_refusal() || matches!(self, Self::DiskFull { .. }) || !is_disk_full(&self) {
            return self;
        }
        Self::DiskFull { path: spool.to_owned(), source: Box::new(self) }
    }
}

impl Hint for GatherError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::NoSpoolFolder => Some("set STEPSCOPE_SPOOL to a folder on a local disk".into()),
            Self::BadLimit { .. } => Some("write it as in `STEPSCOPE_SPOOL_LIMIT=10GB`".into()),
            Self::Full { .. } => Some(
                "check that uploads reach the store, or set STEPSCOPE_SPOOL_LIMIT to a larger size; keep the trace"
                    .into(),
            ),
            Self::DiskFull { .. } => {
                Some("free some space, or set STEPSCOPE_SPOOL to a folder on another disk; keep the trace".into())
            }
            Self::BadPlace { .. } => Some("use a path of UTF-8 text that does not end with a line break".into()),
            Self::UnknownPlace { .. } => {
                Some("write the place into this file, for example `s3://bucket/prefix`, or remove its folder".into())
            }
            Self::NoFolder { .. } => Some("mount its disk, or create the folder".into()),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some("set STEPSCOPE_SPOOL to a writable folder".into())
                }
                _ => None,
            },
            Self::Canceled { .. } => None,
            Self::Store(error) => error.hint(),
            Self::Object(error) => error.hint(),
            Self::Marker(error) => error.hint(),
        }
    }
}
