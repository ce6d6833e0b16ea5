//! An answer on its way out.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// How it went.
    pub status: StatusCode,
    /// What the body is.
    pub content_type: &'static str,
    /// Other headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// What follows, for a body that is made while it is sent.
    pub rest: Option<Pieces>,
}

/// Pieces of a body, each made when it is asked for. After a failure there are no more.
pub struct Pieces(Box<dyn Iterator<Item = Result<Vec<u8>, Failure>> + Send>);

impl Iterator for Pieces {
    type Item = Result<Vec<u8>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pieces")
    }
}

/// Bytes of a body that are put together before anything is sent: what fails until then has a status of its own.
const TOGETHER_BYTES: usize = 1 << 20;

impl Response {
    pub(crate) fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, content_type, headers: Vec::new(), body, rest: None }
    }

    /// A body in pieces; a short one is sent as a whole.
    pub(crate) fn of_pieces(
        content_type: &'static str,
        mut pieces: impl Iterator<Item = Result<Vec<u8>, Failure>> + Send + 'static,
    ) -> Result<Self, Failure> {
        let mut body = Vec::new();
        while body.len() < TOGETHER_BYTES {
            match pieces.next() {
                Some(piece) => body.extend(piece?),
                None => return Ok(Self::new(StatusCode::OK, content_type, body)),
            }
        }
        let rest = Some(Pieces(Box::new(pieces)));
        Ok(Self { rest, ..Self::new(StatusCode::OK, content_type, body) })
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

/// The answer that says why there is none.
impl From<Failure> for Response {
    fn from(failure: Failure) -> Self {
        let body = json!({ "error": failure.problem });
        Self::new(failure.status, "application/json", body.to_string().into_bytes())
    }
}
