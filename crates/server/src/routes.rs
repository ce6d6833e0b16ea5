//! The endpoints: one file a group, and the list of them.
//!
//! An endpoint is a plain function. To add one, write its file and add a line to [`ROUTES`].

mod analyses;
mod findings;
mod metrics;
mod search;
mod session;
mod spans;
mod sql;
mod timeline;

use std::cell::Cell;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use stepscope_workspace::Workspace;

use crate::app::App;
use crate::assets;
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;

/// One endpoint.
pub(crate) struct Route {
    method: Method,
    /// The path; a part in braces stands for any text.
    path: &'static str,
    answer: fn(&Asked<'_>) -> Result<Response, Failure>,
}

/// Every endpoint.
static ROUTES: [&Route; 13] = [
    &session::ROUTE,
    &analyses::ROUTE,
    &findings::ROUTE,
    &metrics::ROUTE,
    &sql::ROUTE,
    &timeline::ROUTE,
    &timeline::TRACK_ROUTE,
    &timeline::CURVES_ROUTE,
    &spans::ROUTE,
    &search::ROUTE,
    &search::STEP_ROUTE,
    &search::MARKS_ROUTE,
    &search::NAMES_ROUTE,
];

/// A request that found its endpoint.
pub(crate) struct Asked<'a> {
    app: &'a App,
    request: &'a Request,
    /// What stands for the parts in braces, in their order.
    parts: Vec<&'a str>,
    /// The revision of the run that answers, once it was looked for.
    revision: Cell<Option<u64>>,
}

/// Says which state of its run an answer is from: pages never show two beside each other.
const REVISION_HEADER: &str = "stepscope-revision";

impl Asked<'_> {
    /// The run that the path names first.
    fn workspace(&self) -> Result<Arc<Workspace>, Failure> {
        let (workspace, revision) = self.app.workspace(self.parts.first().copied().unwrap_or_default())?;
        self.revision.set(Some(revision));
        Ok(workspace)
    }
}

/// Answers a request that may be asked: an endpoint, else a file of the page.
pub(crate) fn answer(app: &App, request: &Request) -> Result<Response, Failure> {
    let mut allowed = None;
    for route in ROUTES {
        let Some(parts) = matched(route.path, &request.path) else { continue };
        if route.method == request.method {
            let asked = Asked { app, request, parts, revision: Cell::new(None) };
            let answer = (route.answer)(&asked)?;
            return Ok(match asked.revision.get() {
                Some(revision) => answer.with_header(REVISION_HEADER, revision.to_string()),
                None => answer,
            });
        }
        allowed = Some(&route.method);
    }
    if let Some(allowed) = allowed {
        let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} is not answered here", request.method));
        return Err(failure.with_hint(format!("ask with {allowed}")));
    }
    if request.path.first().is_some_and(|first| first == "api") {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("nothing answers at {}", request.path.join("/"))));
    }
    if request.method != Method::GET {
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "a page can only be read"));
    }
    assets::file(&request.path.join("/"))
}

/// What stands for the parts in braces, if the path is of that form.
fn matched<'a>(form: &str, path: &'a [String]) -> Option<Vec<&'a str>> {
    let forms: Vec<&str> = form.split('/').collect();
    if forms.len() != path.len() {
        return None;
    }
    let mut parts = Vec::new();
    for (form, part) in forms.into_iter().zip(path) {
        if form.starts_with('{') {
            parts.push(part.as_str());
        } else if form != part {
            return None;
        }
    }
    Some(parts)
}
