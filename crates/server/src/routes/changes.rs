//! The changes that a replay can make, with their bounds.

use axum::http::Method;
use stepscope_workspace::Workspace;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/changes", answer };

fn answer(_asked: &Asked<'_>) -> Result<Response, Failure> {
    Response::json(&Workspace::transformations())
}
