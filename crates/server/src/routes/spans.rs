//! One span with everything around it.

use axum::http::{Method, StatusCode};
use stepscope_model::SourceId;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/spans/{span}", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let name = asked.part(1);
    let (id, span_id) = named(name).ok_or_else(|| {
        Failure::malformed(format!("not the name of a span: {name}")).with_hint("write it as RANK.WINDOW.SPAN_ID")
    })?;
    match asked.workspace()?.span(id, span_id, &asked.request.cancel)? {
        Some(span) => Response::json(&span),
        None => Err(Failure::new(StatusCode::NOT_FOUND, format!("found no span: {name}"))),
    }
}

/// `RANK.WINDOW.SPAN_ID`.
fn named(name: &str) -> Option<(SourceId, i64)> {
    let mut numbers = name.split('.');
    let (rank, window, span_id) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let id = SourceId { rank: rank.parse().ok()?, window: window.parse().ok()? };
    if numbers.next().is_some() { None } else { Some((id, span_id.parse().ok()?)) }
}
