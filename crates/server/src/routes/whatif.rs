//! What changes would save: each is named behind the question mark, as `no_sync` or `scale=kernel:*gemm*=1/2`.

use axum::http::Method;
use stepscope_workspace::{AskedChange, TRANSFORMATIONS};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/whatif", answer };

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let changes = changes(asked.request)?;
    if changes.is_empty() {
        let names: Vec<&str> = TRANSFORMATIONS.iter().map(|known| known.name).collect();
        return Err(Failure::malformed("no change given").with_hint(format!("pass one of {}", names.join(", "))));
    }
    Response::json(&asked.workspace()?.whatif(&changes, &asked.request.question()?)?)
}

fn changes(request: &Request) -> Result<Vec<AskedChange>, Failure> {
    let mut changes = Vec::new();
    for known in &TRANSFORMATIONS {
        for (name, value) in request.query.iter().filter(|(name, _)| name == known.name) {
            let value = if known.value().is_none() && is_on(value) { None } else { Some(value.as_str()) };
            let change = AskedChange::new(name, value);
            changes.push(change.map_err(|error| {
                Failure::malformed(format!("{name}: {error}, found {}", value.unwrap_or_default()))
            })?);
        }
    }
    Ok(changes)
}

/// Whether the value of a name that needs none says nothing else.
fn is_on(value: &str) -> bool {
    matches!(value, "" | "1" | "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, want: Result<&[&str], &str>) {
        let request = Request::new(Method::GET, &format!("/?{query}")).unwrap();
        match (changes(&request), want) {
            (Ok(changes), Ok(want)) => {
                let got: Vec<String> = changes.iter().map(AskedChange::to_string).collect();
                assert_eq!(got, want, "{query}");
            }
            (Err(failure), Err(want)) => {
                let body = String::from_utf8(Response::from(failure).body).unwrap();
                assert!(body.contains(want), "{query}: {body}");
            }
            (got, _) => panic!("{query}: {}", got.is_ok()),
        }
    }

    #[test]
    fn changes_are_named_in_the_query() {
        check("rank=0", Ok(&[]));
        check("no_sync&input_ready=1", Ok(&["no-sync", "input-ready"]));
        check(
            "scale=kernel:*gemm*%3D1/2&remove=op:a&remove=op:b&no_sync=true",
            Ok(&["scale kernel:*gemm*=1/2", "remove op:a", "remove op:b", "no-sync"]),
        );
        check("no_sync=0", Err("no_sync: expected no value, found 0"));
        check("scale=gemm", Err("scale: expected KIND:PATTERN=P/Q"));
    }
}
