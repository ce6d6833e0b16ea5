//! Why there is no answer.

use std::borrow::Cow;
use std::path::PathBuf;

use stepscope_engine::EngineError;
use stepscope_ingest::IngestError;
use stepscope_model::{Exit, Hint};
use stepscope_store::StoreError;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// A trace did not become a source.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Ingesting needs to know where to.
    #[error("no store given")]
    NoStore,
    /// Nothing is at that path.
    #[error("no such file or folder")]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// A store cannot be opened together with other paths.
    #[error("a store is opened alone, without other paths")]
    StoreAmongTraces {
        /// The store.
        path: PathBuf,
    },
    /// A store has no run in it.
    #[error("the store holds no run")]
    EmptyStore {
        /// The store.
        path: PathBuf,
    },
    /// There are several runs and the question is about one.
    #[error("there are {count} runs here, and this question is about one: {names}")]
    SeveralRuns {
        /// How many.
        count: usize,
        /// Their names.
        names: String,
    },
    /// There are several sources and the question is about one.
    #[error("there are {count} recordings here, and this question is about one: {names}")]
    SeveralSources {
        /// How many.
        count: usize,
        /// Their ranks and windows.
        names: String,
    },
    /// No recording has that rank and window.
    #[error("no recording of {what}; there is {names}")]
    NoSuchSource {
        /// What was asked for.
        what: String,
        /// What there is.
        names: String,
    },
    /// The cache folder cannot be used.
    #[error("cannot use the cache: {source}")]
    Cache {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A query of our own gave something else than it should: a bug.
    #[error("an answer of the engine has not the expected form: {0}")]
    Shape(String),
}

impl AnalysisError {
    /// How a command ends that fails with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Ingest(IngestError::Cancelled) => Exit::Interrupted,
            Self::Ingest(IngestError::Arrow(_)) | Self::Shape(_) => Exit::Bug,
            Self::Ingest(_) | Self::Store(_) | Self::NotFound { .. } | Self::EmptyStore { .. } | Self::Cache { .. } => {
                Exit::Unreadable
            }
            Self::Engine(error) => engine_exit(error),
            Self::NoStore
            | Self::StoreAmongTraces { .. }
            | Self::SeveralRuns { .. }
            | Self::SeveralSources { .. }
            | Self::NoSuchSource { .. } => Exit::Usage,
        }
    }

    /// The file it is about, and where in it.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match self {
            Self::Ingest(error) => error.location(),
            Self::NotFound { path }
            | Self::StoreAmongTraces { path }
            | Self::EmptyStore { path }
            | Self::Cache { path, .. } => Some(path.display().to_string()),
            _ => None,
        }
    }
}

fn engine_exit(error: &EngineError) -> Exit {
    match error {
        EngineError::Cancelled => Exit::Interrupted,
        EngineError::Store(_) => Exit::Unreadable,
        EngineError::Bug { .. } | EngineError::Start(_) => Exit::Bug,
        _ => Exit::Usage,
    }
}

impl Hint for AnalysisError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Ingest(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Engine(error) => return error.hint(),
            Self::NoStore => "name a folder to write to: `stepscope ingest PATH --store DIR`".into(),
            Self::NotFound { .. } => "check the path; `-` reads standard input".into(),
            Self::StoreAmongTraces { .. } => {
                "open the store alone, or ingest the traces into it with `stepscope ingest`".into()
            }
            Self::EmptyStore { .. } => "fill it with `stepscope ingest PATH --store DIR`".into(),
            Self::SeveralRuns { .. } => "give the folder of one run, in a store `STORE/runs/NAME`".into(),
            Self::SeveralSources { .. } | Self::NoSuchSource { .. } => "choose with `--rank` and `--window`".into(),
            Self::Cache { .. } => "`--no-cache` works without one; `--store DIR` keeps the result where you say".into(),
            Self::Shape(_) => return None,
        })
    }
}
