//! Answers for another server that shows our page inside of its own, such as TensorBoard, and has let the asker in.

use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};

use crate::app::App;
use crate::compress::compress;
use crate::door::guarded;
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;
use crate::routes;

/// As on our own server, but in a frame of whoever shows it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'";

/// A request as other servers have it.
#[derive(Clone, Copy, Debug)]
pub struct HostedRequest<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// Path and query below the place where the page is.
    pub target: &'a str,
    /// Names and values; what is no header is left out.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
}

impl App {
    /// Answers a request that another server has let in.
    #[must_use]
    pub fn answer_hosted(&self, asked: &HostedRequest<'_>) -> Response {
        let answer = request_of(asked).map(|request| {
            let answer = routes::answer(self, &request).and_then(whole);
            let answer = answer.unwrap_or_else(Response::from);
            compress(&request, answer)
        });
        guarded(answer.unwrap_or_else(Response::from), POLICY)
    }
}

/// Bytes of an answer at most: the other server takes it in one piece.
const LARGEST_ANSWER: usize = 64 << 20;

fn whole(mut answer: Response) -> Result<Response, Failure> {
    for piece in answer.rest.take().into_iter().flatten() {
        answer.body.extend(piece?);
        if answer.body.len() > LARGEST_ANSWER {
            let failure = Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "the answer is too large for this page");
            return Err(failure.with_hint("request fewer rows, or use `stepscope sql`"));
        }
    }
    Ok(answer)
}

fn request_of(asked: &HostedRequest<'_>) -> Result<Request, Failure> {
    let method = Method::from_bytes(asked.method.as_bytes())
        .map_err(|_| Failure::new(StatusCode::METHOD_NOT_ALLOWED, "unknown method"))?;
    let mut request = Request::new(method, asked.target)?;
    for (name, value) in asked.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            request.headers.append(name, value);
        }
    }
    request.body = asked.body.to_vec();
    Ok(request)
}
