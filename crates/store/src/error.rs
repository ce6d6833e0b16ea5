//! What can go wrong with a store.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use stepscope_model::Hint;
use stepscope_objects::ObjectError;

use crate::marker::MarkerError;

/// A store that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {action}: {source}: {}", path.display())]
    Io {
        /// What was tried, as a verb and its object.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A table could not be read.
    #[error("cannot read the table {table}: {source}: {}", path.display())]
    Unreadable {
        /// Name of the table.
        table: &'static str,
        /// Its file.
        path: PathBuf,
        /// What the Parquet reader said.
        source: ParquetError,
    },
    /// A table could not be written.
    #[error("cannot write the table {table}: {source}: {}", path.display())]
    Parquet {
        /// Name of the table.
        table: &'static str,
        /// File that was being written.
        path: PathBuf,
        /// What the Parquet writer said.
        source: ParquetError,
    },
    /// The folder holds no runs.
    #[error("not a store: {}", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
    },
    /// The store does not have the run.
    #[error("found no run {run:?} in the store: {}", path.display())]
    NoSuchRun {
        /// Name that was asked for.
        run: String,
        /// Names that the store has.
        known: Vec<String>,
        /// Folder of the store.
        path: PathBuf,
    },
    /// A source record cannot be understood.
    #[error("corrupt source record: {reason}: {}", path.display())]
    CorruptRecord {
        /// What is wrong with it.
        reason: String,
        /// The record.
        path: PathBuf,
    },
    /// A pack is not as it was written.
    #[error("corrupt pack: {reason}: {}", path.display())]
    CorruptPack {
        /// What is wrong with it.
        reason: String,
        /// The pack.
        path: PathBuf,
    },
    /// A pack that a block names is not there any more.
    #[error("found no pack, expected one that a block names: {}", path.display())]
    PackGone {
        /// The pack.
        path: PathBuf,
    },
    /// A run has no recording of a window.
    #[error("found no window {window}: {run}")]
    NoSuchWindow {
        /// The window.
        window: u32,
        /// How many others there are.
        count: usize,
        /// The first of them.
        first: u32,
        /// The last of them.
        last: u32,
        /// The run.
        run: String,
    },
    /// None of the packs of a run can be used.
    #[error("none of {count} packs can be used: {reason}: {}", path.display())]
    NoUsablePack {
        /// How many there are.
        count: usize,
        /// Why the first cannot.
        reason: String,
        /// The first.
        path: PathBuf,
    },
    /// A bucket could not be read or written.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The marker of a store in a bucket cannot be used.
    #[error(transparent)]
    Marker(#[from] MarkerError),
    /// A manifest or a block is not as it was written.
    #[error("corrupt {what}: {reason}: {key}")]
    CorruptObject {
        /// `manifest` or `block`.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
        /// The object.
        key: String,
    },
    /// Another version of Stepscope wrote the store.
    #[error("written by {what} {found}, this Stepscope reads {expected}: {}", path.display())]
    WrongVersion {
        /// `schema` or `derivation`.
        what: &'static str,
        /// Version in the store.
        found: u64,
        /// Version that this build reads.
        expected: u32,
        /// File that says so.
        path: PathBuf,
    },
    /// A source record promises a table whose file is not there.
    #[error("the store lacks a file of the table {table}: {}", path.display())]
    MissingFile {
        /// Name of the table.
        table: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Rows do not have the columns of their table; a bug of the caller.
    #[error("rows do not fit the table {table}: {reason}")]
    WrongColumns {
        /// Name of the table.
        table: &'static str,
        /// First difference.
        reason: String,
    },
    /// Rows came after the table was finished; a bug of the caller.
    #[error("the table {table} is already finished")]
    AlreadyFinished {
        /// Name of the table.
        table: &'static str,
    },
}

impl StoreError {
    /// Whether something could not be written, rather than read.
    #[must_use]
    pub fn is_about_writing(&self) -> bool {
        match self {
            Self::Io { action, .. } => {
                ["create", "write", "move", "remove"].iter().any(|verb| action.starts_with(verb))
            }
            Self::Parquet { .. } => true,
            // Objects are uploaded, created, written or deleted; or else read, listed or looked for.
            Self::Objects(ObjectError::Io { action, .. } | ObjectError::Refused { action, .. }) => {
                ["create", "write", "move", "upload", "delete", "remove"].iter().any(|verb| action.starts_with(verb))
            }
            _ => false,
        }
    }

    /// What is wrong, without the name of the file.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::CorruptPack { reason, .. } => format!("corrupt pack: {reason}"),
            Self::WrongVersion { what, found, expected, .. } => {
                format!("written by {what} {found}, this Stepscope reads {expected}")
            }
            other => other.to_string(),
        }
    }

    /// Whether an object was read that is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Objects(error) if error.is_not_found())
    }

    /// Wraps what the file system said about `path`; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Wraps what the Parquet writer said; for `map_err`.
    pub(crate) fn parquet(table: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_owned();
        move |source| Self::Parquet { table, path, source }
    }

    /// Wraps what the Parquet reader said; for `map_err`.
    pub(crate) fn unreadable(table: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { table, path, source }
    }
}

/// Whether a full disk, or a quota, is at the bottom of an error.
#[must_use]
pub fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let Some(system) = error.downcast_ref::<io::Error>() else {
            next = error.source();
            continue;
        };
        if matches!(system.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return true;
        }
        // Its source would be that of the error inside, which may be the one.
        next = system.get_ref().map(|inside| inside as &(dyn Error + 'static));
    }
    false
}

impl Hint for StoreError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("the disk is full: free some space or put the store elsewhere with `--store`".into())
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some("choose a writable folder with `--store`".into())
                }
                _ => None,
            },
            Self::Objects(error) => error.hint(),
            Self::Marker(error) => error.hint(),
            Self::NoUsablePack { .. } => Some("ingest the traces again, into a run with another name".into()),
            Self::NotAStore { .. } => Some("make one with `stepscope ingest PATH --store DIR`".into()),
            Self::NoSuchRun { known, .. } if known.is_empty() => Some("the store has no runs".into()),
            Self::NoSuchRun { known, .. } => Some(format!("the store has {}", known.join(", ")).into()),
            Self::CorruptRecord { .. }
            | Self::CorruptPack { .. }
            | Self::MissingFile { .. }
            | Self::Unreadable { .. } => Some("ingest the trace again".into()),
            Self::NoSuchWindow { count: 1, first, .. } => Some(format!("the run has window {first}").into()),
            Self::NoSuchWindow { count, first, last, .. } => {
                Some(format!("the run has {count} windows, from {first} to {last}").into())
            }
            Self::PackGone { .. } => {
                Some("its events expired: ask for what sums answer, such as `stepscope steps`".into())
            }
            Self::WrongVersion { found, expected, .. } if *found > u64::from(*expected) => {
                Some("a newer Stepscope wrote the store: update this one, or ingest the trace again".into())
            }
            Self::WrongVersion { what, .. } if what.starts_with("block") => {
                Some("make the blocks again with `stepscope store compact --all`".into())
            }
            Self::WrongVersion { .. } => Some("ingest the trace again into a new store".into()),
            Self::CorruptObject { .. } => {
                Some("make manifest and blocks again from the packs with `stepscope store rebuild`".into())
            }
            Self::Parquet { .. } | Self::WrongColumns { .. } | Self::AlreadyFinished { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_by_its_kind_through_every_layer() {
        let check = |error: Box<dyn Error>, want: bool| assert_eq!(is_disk_full(&*error), want, "{error}");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let table = |source: ParquetError| StoreError::parquet("spans", Path::new("spans.parquet"))(source);
        check(Box::new(full()), true);
        check(Box::new(io::Error::from(io::ErrorKind::QuotaExceeded)), true);
        check(Box::new(table(ParquetError::from(full()))), true);
        check(Box::new(io::Error::other(table(ParquetError::from(full())))), true);
        check(Box::new(StoreError::io("write a file", Path::new("a"))(full())), true);
        check(Box::new(io::Error::from(io::ErrorKind::PermissionDenied)), false);
        // Words are no reason: a trace may hold them.
        check(Box::new(io::Error::other("No space left on device")), false);
    }
}
