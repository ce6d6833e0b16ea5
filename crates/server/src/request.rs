//! A question on its way in: taken apart, and refused if it is malformed.

use std::borrow::Cow;

use axum::http::{HeaderMap, Method, StatusCode};
use percent_encoding::percent_decode_str;
use stepscope_workspace::CancelFlag;

use crate::failure::Failure;

/// Bytes of path and query at most.
const LONGEST_TARGET: usize = 8 << 10;

/// A question.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// The path as it came, with a slash in front.
    pub address: String,
    /// The parts of the path, decoded.
    pub path: Vec<String>,
    /// Names and values behind the question mark, decoded.
    pub query: Vec<(String, String)>,
    /// Headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// Ends the work from elsewhere.
    pub cancel: CancelFlag,
}

impl Request {
    /// Takes a target such as `/api/session?rank=0` apart.
    pub fn new(method: Method, target: &str) -> Result<Self, Failure> {
        if target.len() > LONGEST_TARGET {
            return Err(Failure::new(
                StatusCode::URI_TOO_LONG,
                format!("the address is too long, expected at most {LONGEST_TARGET} bytes"),
            ));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let parts =
            if path.is_empty() { Vec::new() } else { path.split('/').map(decoded).collect::<Result<_, _>>()? };
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let spaced = |text: &str| decoded(&text.replace('+', " "));
            Ok((spaced(name)?, spaced(value)?))
        });
        let query = pairs.collect::<Result<_, Failure>>()?;
        let (headers, body, cancel) = (HeaderMap::new(), Vec::new(), CancelFlag::default());
        let address = format!("/{path}");
        Ok(Self { method, address, path: parts, query, headers, body, cancel })
    }

    /// A header that is there once and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        if values.next().is_some() { None } else { Some(value) }
    }

    /// A value behind the question mark; an empty one says nothing.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Text with `%41` written as `A`.
pub(crate) fn decoded(text: &str) -> Result<String, Failure> {
    let malformed =
        || Failure::malformed("the address is malformed").with_hint("encode bytes as %41 and text as UTF-8");
    // The library leaves a lone % as it is.
    let is_whole = |byte: &str| byte.len() >= 2 && byte.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_whole) {
        return Err(malformed());
    }
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |target: &str, want: Option<&str>| {
            let shown = |request: Request| {
                let pairs: Vec<String> = request.query.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                format!("{} | {}", request.path.join(", "), pairs.join(", "))
            };
            assert_eq!(Request::new(Method::GET, target).ok().map(shown).as_deref(), want, "{target}");
        };
        check("/", Some(" | "));
        check("/api/runs/a%2Fb?rank=0&q=a+b%26", Some("api, runs, a/b | rank: 0, q: a b&"));
        check("/api/runs/%zz", None);
        check("/api/runs/%f", None);
        // Not UTF-8.
        check("/api?q=%ff", None);
        check(&format!("/{}", "a".repeat(LONGEST_TARGET)), None);
    }
}
