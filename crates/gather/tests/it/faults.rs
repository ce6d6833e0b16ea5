//! What comes out when requests break: nothing lost, nothing doubled, nothing told wrong.

use std::time::Duration;

use stepscope_gather::{Patience, Uploader};
use stepscope_objects::Settings;
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, S3Server};

use crate::fixture::{Fixture, UNSEEN, counts, error_of, packs, settings};

/// Uploads through a proxy that breaks requests, and checks what is there.
fn check(faults: &[Fault], percent: usize, seed: u64) -> [u64; 4] {
    let fixture = Fixture::new(16);
    let server = S3Server::start().unwrap();
    let direct = settings(server.address());
    let plan = FaultPlan { seed, percent, faults: faults.to_vec(), latency: Duration::ZERO };
    let proxy = FaultProxy::start(server.address(), plan).unwrap();
    let through = Settings { request_timeout: Duration::from_millis(400), ..settings(proxy.address()) };
    let kept = fixture.keep_all("s3://traces");
    let patience = Patience { every: Duration::from_millis(10), total: Duration::from_mins(10) };
    let report = Uploader::new(&fixture.spool, through).upload_until(patience, UNSEEN).unwrap().unwrap();
    assert_eq!(packs("s3://traces", &direct), kept, "{faults:?}");
    assert_eq!(fixture.spool.state().unwrap().packs, 0);
    assert!(proxy.broken().values().sum::<u64>() > 0, "{faults:?}");
    let counts = counts(&report);
    assert_eq!((counts.iter().sum::<u64>(), counts[3]), (16, 0), "{faults:?}: {counts:?}");
    counts
}

#[test]
fn an_answer_that_is_lost_after_the_pack_was_stored_is_success() {
    for fault in [Fault::BusyStored, Fault::ResetStored, Fault::SilenceStored] {
        let [_, found, ..] = check(&[fault], 40, 3);
        assert!(found > 0, "{fault:?}");
    }
}

#[test]
fn a_request_that_stored_nothing_is_repeated() {
    for fault in [Fault::Error, Fault::Busy, Fault::Conflict, Fault::Reset, Fault::Silence] {
        check(&[fault], 40, 4);
    }
}

#[test]
fn nothing_is_lost_when_a_fifth_breaks_in_every_way() {
    check(&Fault::ALL, 20, 5);
}

#[test]
fn a_store_that_only_fails_leaves_everything_in_the_spool() {
    let fixture = Fixture::new(3);
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), FaultPlan::none()).unwrap();
    let hasty = Settings { retries: 2, request_timeout: Duration::from_millis(200), ..settings(proxy.address()) };
    fixture.keep_all("s3://traces");
    let bucket = stepscope_objects::Place::parse("s3://traces").unwrap();
    stepscope_store::marker::ensure(&stepscope_objects::Bucket::open_with(&bucket, &hasty).unwrap()).unwrap();
    for (fault, words) in [
        (Fault::Busy, "HTTP 503 SlowDown"),
        (Fault::Silence, "no answer in time"),
        (Fault::Error, "HTTP 500 InternalError"),
    ] {
        proxy.change(FaultPlan::always(fault));
        let before = proxy.requests().values().sum::<u64>();
        let report = fixture.upload(&hasty);
        assert_eq!(counts(&report), [0, 0, 0, 3], "{fault:?}");
        assert!(error_of(&report).contains(words), "{fault:?}: {}", error_of(&report));
        // Whatever refuses the first pack would refuse the others alike.
        assert!(proxy.requests().values().sum::<u64>() - before < 25, "{fault:?}");
        assert_eq!(fixture.spool.state().unwrap().packs, 3);
    }
    proxy.change(FaultPlan::none());
    assert_eq!(counts(&fixture.upload(&hasty)), [3, 0, 0, 0]);
}
