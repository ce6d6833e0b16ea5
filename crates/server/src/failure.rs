//! Why there is no answer, in the words of the terminal.

use axum::http::StatusCode;
use stepscope_model::{Exit, Hint, Problem};
use stepscope_report::ShapeError;
use stepscope_workspace::RunError;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it is in HTTP.
    pub status: StatusCode,
    /// What is in the way.
    pub problem: Problem,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, problem: Problem { message: message.into(), ..Problem::default() } }
    }

    /// A question that cannot be understood.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let status = match (&error, error.exit()) {
            (RunError::NoSuchSource { .. } | RunError::NoSuchStep { .. }, _) => StatusCode::NOT_FOUND,
            (_, Exit::Usage) => StatusCode::BAD_REQUEST,
            (_, Exit::OutOfMemory | Exit::Unwritable) => StatusCode::INSUFFICIENT_STORAGE,
            (_, Exit::Interrupted) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, problem: problem_of(&error) }
    }
}

impl From<ShapeError> for Failure {
    fn from(error: ShapeError) -> Self {
        let failure = Self::malformed(error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

/// What happened, where, and what to do next.
pub(crate) fn problem_of(error: &RunError) -> Problem {
    let hint = error.hint().map(std::borrow::Cow::into_owned);
    Problem { message: error.to_string(), location: error.location(), hint }
}
