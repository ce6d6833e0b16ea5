//! What comes out when a fifth of the requests break.

use std::thread;
use std::time::Duration;

use stepscope_objects::{Put, Settings, UNWATCHED};
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, S3Server};

use crate::server::{bucket_of, open, settings};

/// Faults that take no longer than the others.
const QUICK: [Fault; 8] = [
    Fault::Error,
    Fault::Busy,
    Fault::BusyStored,
    Fault::Conflict,
    Fault::Reset,
    Fault::ResetStored,
    Fault::Slow,
    Fault::TruncatedList,
];

fn content(number: usize) -> String {
    format!("source {number} ").repeat(1 + number % 20)
}

/// Creates 200 objects through a proxy, and counts those that are not there afterwards.
fn upload(plan: FaultPlan, request_timeout: Duration) {
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), plan).unwrap();
    let bucket = open("s3://traces/p", &Settings { request_timeout, ..settings(proxy.address()) });
    let name = |number: usize| format!("in/{number:03}.pack");
    let found: usize = thread::scope(|scope| {
        let parts: Vec<_> = (0..8)
            .map(|part| {
                let bucket = &bucket;
                let create = move |number: usize| bucket.put_new(&name(number), content(number)).unwrap();
                scope.spawn(move || (part..200).step_by(8).map(create).filter(|put| *put == Put::Found).count())
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    // Each was stored by this very process.
    assert!(found > 0, "no answer was lost: {:?}", proxy.broken());
    let listed: Vec<String> = bucket.list("in", UNWATCHED).unwrap().into_iter().map(|entry| entry.key).collect();
    assert_eq!(listed, (0..200).map(name).collect::<Vec<_>>());
    for number in 0..200 {
        assert_eq!(bucket.get(&name(number), UNWATCHED).unwrap(), content(number));
    }
    let broken = proxy.broken();
    assert!(broken.len() >= 7, "{broken:?}");
    let direct = bucket_of(&server, "p").list("", UNWATCHED).unwrap();
    assert_eq!(direct.len(), 200);
}

#[test]
fn nothing_is_lost_when_a_fifth_of_the_requests_break() {
    let plan = FaultPlan { faults: QUICK.to_vec(), ..FaultPlan::every_way(7, 20) };
    upload(plan, Duration::from_secs(3));
}

#[test]
fn nothing_is_lost_when_some_are_never_answered() {
    upload(FaultPlan::every_way(8, 20), Duration::from_millis(400));
}

#[test]
fn our_own_success_is_success() {
    let server = S3Server::start().unwrap();
    let faults = [Fault::BusyStored, Fault::ResetStored, Fault::SilenceStored];
    for (number, fault) in faults.into_iter().enumerate() {
        // Every second request breaks, so that the second of two tells.
        let plan = FaultPlan { faults: vec![fault], percent: 50, ..FaultPlan::none() };
        let proxy = FaultProxy::start(server.address(), plan).unwrap();
        let quick = Settings { request_timeout: Duration::from_millis(300), ..settings(proxy.address()) };
        let bucket = open("s3://traces", &quick);
        let outcomes: Vec<Put> =
            (0..8).map(|key| bucket.put_new(&format!("{number}/{key}"), "content").unwrap()).collect();
        assert!(outcomes.contains(&Put::Found), "{fault:?}: {outcomes:?}");
        assert_eq!(bucket_of(&server, "").list(&number.to_string(), UNWATCHED).unwrap().len(), 8);
    }
}
