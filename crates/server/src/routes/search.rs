//! The spans whose name holds a text, and the names themselves.

use axum::http::Method;
use stepscope_workspace::{SearchFor, SearchFrom};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/search", answer };

pub(super) static STEP_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/search/step", answer: answer_step };

pub(super) static MARKS_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/search/marks", answer: answer_marks };

pub(super) static NAMES_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/names", answer: answer_names };

/// Names of a group unless asked otherwise, and at most.
const USUAL_NAMES: usize = 5;
const MOST_NAMES: usize = 200;

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let width = super::timeline::width(request)?;
    Response::json(&asked.workspace()?.search(source(request)?, &wanted(request)?, width, &request.cancel)?)
}

fn answer_step(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let from = SearchFrom {
        time_ns: request.number("from")?.unwrap_or(0),
        span_id: request.number("span")?,
        is_backward: request.number::<i32>("by")?.is_some_and(|by| by < 0),
    };
    Response::json(&asked.workspace()?.search_step(source(request)?, &wanted(request)?, from, &request.cancel)?)
}

fn answer_marks(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let (from_ns, to_ns, width) = super::timeline::stretch(request)?;
    let stretch = (from_ns..to_ns, width);
    Response::json(&asked.workspace()?.search_marks(source(request)?, &wanted(request)?, stretch, &request.cancel)?)
}

fn answer_names(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let (rank, window) = source(request)?;
    let most = request.number("limit")?.unwrap_or(USUAL_NAMES).min(MOST_NAMES);
    Response::json(&asked.workspace()?.names(rank, window, text(request)?, most, &request.cancel)?)
}

fn source(request: &Request) -> Result<(Option<u32>, Option<u32>), Failure> {
    Ok((request.number("rank")?, request.number("window")?))
}

/// A part of a name, or a whole name with its kind.
fn wanted(request: &Request) -> Result<SearchFor, Failure> {
    match (request.value("name"), request.value("kind")) {
        (Some(name), Some(kind)) => Ok(SearchFor::Name { name: name.to_owned(), kind: kind.to_owned() }),
        _ => text(request).map(|text| SearchFor::Text(text.to_owned())),
    }
}

fn text(request: &Request) -> Result<&str, Failure> {
    let text = request.value("q").filter(|text| !text.is_empty());
    text.ok_or_else(|| Failure::malformed("missing parameter: q"))
}
