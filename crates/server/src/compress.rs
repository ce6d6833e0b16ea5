//! Makes answers smaller for browsers that say they can read them.

use std::io::Write as _;

use axum::http::header::ACCEPT_ENCODING;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::request::Request;
use crate::response::Response;

/// Answers below this many bytes fit into one packet as they are.
const WORTH_IT_BYTES: usize = 1_000;

/// The answer, compressed if that helps.
pub(crate) fn compress(request: &Request, response: Response) -> Response {
    let is_picture = response.content_type.starts_with("image/png") || response.content_type.starts_with("font/");
    if response.body.len() < WORTH_IT_BYTES || is_picture || response.rest.is_some() {
        return response;
    }
    let response = response.with_header("vary", "accept-encoding");
    if !accepts_gzip(request) {
        return response;
    }
    // Most answers are made for one request and read on this machine.
    let mut encoder = GzEncoder::new(Vec::with_capacity(response.body.len() / 4), Compression::fast());
    let written = encoder.write_all(&response.body).and_then(|()| encoder.finish());
    match written {
        Ok(body) => Response { body, ..response.with_header("content-encoding", "gzip") },
        Err(_) => response,
    }
}

fn accepts_gzip(request: &Request) -> bool {
    let names = request.header(ACCEPT_ENCODING.as_str()).unwrap_or_default().split(',');
    names.map(|name| name.trim().to_ascii_lowercase()).any(|name| {
        let (coding, weight) = name.split_once(';').unwrap_or((&name, ""));
        coding.trim() == "gzip" && weight.replace(' ', "").trim_end_matches(['0', '.']) != "q="
    })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Method, StatusCode};

    use super::*;

    #[test]
    fn only_who_asks_gets_gzip() {
        let check = |accepts: &str, bytes: usize, want: bool| {
            let mut request = Request::new(Method::GET, "/").unwrap();
            request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accepts).unwrap());
            let answer = compress(&request, Response::new(StatusCode::OK, "application/json", vec![b' '; bytes]));
            let is_compressed = answer.headers.iter().any(|(name, _)| *name == "content-encoding");
            assert_eq!(is_compressed, want, "{accepts}");
            assert_eq!(answer.body.len() < bytes, want, "{accepts}");
        };
        check("gzip, deflate, br", 5_000, true);
        check("br;q=1.0, gzip;q=0.8", 5_000, true);
        check("gzip;q=0", 5_000, false);
        check("br", 5_000, false);
        check("", 5_000, false);
        check("gzip", 500, false);
    }
}
