//! Where to look for a row of the critical path: its longest piece.

use axum::http::{Method, StatusCode};
use stepscope_workspace::PathPart;

use super::{Asked, Route};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/path/longest", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let part = part(asked.request)?;
    match asked.workspace()?.longest_piece(&part, &asked.request.question()?)? {
        Some(piece) => Response::json(&piece),
        None => Err(Failure::new(StatusCode::NOT_FOUND, "the critical path has no such piece")),
    }
}

fn part(request: &Request) -> Result<PathPart, Failure> {
    let value = |name: &str| request.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    match (value("class"), value("operator"), value("kernel")) {
        (Some(class), None, None) => Ok(match value("name") {
            Some(name) => PathPart::Name(class, name),
            None => PathPart::Class(class),
        }),
        (None, Some(operator), None) => Ok(PathPart::Operator(operator)),
        (None, None, Some(kernel)) => Ok(PathPart::Kernel(kernel)),
        _ => Err(Failure::malformed("a piece needs one of: class, operator, kernel")
            .with_hint("pass one, for example `class=kernel`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(query: &str) -> Option<PathPart> {
        part(&Request::new(Method::GET, &format!("/?{query}")).unwrap()).ok()
    }

    #[test]
    fn a_piece_is_named_in_the_query() {
        let text = str::to_owned;
        assert_eq!(named("class=kernel"), Some(PathPart::Class(text("kernel"))));
        let call = PathPart::Name(text("runtime"), text("cudaMalloc"));
        assert_eq!(named("class=runtime&name=cudaMalloc"), Some(call));
        // Time that belongs to no name.
        assert_eq!(named("class=handoff&name="), Some(PathPart::Name(text("handoff"), String::new())));
        assert_eq!(named("operator=aten::mm&rank=0"), Some(PathPart::Operator(text("aten::mm"))));
        assert_eq!(named("kernel=gemm"), Some(PathPart::Kernel(text("gemm"))));
        assert_eq!(named("rank=0"), None);
        assert_eq!(named("class=kernel&operator=aten::mm"), None);
    }
}
