//! The endpoints: one file per group, and the list of them.
//!
//! An endpoint is a plain function. To add one, write its file and add a line to [`ROUTES`].

mod analyses;
mod changes;
mod diff;
mod findings;
mod longest_piece;
mod memory_picture;
mod metrics;
mod search;
mod session;
mod spans;
mod sql;
mod timeline;
mod whatif;

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use axum::http::{Method, StatusCode};
use stepscope_workspace::Workspace;

use crate::app::App;
use crate::assets;
use crate::failure::Failure;
use crate::request::{Request, decoded};
use crate::response::Response;

/// One endpoint.
pub(crate) struct Route {
    method: Method,
    /// The path; a part in braces stands for any text.
    path: &'static str,
    answer: fn(&Asked<'_>) -> Result<Response, Failure>,
}

/// Every endpoint.
static ROUTES: [&Route; 19] = [
    &session::ROUTE,
    &analyses::ROUTE,
    &findings::ROUTE,
    &changes::ROUTE,
    &whatif::ROUTE,
    &diff::ROUTE,
    &longest_piece::ROUTE,
    &memory_picture::ROUTE,
    &metrics::ROUTE,
    &sql::ROUTE,
    &timeline::ROUTE,
    &timeline::TRACK_ROUTE,
    &timeline::PATH_ROUTE,
    &timeline::CURVES_ROUTE,
    &spans::ROUTE,
    &search::ROUTE,
    &search::STEP_ROUTE,
    &search::MARKS_ROUTE,
    &search::NAMES_ROUTE,
];

/// The endpoints by their path, found as axum finds them. Its own router needs a socket, and TensorBoard has none to give.
static ROUTER: LazyLock<matchit::Router<&Route>> = LazyLock::new(|| {
    let mut router = matchit::Router::new();
    for route in ROUTES {
        // A path that is there twice or malformed is found by the test below.
        let _ = router.insert(format!("/{}", route.path), route);
    }
    router
});

/// A request that found its endpoint.
pub(crate) struct Asked<'a> {
    app: &'a App,
    request: &'a Request,
    /// What stands for the parts in braces, in their order.
    parts: Vec<String>,
    /// The revision of the run that answers, once it was looked for.
    revision: Cell<Option<u64>>,
}

/// Says which state of its run an answer is from: pages never show two beside each other.
const REVISION_HEADER: &str = "stepscope-revision";

impl Asked<'_> {
    /// What stands for a part in braces.
    fn part(&self, place: usize) -> &str {
        self.parts.get(place).map_or("", String::as_str)
    }

    /// The run that the path names first.
    fn workspace(&self) -> Result<Arc<Workspace>, Failure> {
        let (workspace, revision) = self.app.workspace(self.part(0))?;
        self.revision.set(Some(revision));
        Ok(workspace)
    }
}

/// Answers a request that may be asked: an endpoint, else a file of the page.
pub(crate) fn answer(app: &App, request: &Request) -> Result<Response, Failure> {
    if let Ok(found) = ROUTER.at(&request.address) {
        let route = found.value;
        if route.method != request.method {
            let failure =
                Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("method {} is not allowed here", request.method));
            return Err(failure.with_hint(format!("use {}", route.method)));
        }
        let parts = found.params.iter().map(|(_, part)| decoded(part)).collect::<Result<_, _>>()?;
        let asked = Asked { app, request, parts, revision: Cell::new(None) };
        let answer = (route.answer)(&asked)?;
        return Ok(match asked.revision.get() {
            Some(revision) => answer.with_header(REVISION_HEADER, revision.to_string()),
            None => answer,
        });
    }
    if request.path.first().is_some_and(|first| first == "api") {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("found nothing at: {}", request.path.join("/"))));
    }
    if request.method != Method::GET {
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "a page is read-only, expected GET"));
    }
    assets::file(&request.path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_by_its_path() {
        for route in ROUTES {
            let address = format!("/{}", route.path.replace(['{', '}'], ""));
            let found = ROUTER.at(&address).unwrap();
            assert_eq!((found.value.path, &found.value.method), (route.path, &route.method));
        }
    }
}
