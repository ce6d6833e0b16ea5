//! Why a trace did not become a source.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use stepscope_formats::FormatError;
use stepscope_model::{Hint, SkippedFile, skipped_sentences};
use stepscope_objects::ObjectError;
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
        /// What it holds instead.
        skipped: Vec<SkippedFile>,
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
    #[error("a pattern of a name table is wrong: {0}")]
    NameTable(#[from] regex::Error),
    /// What does not fit into memory cannot be written beside the store, or read back.
    #[error("cannot use a temporary file: {source}")]
    Spill {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A row that waited in memory or in a temporary file is not what was put there.
    #[error("cannot read back a spilled row: {source}")]
    UnreadableRow {
        /// Where the temporary files are.
        folder: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bucket cannot be read.
    #[error(transparent)]
    Objects(ObjectError),
    /// The user stopped it.
    #[error("stopped; nothing was written for the trace that was being read")]
    Canceled,
}

impl IngestError {
    /// The file it is about, and where in it.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match self {
            Self::Open { path, .. }
            | Self::Format { path, .. }
            | Self::NoTraces { path, .. }
            | Self::TooManyEvents { path, .. } => Some(shown(path)),
            Self::Spill { folder, .. } | Self::UnreadableRow { folder, .. } => Some(shown(folder)),
            Self::Damaged { location, .. } => Some(location.clone()),
            Self::NameTable(_) | Self::Store(_) | Self::Objects(_) | Self::Canceled => None,
        }
    }
}

impl IngestError {
    /// What to say about a file of a folder that cannot become a source while others can; `None` when the error is not
    /// about the file.
    pub(crate) fn as_skipped(&self) -> Option<SkippedFile> {
        let (path, what, is_unreadable) = match self {
            Self::Open { path, source } => (path, io_words(source), true),
            Self::Format { path, source } => match source {
                FormatError::Io(error) => (path, io_words(error), true),
                FormatError::Empty => (path, "empty".to_owned(), true),
                FormatError::Unrecognized(kind) | FormatError::NoEvents { looks_like: Some(kind) } => {
                    (path, kind.to_string(), false)
                }
                FormatError::NoEvents { looks_like: None } => (path, "JSON without traceEvents".to_owned(), false),
                FormatError::Refused { reason, .. } => (path, reason.clone(), false),
                FormatError::Stopped => return None,
            },
            _ => return None,
        };
        Some(SkippedFile { path: shown(path), what, is_unreadable })
    }

    /// Whether it is the system that refused, which it may not the next time.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Format { source: FormatError::Io(_), .. })
    }
}

/// What the system said, without its number.
pub(crate) fn io_words(error: &std::io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
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
            Self::Objects(error) => return error.hint(),
            Self::Open { .. } => "check the path; `-` reads standard input".into(),
            Self::NoTraces { skipped, .. } if !skipped.is_empty() => skipped_sentences(skipped).join("; ").into(),
            Self::NoTraces { .. } => {
                "the folder is empty; Stepscope reads Chrome traces as PyTorch's profiler writes them (.json or .json.gz)"
                    .into()
            }
            Self::Damaged { kept, element, .. } => format!(
                "{kept} {element}s are complete and are kept without `--strict`; the job was probably killed while writing"
            )
            .into(),
            Self::Spill { .. } => {
                "a trace larger than `--memory-limit` needs disk space next to the store: free some, or raise `--memory-limit`"
                    .into()
            }
            Self::UnreadableRow { .. } => {
                "check the disk and read the trace again; if it fails again, report this with the trace".into()
            }
            Self::TooManyEvents { .. } => "record fewer steps, or split the trace".into(),
            Self::NameTable(_) | Self::Canceled => return None,
        })
    }
}
