//! One SQL statement.

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use serde::Deserialize;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::POST, path: "api/runs/{run}/sql", answer };

/// Rows of an answer unless asked otherwise.
const USUAL_ROWS: usize = 10_000;
/// Rows of an answer at most.
const MOST_ROWS: usize = 100_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    statement: String,
    limit: Option<usize>,
}

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let content_type = asked.request.header(CONTENT_TYPE.as_str()).unwrap_or_default();
    // A form of another page cannot send this type.
    if !content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a statement is sent as application/json"));
    }
    let body: Body = serde_json::from_slice(&asked.request.body).map_err(|error| {
        Failure::malformed(format!("the body is not as expected: {error}"))
            .with_hint("send {\"statement\": \"SELECT 1\", \"limit\": 100}")
    })?;
    let rows = body.limit.filter(|limit| *limit > 0).unwrap_or(USUAL_ROWS).min(MOST_ROWS);
    Response::json(&asked.workspace()?.sql(&body.statement, Some(rows), &asked.request.cancel)?)
}
