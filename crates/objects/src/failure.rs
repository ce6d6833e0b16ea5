//! Makes one of our errors from what the library says.
//!
//! Version 0.13.2 does not export the type that holds the HTTP status, so it is read from the words of the error. Tests
//! against a real server notice if a later version words it otherwise.

use std::error::Error;

use object_store::client::{HttpError, HttpErrorKind};

use crate::error::{Answer, Cause, ObjectError};
use crate::provider::Provider;

/// How many characters of the library's words are kept.
const DETAIL_MAX: usize = 300;

/// Makes an error of ours. `at` is the object, or the prefix that was listed.
pub(crate) fn explain(
    error: &object_store::Error,
    provider: Provider,
    action: &'static str,
    at: impl Into<String>,
) -> ObjectError {
    let answer = answer_of(error, provider);
    let is_missing = matches!(error, object_store::Error::NotFound { .. }) && answer.cause != Cause::NoBucket;
    if is_missing {
        return ObjectError::NotFound { at: at.into() };
    }
    ObjectError::Refused { action, answer: Box::new(answer), at: at.into() }
}

/// Whether a request may have reached the store although it failed.
pub(crate) fn is_unclear(error: &object_store::Error) -> bool {
    matches!(cause_of_transport(error), Some(Cause::Silent | Cause::Garbled))
}

/// Whether an answer came that cannot be read to its end, which the library does not repeat by itself.
pub(crate) fn is_garbled(error: &object_store::Error) -> bool {
    let words = error.to_string();
    cause_of_transport(error) == Some(Cause::Garbled)
        || ["response body", "invalid list response", "invalid multipart response"]
            .iter()
            .any(|part| words.contains(part))
}

fn answer_of(error: &object_store::Error, provider: Provider) -> Answer {
    let words = words_of(error);
    let status = status_in(&words);
    let code = between(&words, "<Code>", "</Code>").filter(|code| !code.is_empty() && code.len() < 80);
    let cause = match status {
        Some(status) => cause_of_status(status, code.unwrap_or_default()),
        None if words.contains("redirect without LOCATION") => Cause::Region,
        None if is_garbled(error) => Cause::Garbled,
        None => cause_of_transport(error).unwrap_or(Cause::Other),
    };
    let detail = words.lines().next().unwrap_or_default().chars().take(DETAIL_MAX).collect();
    Answer { status, code: code.map(str::to_owned), cause, provider, detail }
}

fn cause_of_status(status: u16, code: &str) -> Cause {
    match (status, code) {
        (_, "NoSuchBucket" | "ContainerNotFound") => Cause::NoBucket,
        (_, "RequestTimeTooSkewed") => Cause::ClockSkew,
        (_, "ExpiredToken" | "TokenRefreshRequired") => Cause::Expired,
        (
            _,
            "InvalidAccessKeyId"
            | "SignatureDoesNotMatch"
            | "InvalidToken"
            | "NotSignedUp"
            | "AuthenticationFailed"
            | "InvalidAuthenticationInfo",
        )
        | (401, _) => Cause::Credentials,
        (_, "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException")
        | (301 | 307, _) => Cause::Region,
        (403, _) => Cause::Denied,
        (409 | 412, _) => Cause::Conflict,
        (408 | 429 | 500.., _) => Cause::Server,
        _ => Cause::Other,
    }
}

/// What happened below HTTP.
fn cause_of_transport(error: &object_store::Error) -> Option<Cause> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return Some(match http.kind() {
                HttpErrorKind::Connect => Cause::Unreachable,
                HttpErrorKind::Timeout => Cause::Silent,
                HttpErrorKind::Request | HttpErrorKind::Interrupted | HttpErrorKind::Decode => Cause::Garbled,
                _ => Cause::Other,
            });
        }
        next = error.source();
    }
    None
}

/// The words of an error and of those below it.
fn words_of(error: &object_store::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        next = error.source();
    }
    words
}

/// `… status code: 403 Forbidden: …`
fn status_in(words: &str) -> Option<u16> {
    let (_, rest) = words.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

fn between<'a>(words: &'a str, start: &str, end: &str) -> Option<&'a str> {
    words.split_once(start)?.1.split_once(end).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_codes_have_a_cause() {
        let check = |status, code, want| assert_eq!(cause_of_status(status, code), want, "{status} {code}");
        check(404, "NoSuchBucket", Cause::NoBucket);
        check(403, "SignatureDoesNotMatch", Cause::Credentials);
        check(403, "RequestTimeTooSkewed", Cause::ClockSkew);
        check(403, "AccessDenied", Cause::Denied);
        check(400, "ExpiredToken", Cause::Expired);
        check(400, "AuthorizationHeaderMalformed", Cause::Region);
        check(301, "PermanentRedirect", Cause::Region);
        check(409, "OperationAborted", Cause::Conflict);
        check(503, "SlowDown", Cause::Server);
        check(418, "", Cause::Other);
    }

    #[test]
    fn a_status_is_found_in_the_words() {
        assert_eq!(status_in("x - Server returned non-2xx status code: 403 Forbidden: <Code>"), Some(403));
        assert_eq!(status_in("nothing"), None);
        assert_eq!(status_in("status code: 4"), None);
        assert_eq!(between("<a><Code>No</Code>", "<Code>", "</Code>"), Some("No"));
        assert_eq!(between("<Code>No", "<Code>", "</Code>"), None);
    }
}
