//! Every analysis, and the tables beside them, as reports.

use axum::http::{Method, StatusCode};
use stepscope_report::shape::{self, Shape};
use stepscope_workspace::{ANALYSES, Workspace};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/analyses/{name}", answer };

/// Reports that are no analyses.
const OTHERS: [&str; 3] = ["tracks", "health", "schema"];

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let workspace = asked.workspace()?;
    let question = asked.request.question()?;
    let name = asked.part(1);
    let rank = if let [rank] = question.ranks[..] { Some(rank) } else { None };
    let mut report = match ANALYSES.iter().find(|analysis| analysis.name == name) {
        Some(analysis) => workspace.analyze(analysis, &question)?,
        None if name == "tracks" => workspace.tracks()?,
        None if name == "health" => workspace.health(rank, question.window)?,
        None if name == "schema" => Workspace::schema()?,
        None => return Err(unknown(name)),
    };
    let is_other = OTHERS.contains(&name);
    let rank = rank.map(|rank| ("rank", i64::from(rank)));
    let window = question.window.map(|window| ("window", i64::from(window)));
    let shape = Shape {
        columns: Vec::new(),
        sort: asked.request.value("sort").map(str::to_owned),
        limit: asked.request.number("limit")?.filter(|limit| *limit > 0),
        is_usual_limit: false,
        only: rank.into_iter().chain(window).filter(|_| is_other).collect(),
    };
    shape::apply(&mut report, &shape)?;
    Response::json(&report)
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = ANALYSES.iter().map(|analysis| analysis.name).chain(OTHERS).collect();
    Failure::new(StatusCode::NOT_FOUND, format!("found no analysis: {name}"))
        .with_hint(format!("choose from {}", known.join(", ")))
}
