//! What differs between two runs: the first that the path names is A, the second B.

use axum::http::Method;
use stepscope_workspace::diff;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/diff/{other}", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let question = asked.request.question()?;
    let (other, _) = asked.app.workspace(asked.part(1))?;
    let (a, b) = (asked.workspace()?.diff_side(&question)?, other.diff_side(&question)?);
    Response::json(&diff(&a, &b))
}
