//! What errors say, and what they say to check.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stepscope_model::Hint;
use stepscope_objects::{Bucket, ObjectError, Place, Settings, UNWATCHED};
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, S3Server};

use crate::server::{open, settings};

#[track_caller]
fn check<T: std::fmt::Debug>(outcome: Result<T, ObjectError>, want: &str, hint: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.to_string(), want);
    let said = error.hint().unwrap_or_default();
    assert!(said.contains(hint), "{said}");
}

#[test]
fn wrong_credentials_and_missing_buckets_are_named() {
    let server = S3Server::start().unwrap();
    let right = settings(server.address());
    let with = |key: &str, value: &str| {
        let mut settings = right.clone();
        settings.environment.insert(key.to_owned(), value.to_owned());
        open("s3://traces/p", &settings)
    };
    let bucket = with("AWS_SECRET_ACCESS_KEY", "wrong");
    let want = "cannot create an object: HTTP 403 SignatureDoesNotMatch: s3://traces/p/x";
    check(bucket.put_new("x", "1"), want, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    let want = "cannot list objects: HTTP 403 SignatureDoesNotMatch: s3://traces/p/runs";
    check(bucket.list("runs", UNWATCHED), want, "AWS_SECRET_ACCESS_KEY");
    // An answer to HEAD has no body, so no code.
    check(bucket.head("x"), "cannot look for an object: HTTP 403: s3://traces/p/x", "clock");
    assert_eq!(bucket.head("x").unwrap_err().status(), Some(403));

    let bucket = open("s3://missing", &right);
    let want = "cannot list objects: HTTP 404 NoSuchBucket: s3://missing";
    check(bucket.list("", UNWATCHED), want, "create the bucket, or check its name and AWS_ENDPOINT_URL");
}

#[test]
fn a_store_that_cannot_be_reached_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = Settings { retries: 1, ..settings(free) };
    let bucket = open("s3://traces", &settings);
    let want = "cannot create an object: no connection: s3://traces/x";
    check(bucket.put_new("x", "1"), want, "check AWS_ENDPOINT_URL and the network");
    assert!(bucket.head("x").unwrap_err().is_temporary());
}

#[test]
fn a_store_that_is_silent_or_fails_is_named_and_can_be_canceled() {
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), FaultPlan::always(Fault::Silence)).unwrap();
    let usual = settings(proxy.address());
    let hasty = Settings { retries: 1, request_timeout: Duration::from_millis(200), ..usual.clone() };
    let want = "cannot read an object: no answer in time: s3://traces/x";
    check(open("s3://traces", &hasty).get("x", UNWATCHED), want, "check the network and AWS_ENDPOINT_URL");

    let (begin, stop) = (Instant::now(), |_| ControlFlow::Break(()));
    let error = open("s3://traces", &usual).get("x", &stop).unwrap_err();
    assert_eq!(error.to_string(), "canceled: s3://traces/x");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());

    proxy.change(FaultPlan::always(Fault::Busy));
    let want = "cannot write an object: HTTP 503 SlowDown: s3://traces/x";
    let hasty = open("s3://traces", &Settings { retries: 2, ..usual });
    check(hasty.put("x", "1"), want, "try again later");
    proxy.change(FaultPlan::always(Fault::TruncatedList));
    let want = "cannot list objects: the answer is incomplete: s3://traces";
    check(hasty.list("", UNWATCHED), want, "try again");
    proxy.change(FaultPlan::always(Fault::Conflict));
    let want = "cannot create an object: HTTP 409 ConditionalRequestConflict: s3://traces/x";
    check(hasty.put_new("x", "1"), want, "another writer is at the same object");
}

#[test]
fn settings_that_cannot_work_are_refused_before_a_request() {
    let open_at = |place: &str, pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let settings = Settings::new(pairs.collect::<BTreeMap<_, _>>());
        Bucket::open_with(&Place::parse(place).unwrap(), &settings)
    };
    let open = |pairs: &[(&str, &str)]| open_at("s3://traces/p", pairs);
    let endpoint = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000");
    let want = "found an address without TLS, http://127.0.0.1:9000: s3://traces/p";
    check(open(&[endpoint, ("AWS_ACCESS_KEY_ID", "a")]), want, "set AWS_ALLOW_HTTP=true");
    let keys = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL";
    check(open(&[("AWS_ACCESS_KEY_ID", "a")]), "wrong settings: Missing SecretAccessKey: s3://traces/p", keys);
    let keys = "check AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_ENDPOINT";
    check(open_at("az://traces", &[]), "wrong settings: Account must be specified: az://traces", keys);
}
