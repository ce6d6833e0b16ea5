//! What can go wrong with a query.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use stepscope_model::Hint;
use stepscope_objects::ObjectError;
use stepscope_store::{StoreError, is_disk_full};

use crate::not_uploaded::NotUploaded;
use crate::runner::RunnerError;
use crate::window_not_open::WindowNotOpen;

/// A run that cannot be opened or a query that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows were recorded and not uploaded.
    #[error(transparent)]
    NotUploaded(NotUploaded),
    /// A window is not open.
    #[error(transparent)]
    WindowNotOpen(WindowNotOpen),
    /// A bucket could not be read while the query ran.
    #[error("{message}")]
    Objects {
        /// What happened, with the object and the status.
        message: String,
        /// What to check.
        hint: Option<Cow<'static, str>>,
    },
    /// The machines that run queries failed, or refused this one.
    #[error("{}: {}", .0.code, .0.message)]
    Runner(RunnerError),
    /// The text is not SQL.
    #[error("cannot read the query: {message}")]
    Syntax {
        /// What the parser says, with line and column.
        message: String,
    },
    /// The query names something that is not there, or combines things that do not fit.
    #[error("cannot plan the query: {message}")]
    Plan {
        /// What does not fit.
        message: String,
    },
    /// The statement would change something.
    #[error("found {statement}, expected a query")]
    NotAQuery {
        /// First word of the statement, or what it would do.
        statement: String,
    },
    /// The query took too long.
    #[error("the query did not finish within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The query needs more memory than it may have.
    #[error("the memory limit of {} is too small for {doing}", size(*limit_bytes))]
    OutOfMemory {
        /// The limit.
        limit_bytes: usize,
        /// What was going on, in words.
        doing: &'static str,
    },
    /// What does not fit into memory does not fit on the disk either.
    #[error("the disk for temporary files is full")]
    DiskFull,
    /// The disk that a query spills to fails.
    #[error("cannot use a temporary file of the query: {message}")]
    Spill {
        /// What the system said.
        message: String,
    },
    /// Somebody ended the query.
    #[error("the query was canceled")]
    Canceled,
    /// The query failed while it ran: a division by zero, a damaged file.
    #[error("the query failed: {message}")]
    Execution {
        /// What happened.
        message: String,
    },
    /// The engine could not start.
    #[error("cannot start the query engine: {0}")]
    Start(std::io::Error),
    /// Something that should not happen, here or in the engine underneath.
    #[error("bug in the query engine: {message}")]
    Bug {
        /// What the engine said.
        message: String,
    },
}

impl EngineError {
    /// Sorts an error of `DataFusion` into what a person can do about it.
    pub(crate) fn from_datafusion(error: &DataFusionError, limit_bytes: usize) -> Self {
        match error.find_root() {
            // One of several mistakes is enough to act on.
            DataFusionError::Collection(errors) if !errors.is_empty() => Self::from_datafusion(&errors[0], limit_bytes),
            DataFusionError::SQL(parser, _) => {
                let message = parser.to_string();
                let message = message.strip_prefix("sql parser error: ").unwrap_or(&message).trim().to_owned();
                Self::Syntax { message }
            }
            DataFusionError::SchemaError(schema, _) => Self::Plan { message: schema_message(schema) },
            DataFusionError::Plan(message)
            | DataFusionError::NotImplemented(message)
            | DataFusionError::Configuration(message) => {
                // There is one catalog with one schema; their names would only puzzle.
                Self::Plan { message: first_lower(&one_line(&message.replace("datafusion.public.", ""))) }
            }
            DataFusionError::ResourcesExhausted(message) => Self::OutOfMemory { limit_bytes, doing: doing(message) },
            DataFusionError::Internal(message) => Self::Bug { message: one_line(message) },
            other if is_disk_full(other) => Self::DiskFull,
            // Whatever else is read comes through an object store, which has errors of its own.
            DataFusionError::IoError(error) => Self::Spill { message: error.to_string() },
            DataFusionError::ArrowError(error, _) if let ArrowError::IoError(_, error) = &**error => {
                Self::Spill { message: error.to_string() }
            }
            other if let Some(missing) = inside::<NotUploaded>(other) => Self::NotUploaded(missing.clone()),
            other if let Some(closed) = inside::<WindowNotOpen>(other) => Self::WindowNotOpen(closed.clone()),
            other if let Some(store) = inside::<StoreError>(other) => {
                Self::Objects { message: store.to_string(), hint: store.hint() }
            }
            other if let Some(runner) = inside::<RunnerError>(other) => Self::Runner(runner.clone()),
            other if let Some(objects) = inside::<ObjectError>(other) => {
                Self::Objects { message: objects.to_string(), hint: objects.hint() }
            }
            other => Self::Execution { message: first_lower(&other.strip_backtrace()) },
        }
    }
}

impl Hint for EngineError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Objects { hint, .. } => return hint.clone(),
            Self::Runner(error) => return error.hint.clone(),
            Self::NotUploaded(missing) => missing.hint().into(),
            Self::WindowNotOpen(closed) => closed.hint().into(),
            Self::Syntax { .. } => "write one SELECT statement in DataFusion's SQL".into(),
            Self::Plan { .. } => "`stepscope schema` lists tables and columns".into(),
            Self::NotAQuery { .. } => {
                "a store is read-only: use SELECT, WITH, VALUES, EXPLAIN, SHOW or DESCRIBE".into()
            }
            Self::TimedOut { .. } => "query fewer ranks, steps or columns, or allow more time".into(),
            Self::OutOfMemory { limit_bytes, .. } => format!(
                "raise it, for example `--memory-limit {}`, or query fewer rows or groups",
                size(limit_bytes.saturating_mul(2)).replace(' ', "")
            )
            .into(),
            Self::DiskFull => "free some space, or set TMPDIR to a folder with more space".into(),
            Self::Spill { .. } => "check the disk of TMPDIR, or set TMPDIR to a folder on another one".into(),
            Self::Bug { .. } => "please report it with the query".into(),
            Self::Canceled | Self::Execution { .. } | Self::Start(_) => return None,
        })
    }
}

/// An error of a kind, if it is at the bottom of another.
fn inside<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// What a query was doing, from the name of the part that asked for more.
fn doing(message: &str) -> &'static str {
    // The part that failed comes first; a list of the largest ones follows.
    let part = message.split("Resources exhausted").last().unwrap_or(message);
    let parts = [
        ("Join", "joining tables"),
        ("Sort", "sorting rows"),
        ("Aggregat", "grouping rows"),
        ("Window", "a window function"),
        ("Repartition", "dividing rows among threads"),
    ];
    parts.into_iter().find(|(name, _)| part.contains(name)).map_or("this query", |(_, words)| words)
}

/// A size as `--memory-limit` takes it, but for the space.
fn size(bytes: usize) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.into_iter().find(|(_, shift)| bytes >> shift << shift == bytes && bytes >> shift > 0);
    match whole {
        Some((unit, shift)) => format!("{} {unit}", bytes >> shift),
        None if bytes > 1 << 20 => format!("{} MiB", bytes >> 20),
        None => format!("{bytes} bytes"),
    }
}

/// The first sentence of a schema error with its "did you mean"; the list of all fields behind it can be pages long.
fn schema_message(error: &SchemaError) -> String {
    let text = error.to_string();
    first_lower(text.split("\nValid fields are").next().unwrap_or(&text).lines().next().unwrap_or_default())
}

fn first_lower(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // A word in capitals, such as SELECT, stays as it is.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
