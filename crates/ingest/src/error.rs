//! Why a trace did not become a source.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use stepscope_formats::FormatError;
use stepscope_model::Hint;
use stepscope_store::StoreError;

/// Why a trace did not become a source. Messages say what happened; `location` says where.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The file cannot be opened.
    #[error("cannot open: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The bytes are not a trace.
    #[error("cannot read trace: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FormatError,
    },
    /// No file of a folder is a trace.
    #[error("no trace in this folder")]
    NoTraces {
        /// The folder.
        path: PathBuf,
    },
    /// Two files claim the same rank at the same time.
    #[error("rank {rank} is in two files whose times overlap; the other is {other}")]
    SameRankTwice {
        /// The rank.
        rank: u32,
        /// The file that came second.
        path: PathBuf,
        /// The file that is there already.
        other: String,
    },
    /// The trace is broken and the user asked to refuse such traces.
    #[error("cannot read trace: {damage}")]
    Damaged {
        /// What is broken.
        damage: String,
        /// Elements that are whole all the same.
        kept: u64,
        /// What they are called.
        element: &'static str,
        /// The file and where in it.
        location: String,
    },
    /// Too many events for one source.
    #[error("more than {limit} events in one trace")]
    TooManyEvents {
        /// How many there may be.
        limit: u64,
        /// The file.
        path: PathBuf,
    },
    /// A name table holds a pattern that is not one.
    #[error("a pattern of the communication names is wrong: {0}")]
    NameTable(#[from] regex::Error),
    /// What does not fit into memory cannot be written beside the store, or read back.
    #[error("cannot use a temporary file: {source}")]
    Spill {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table could not be put together.
    #[error("cannot build a table: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// The user stopped it.
    #[error("stopped; nothing was written for the trace that was being read")]
    Cancelled,
}

impl IngestError {
    /// The file it is about, and where in it.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match self {
            Self::Open { path, .. }
            | Self::Format { path, .. }
            | Self::NoTraces { path }
            | Self::SameRankTwice { path, .. }
            | Self::TooManyEvents { path, .. } => Some(shown(path)),
            Self::Spill { folder, .. } => Some(shown(folder)),
            Self::Damaged { location, .. } => Some(location.clone()),
            Self::NameTable(_) | Self::Store(_) | Self::Arrow(_) | Self::Cancelled => None,
        }
    }
}

/// A path as people call it.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

impl Hint for IngestError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Format { source, .. } => return source.hint(),
            Self::Store(error) => return error.hint(),
            Self::Open { .. } => "check the path; `-` reads standard input".into(),
            Self::NoTraces { .. } => {
                "Stepscope reads Chrome traces as PyTorch's profiler writes them (.json or .json.gz), found by content"
                    .into()
            }
            Self::SameRankTwice { .. } => {
                "they are probably different runs: give one folder a run, or use `--separate-runs`".into()
            }
            Self::Damaged { kept, element, .. } => format!(
                "{kept} {element}s are complete and are kept without `--strict`; the job was probably killed while writing"
            )
            .into(),
            Self::Spill { .. } => {
                "a trace that is larger than `--memory-limit` needs room beside the store: free some, or allow more memory"
                    .into()
            }
            Self::TooManyEvents { .. } => "record fewer steps, or split the trace".into(),
            Self::NameTable(_) | Self::Arrow(_) | Self::Cancelled => return None,
        })
    }
}
