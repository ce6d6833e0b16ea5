//! What the page Memory draws of a snapshot.

use axum::http::Method;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/memory/picture", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    Response::json(&asked.workspace()?.memory_picture(&asked.request.question()?)?)
}
