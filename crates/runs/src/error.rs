//! Why there is no answer.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_engine::EngineError;
use stepscope_gather::{CompactError, GatherError};
use stepscope_ingest::IngestError;
use stepscope_model::{Exit, Expected, Hint, SkippedFile};
use stepscope_store::{StoreError, is_disk_full};

/// Why a run is not open, or gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A trace did not become a source.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A recording cannot be kept for its upload.
    #[error(transparent)]
    Gather(#[from] GatherError),
    /// Blocks cannot be made, checked or deleted.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// Recordings could not be uploaded.
    #[error("cannot upload {}: {}: {place}", recordings(*left), source.as_ref().map_or_else(|| "canceled".to_owned(), ToString::to_string))]
    NotUploaded {
        /// How many are in the spool yet.
        left: u64,
        /// Where they were to go.
        place: String,
        /// Why the first was not uploaded; `None` if the user ended it.
        source: Option<Box<GatherError>>,
    },
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
    #[error("found a store among other paths, expected it alone")]
    StoreAmongTraces {
        /// The store.
        path: PathBuf,
    },
    /// A store has no run in it.
    #[error("found no run in the store")]
    EmptyStore {
        /// The store.
        path: PathBuf,
    },
    /// There are several runs and the question is about one.
    #[error("found {count} runs, expected one: {names}")]
    SeveralRuns {
        /// How many.
        count: usize,
        /// Their names.
        names: String,
        /// Why files of one folder are several runs.
        reason: Option<String>,
    },
    /// No run has that name.
    #[error("found no run {name}, expected one of: {names}")]
    NoSuchRun {
        /// What was asked for.
        name: String,
        /// What there is.
        names: String,
    },
    /// There are several sources and the question is about one.
    #[error("found {count} traces, expected one: {names}")]
    SeveralSources {
        /// How many.
        count: usize,
        /// Their ranks and windows.
        names: String,
    },
    /// No recording has that rank and window.
    #[error("found no trace of {what}, expected one of: {names}")]
    NoSuchSource {
        /// What was asked for.
        what: String,
        /// What there is.
        names: String,
    },
    /// No recording has these steps.
    #[error("found no step {asked}{}", found.as_ref().map(|found| format!(", expected {found}")).unwrap_or_default())]
    NoSuchStep {
        /// What was asked for.
        asked: String,
        /// The steps that there are.
        found: Option<String>,
    },
    /// A file cannot be written.
    #[error("cannot write the output: {}", why(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What would be written is what is read.
    #[error("the output is an input, expected another path: {}", input.display())]
    OutputIsInput {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// Several recordings were to be written to one file.
    #[error("found {count} traces, expected one for one file")]
    SeveralToOneFile {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
    },
    /// An analysis cannot group its rows so.
    #[error("{analysis} cannot be grouped by {grouping}")]
    NoSuchGrouping {
        /// What was asked for.
        grouping: String,
        /// Which analysis.
        analysis: &'static str,
        /// What there is.
        known: Vec<String>,
    },
    /// A part is asked for by steps or times, of sums that have none.
    #[error("a cProfile profile has no steps and no timestamps to select by")]
    NoTimes,
    /// The cache folder cannot be used.
    #[error("cannot use the cache: {source}")]
    Cache {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing says where the user keeps things.
    #[error("no cache folder: found neither STEPSCOPE_CACHE nor XDG_CACHE_HOME nor HOME")]
    NoCacheFolder,
    /// Somebody else may have written to the cache.
    #[error("the cache folder is not private: {why}")]
    UntrustedCache {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// `STEPSCOPE_CACHE_LIMIT` is no size.
    #[error("STEPSCOPE_CACHE_LIMIT: {expected}, found {value}")]
    CacheLimit {
        /// What a size is.
        expected: Expected,
        /// What it says.
        value: String,
    },
    /// The cache has no such store.
    #[error("found no cached trace with this path or key: {what}")]
    NotCached {
        /// What was asked for.
        what: String,
    },
    /// There is no room for the store.
    #[error("the disk is full")]
    DiskFull {
        /// Where it was being written.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
    },
    /// Somebody wrote to a trace while it was read, and the user asked to refuse what is not whole.
    #[error("the file changed while it was read; the job may still be writing it")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A query of our own gave something else than it should: a bug.
    #[error("the engine returned an unexpected result: {0}")]
    Shape(String),
}

/// What to do about a full disk, by what was being written there.
pub(crate) const CACHE_FULL: &str = "free some space, clear the cache with `stepscope cache clear --all`, move it with \
                                     STEPSCOPE_CACHE, or choose a folder with `--store DIR`";
pub(crate) const TEMPORARY_FULL: &str = "free some space, or set TMPDIR to a folder with more space";
pub(crate) const STORE_FULL: &str = "free some space, or put the store elsewhere with `--store DIR`";

impl RunError {
    /// Whether the same may succeed later, without a change by the user.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Compact(error) => error.is_temporary(),
            Self::Store(StoreError::Objects(error)) => error.is_temporary(),
            _ => false,
        }
    }

    /// Wraps what the file system said about the cache.
    pub(crate) fn cache(path: &Path, source: io::Error) -> Self {
        Self::Cache { path: path.to_owned(), source }.at_place(path, CACHE_FULL)
    }

    /// Wraps what the file system said about an output.
    #[must_use]
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Says plainly that the disk is full if that is at the bottom of it; a writer of tables wraps it in words of its own.
    pub(crate) fn at_place(self, path: &Path, hint: &'static str) -> Self {
        if is_disk_full(&self) { Self::DiskFull { path: path.to_owned(), hint } } else { self }
    }

    /// Whether a cache cannot be used, so that a temporary store must do.
    pub(crate) fn is_about_cache(&self) -> bool {
        matches!(self, Self::NoCacheFolder | Self::UntrustedCache { .. }) || self.exit() == Exit::Unwritable
    }

    /// Why a cache cannot be used, without saying again that it cannot.
    pub(crate) fn why_uncached(&self) -> String {
        match self {
            Self::NoCacheFolder => "STEPSCOPE_CACHE, XDG_CACHE_HOME and HOME are not set".to_owned(),
            Self::UntrustedCache { why, .. } => (*why).to_owned(),
            Self::Cache { source, .. } => why(source),
            other => other.to_string(),
        }
    }

    /// Whether the store itself is broken, so that reading the trace again helps.
    pub(crate) fn is_broken_store(&self) -> bool {
        matches!(self, Self::Store(_) | Self::EmptyStore { .. } | Self::Engine(EngineError::Store(_)))
    }

    /// Whether a folder was looked at that holds no trace.
    #[must_use]
    pub fn is_without_traces(&self) -> bool {
        matches!(self, Self::Ingest(IngestError::NoTraces { .. }))
    }

    /// What the folder holds instead of traces.
    #[must_use]
    pub fn skipped_files(&self) -> &[SkippedFile] {
        match self {
            Self::Ingest(IngestError::NoTraces { skipped, .. }) => skipped,
            _ => &[],
        }
    }

    /// How a command ends that fails with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Ingest(IngestError::Canceled)
            | Self::NotUploaded { source: None, .. }
            | Self::Compact(CompactError::Canceled) => Exit::Interrupted,
            Self::Ingest(IngestError::Store(StoreError::WrongColumns { .. })) | Self::Shape(_) => Exit::Bug,
            Self::Ingest(IngestError::Spill { .. } | IngestError::UnreadableRow { .. })
            | Self::Cache { .. }
            | Self::DiskFull { .. }
            | Self::Gather(_)
            | Self::Compact(CompactError::Io { .. } | CompactError::Contended { .. })
            | Self::NotUploaded { .. }
            | Self::Write { .. } => Exit::Unwritable,
            Self::Ingest(IngestError::Store(error)) | Self::Store(error) if error.is_about_writing() => {
                Exit::Unwritable
            }
            Self::Ingest(_)
            | Self::Store(_)
            | Self::Compact(_)
            | Self::NotFound { .. }
            | Self::EmptyStore { .. }
            | Self::UntrustedCache { .. }
            | Self::Changed { .. } => Exit::Unreadable,
            Self::Engine(error) => engine_exit(error),
            Self::NoStore
            | Self::NoCacheFolder
            | Self::CacheLimit { .. }
            | Self::NotCached { .. }
            | Self::StoreAmongTraces { .. }
            | Self::SeveralRuns { .. }
            | Self::NoSuchRun { .. }
            | Self::SeveralSources { .. }
            | Self::NoSuchSource { .. }
            | Self::NoSuchGrouping { .. }
            | Self::NoSuchStep { .. }
            | Self::NoTimes
            | Self::OutputIsInput { .. }
            | Self::SeveralToOneFile { .. } => Exit::Usage,
        }
    }

    /// The file it is about, and where in it.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match self {
            Self::Ingest(error) => error.location(),
            Self::NotFound { path }
            | Self::Write { path, .. }
            | Self::OutputIsInput { path, .. }
            | Self::SeveralToOneFile { path, .. }
            | Self::StoreAmongTraces { path }
            | Self::EmptyStore { path }
            | Self::DiskFull { path, .. }
            | Self::UntrustedCache { path, .. }
            | Self::Changed { path }
            | Self::Cache { path, .. } => Some(path.display().to_string()),
            _ => None,
        }
    }
}

fn recordings(count: u64) -> String {
    if count == 1 { "1 recording".to_owned() } else { format!("{count} recordings") }
}

/// What the file system said, in one form wherever it happens.
fn why(error: &io::Error) -> String {
    if is_disk_full(error) { "the disk is full".to_owned() } else { error.to_string() }
}

fn engine_exit(error: &EngineError) -> Exit {
    match error {
        EngineError::Canceled => Exit::Interrupted,
        EngineError::OutOfMemory { .. } => Exit::OutOfMemory,
        EngineError::DiskFull | EngineError::Spill { .. } => Exit::Unwritable,
        EngineError::Store(_) | EngineError::Objects { .. } | EngineError::NotUploaded(_) | EngineError::Runner(_) => {
            Exit::Unreadable
        }
        EngineError::Bug { .. } | EngineError::Start(_) => Exit::Bug,
        _ => Exit::Usage,
    }
}

impl Hint for RunError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Ingest(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Engine(error) => return error.hint(),
            Self::Gather(error) => return error.hint(),
            Self::Compact(error) => return error.hint(),
            Self::NotUploaded { source, .. } => {
                let stays = "what is not uploaded stays in the spool; `stepscope store upload` sends it";
                match source.as_ref().and_then(|source| source.hint()) {
                    Some(hint) => format!("{hint}; {stays}").into(),
                    None => stays.into(),
                }
            }
            Self::NoStore => "name a folder to write to: `stepscope ingest PATH --store DIR`".into(),
            Self::NotFound { .. } => "check the path; `-` reads standard input".into(),
            Self::StoreAmongTraces { .. } => {
                "open the store alone, or ingest the traces into it with `stepscope ingest`".into()
            }
            Self::EmptyStore { .. } => "fill it with `stepscope ingest PATH --store DIR`".into(),
            Self::SeveralRuns { reason, .. } => {
                let why = reason.as_ref().map(|reason| format!("{reason}; ")).unwrap_or_default();
                format!("{why}choose one with `--run NAME`, or show all with `stepscope open PATH`").into()
            }
            Self::NoSuchRun { .. } => "choose one of them with `--run NAME`; a part of the name is enough".into(),
            Self::NoSuchStep { found: Some(_), .. } => {
                "steps are numbered as in the trace: 16 is ProfilerStep#16; without numbers they count from 0".into()
            }
            Self::NoSuchStep { found: None, .. } => {
                "the trace has no steps; call `prof.step()` after each iteration".into()
            }
            Self::Write { source, .. } if is_disk_full(source) => "free some space, or write to another disk".into(),
            Self::Write { .. } => "name a file in a writable folder".into(),
            Self::OutputIsInput { .. } => "choose a path outside of the inputs".into(),
            Self::SeveralToOneFile { .. } => "name a folder, for example `-o parts/`, or choose with `--rank` and `--window`".into(),
            Self::NoSuchGrouping { known, .. } if known.is_empty() => "leave out `--group-by`".into(),
            Self::NoSuchGrouping { known, .. } => format!("choose from {}", known.join(", ")).into(),
            Self::NoTimes => "leave out `--step`, `--from` and `--to`: `stepscope functions` shows the whole profile".into(),
            Self::SeveralSources { .. } | Self::NoSuchSource { .. } => "choose with `--rank` and `--window`".into(),
            Self::Cache { .. } => {
                "pass `--no-cache` or `--store DIR`, or set STEPSCOPE_CACHE to another folder"
                    .into()
            }
            Self::NoCacheFolder => "set one, for example STEPSCOPE_CACHE=/data/me/stepscope".into(),
            Self::UntrustedCache { path, .. } => format!(
                "set STEPSCOPE_CACHE to a folder of yours, or take over this one: `chown -R $USER {0} && chmod -R go-w {0}`",
                path.display()
            )
            .into(),
            Self::CacheLimit { .. } => "set a size, for example STEPSCOPE_CACHE_LIMIT=5GB".into(),
            Self::NotCached { .. } => "list the entries with `stepscope cache`".into(),
            Self::DiskFull { hint, .. } => (*hint).into(),
            Self::Changed { .. } => "wait until the job has written its trace, or leave out `--strict`".into(),
            Self::Shape(_) => return None,
        })
    }
}
