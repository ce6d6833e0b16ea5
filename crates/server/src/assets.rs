//! The files of the page, which are part of the program.

use axum::http::StatusCode;

use crate::failure::Failure;
use crate::response::Response;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Whether the page was not built, so that a stand-in is shown.
#[must_use]
pub fn is_placeholder() -> bool {
    IS_PLACEHOLDER
}

/// A file of the page by its path; nothing else can be named, so no path reaches the file system.
pub(crate) fn file(path: &str) -> Result<Response, Failure> {
    let path = if path.is_empty() { "index.html" } else { path };
    let Ok(place) = FILES.binary_search_by_key(&path, |(name, _)| *name) else {
        return Err(Failure::new(StatusCode::NOT_FOUND, "found no page at this address"));
    };
    let ending = path.rsplit('.').next().unwrap_or_default();
    let content_type = match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    Ok(Response::new(StatusCode::OK, content_type, FILES[place].1.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_page_can_be_named() {
        assert!(file("").is_ok_and(|page| page.content_type.starts_with("text/html")));
        for path in ["../Cargo.toml", "/etc/passwd", "index.html/..", "INDEX.HTML", "."] {
            assert!(file(path).is_err(), "{path}");
        }
    }
}
