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

    #[track_caller]
    fn check(query: &str, want: Option<PathPart>) {
        let request = Request::new(Method::GET, &format!("/?{query}")).unwrap();
        assert_eq!(part(&request).ok(), want, "{query}");
    }

    #[test]
    fn a_piece_is_named_in_the_query() {
        let text = str::to_owned;
        check("class=kernel", Some(PathPart::Class(text("kernel"))));
        check("class=runtime&name=cudaMalloc", Some(PathPart::Name(text("runtime"), text("cudaMalloc"))));
        // Time that belongs to no name.
        check("class=handoff&name=", Some(PathPart::Name(text("handoff"), String::new())));
        check("operator=aten::mm&rank=0", Some(PathPart::Operator(text("aten::mm"))));
        check("kernel=gemm", Some(PathPart::Kernel(text("gemm"))));
        check("rank=0", None);
        check("class=kernel&operator=aten::mm", None);
    }
}
