//! Why there is no answer, in the words of the terminal.

use axum::http::StatusCode;
use stepscope_model::{Exit, Hint};
use stepscope_report::ShapeError;
use stepscope_workspace::RunError;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it is in HTTP.
    pub status: StatusCode,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None }
    }

    /// A question that cannot be understood.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
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
        let message = words(&error);
        Self { status, message, hint: error.hint().map(std::borrow::Cow::into_owned) }
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

/// What happened, and where.
pub(crate) fn words(error: &RunError) -> String {
    match error.location() {
        Some(location) => format!("{error}: {location}"),
        None => error.to_string(),
    }
}
