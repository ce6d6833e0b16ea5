//! Every figure of one recording, as `stepscope metrics -f json` writes them.

use axum::http::{Method, StatusCode};
use stepscope_report::{Document, json};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/metrics", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let workspace = asked.workspace()?;
    let request = asked.request;
    let metrics = workspace.metrics_with(request.number("rank")?, request.number("window")?, &request.cancel)?;
    let document = json::render(&Document {
        name: "metrics",
        version: env!("CARGO_PKG_VERSION"),
        before: vec![("run", workspace.run_info()), ("health", workspace.health_info())],
        after: vec![("metrics", metrics)],
        ..Document::default()
    });
    Ok(Response::new(StatusCode::OK, "application/json", document.into_bytes()))
}
