//! Where to look for a finding.

use axum::http::{Method, StatusCode};
use stepscope_workspace::FindingScope;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/findings/{rule}/worst", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let rule = asked.part(1);
    let scope = FindingScope {
        rank: request.number("rank")?,
        window: request.number("window")?,
        from_ns: request.number("from")?,
        to_ns: request.number("to")?,
    };
    match asked.workspace()?.worst_instance(rule, scope, &request.cancel)? {
        Some(worst) => Response::json(&worst),
        None => Err(Failure::new(StatusCode::NOT_FOUND, format!("the trace has no instance of the rule: {rule}"))),
    }
}
