//! An answer on its way out.

use axum::http::StatusCode;
use serde::Serialize;

use crate::failure::Failure;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// How it went.
    pub status: StatusCode,
    /// What the body is.
    pub content_type: &'static str,
    /// Other headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, content_type, headers: Vec::new(), body }
    }

    /// A value as JSON.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_vec(value)
            .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write JSON: {error}")))?;
        Ok(Self::new(StatusCode::OK, "application/json", body))
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
