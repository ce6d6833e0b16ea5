//! Who may ask: only this machine, only our own page, and only who has the token.
//!
//! A page of somebody else in the same browser must not read a trace: its requests carry a foreign Origin, a name of
//! its own that was made to lead here (DNS rebinding) shows in Host, and the cookie never goes along.

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::app::App;
use crate::compress::compress;
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;
use crate::routes;

/// Nothing from elsewhere, nothing inline, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is not written as it is in an address.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Names that lead to this machine and to no other.
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The door of one server.
#[derive(Clone, Debug)]
pub struct Door {
    port: u16,
    token: String,
}

impl Door {
    /// A door with a new token of 128 bits from the operating system.
    pub fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Self { port, token: format!("{:032x}", u128::from_be_bytes(bytes)) })
    }

    /// The address that lets a browser in.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// Answers a request that came from outside.
    #[must_use]
    pub fn answer(&self, app: &App, request: &Request) -> Response {
        let answer = match self.check(request) {
            Ok(None) => routes::answer(app, request),
            Ok(Some(let_in)) => Ok(let_in),
            Err(failure) => Err(failure),
        };
        let answer = answer.unwrap_or_else(Response::from);
        closed(compress(request, answer))
    }

    /// Refuses, lets in with a cookie, or lets pass.
    fn check(&self, request: &Request) -> Result<Option<Response>, Failure> {
        let forbidden = |message: &str| Failure::new(StatusCode::FORBIDDEN, message);
        let host = request.header(HOST.as_str()).unwrap_or_default();
        if !self.is_ours(host) {
            return Err(forbidden("found an unexpected host name")
                .with_hint(format!("open http://127.0.0.1:{} as `stepscope open` prints it", self.port)));
        }
        if request.headers.contains_key(ORIGIN) {
            let origin = request.header(ORIGIN.as_str()).and_then(|origin| origin.strip_prefix("http://"));
            if !origin.is_some_and(|origin| self.is_ours(origin)) {
                return Err(forbidden("found a request from another origin"));
            }
        }
        let is_page = request.method == Method::GET && request.path.is_empty();
        if let Some(token) = request.value("token").filter(|_| is_page) {
            return if self.is_token(token) { Ok(Some(self.let_in(request))) } else { Err(unknown()) };
        }
        let name = self.cookie_name();
        let cookies = request.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let has_cookie = cookies.any(|(known, value)| known == name && self.is_token(value));
        let bearer = request.header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        if has_cookie || bearer.is_some_and(|token| self.is_token(token)) { Ok(None) } else { Err(unknown()) }
    }

    /// Exchanges the token in the address for a cookie, and leads to the address without it.
    fn let_in(&self, request: &Request) -> Response {
        let rest = request.query.iter().filter(|(name, _)| name != "token");
        let encoded = |text| utf8_percent_encode(text, RESERVED);
        let rest: Vec<String> = rest.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.token);
        Response::new(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Vec::new())
            .with_header("location", format!("./{query}"))
            .with_header("set-cookie", cookie)
    }

    /// Browsers share cookies between the ports of a machine.
    fn cookie_name(&self) -> String {
        format!("stepscope-{}", self.port)
    }

    /// Whether a name with a port is one of this server.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        port == Some(self.port) && LOOPBACK_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    /// Compares without telling by the time it takes how much was right.
    fn is_token(&self, token: &str) -> bool {
        let differences = self.token.bytes().zip(token.bytes()).fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        token.len() == self.token.len() && differences == 0
    }
}

fn unknown() -> Failure {
    Failure::new(StatusCode::UNAUTHORIZED, "found no valid token")
        .with_hint("open the address that `stepscope open` printed, with its token")
}

/// Headers that every answer has.
pub(crate) fn closed(response: Response) -> Response {
    guarded(response, POLICY).with_header("cross-origin-opener-policy", "same-origin")
}

/// Headers that every answer has wherever the page is shown.
pub(crate) fn guarded(response: Response, policy: &'static str) -> Response {
    let caching = if response.content_type == "application/json" { "no-store" } else { "no-cache" };
    response
        .with_header("content-security-policy", policy)
        .with_header("x-content-type-options", "nosniff")
        .with_header("referrer-policy", "no-referrer")
        .with_header("cross-origin-resource-policy", "same-origin")
        .with_header("cache-control", caching)
}
