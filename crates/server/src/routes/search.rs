//! The spans whose name holds a text.

use axum::http::Method;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/search", answer };

/// Matches unless asked otherwise.
const USUAL_MATCHES: usize = 1_000;
/// Matches at most.
const MOST_MATCHES: usize = 20_000;

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let text = request.value("q").ok_or_else(|| Failure::malformed("what to search for is missing: q"))?;
    let limit = request.number("limit")?.unwrap_or(USUAL_MATCHES).min(MOST_MATCHES);
    let (rank, window) = (request.number("rank")?, request.number("window")?);
    Response::json(&asked.workspace()?.search(rank, window, text, limit, &request.cancel)?)
}
