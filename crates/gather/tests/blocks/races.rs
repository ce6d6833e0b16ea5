//! Several compactors at once, compactors that were killed, and requests that fail.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use stepscope_gather::{Compactor, QUIET, verify};
use stepscope_objects::{Bucket, UNWATCHED};
use stepscope_store::block;
use stepscope_store::manifest;
use stepscope_store::pack::Depth;
use stepscope_testkit::{Fault, FaultPlan, FaultProxy};

use crate::fleet::{Fleet, RUN, at_once, on_both, reach, tiny};

/// Runs so many compactors on buckets that are the same, while packs come in.
fn race(fleet: &Fleet, buckets: &[Bucket], windows: u32, ranks: u32) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_done = &is_done;
        scope.spawn(move || {
            for rank in 0..ranks {
                for window in 0..windows {
                    fleet.upload(&tiny(rank, window, ranks), Depth::Sums);
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
        for bucket in buckets {
            scope.spawn(move || {
                let start = || Compactor::new(bucket, RUN, &at_once()).ok();
                let mut compactor = std::iter::repeat_with(start).flatten().next().unwrap();
                loop {
                    let is_last = is_done.load(Ordering::Relaxed);
                    match compactor.round(QUIET) {
                        Ok(_) => {}
                        Err(error) => assert!(error.is_temporary(), "{error}"),
                    }
                    if is_last {
                        return;
                    }
                }
            });
        }
    });
    fleet.compact(&at_once());
    assert_eq!(fleet.sources().len() as u32, windows * ranks);
    fleet.check();
    let found = verify(&fleet.bucket, RUN, UNWATCHED).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(
        (found.sources, found.packs, found.unmerged),
        (u64::from(windows * ranks), u64::from(windows * ranks), 0)
    );
}

#[test]
fn compactors_that_race_lose_nothing_and_double_nothing() {
    on_both(|fleet| race(fleet, &[&fleet.bucket; 4].map(Clone::clone), 3, 12));
}

#[test]
fn failing_requests_lose_nothing_and_double_nothing() {
    let fleet = Fleet::server();
    // Silence and slowness cost a test its time, and are what resets are for everyone but the clock.
    let faults =
        Fault::ALL.into_iter().filter(|fault| !matches!(fault, Fault::Slow | Fault::Silence | Fault::SilenceStored));
    let plan = FaultPlan { faults: faults.collect(), ..FaultPlan::every_way(7, 10) };
    let proxy = FaultProxy::start(fleet.address(), plan).unwrap();
    let bucket = reach(proxy.address(), "traces");
    race(&fleet, &[bucket.clone(), bucket], 2, 6);
}

#[test]
fn whatever_a_killed_compactor_leaves_is_finished_by_the_next() {
    let done = Fleet::folder();
    done.upload_window(40, 0..3, 3);
    done.compact(&at_once());
    let id = done.manifest().blocks[0].id;
    // Files come first, then what describes them, then the manifest, then the hint.
    let descriptor = block::descriptor_key(RUN, id);
    let mut keys: Vec<String> = done.objects_of_blocks().into_keys().filter(|key| *key != descriptor).collect();
    keys.extend([descriptor, manifest::key(RUN, 1), manifest::latest_key(RUN)]);
    for count in 0..=keys.len() {
        let fleet = Fleet::folder();
        fleet.upload_window(40, 0..3, 3);
        for key in &keys[..count] {
            fleet.bucket.put_new(key, done.bucket.get(key, UNWATCHED).unwrap()).unwrap();
        }
        let round = fleet.compact(&at_once());
        assert_eq!(round.added, u64::from(count < keys.len() - 1), "{count}");
        assert_eq!(fleet.objects_of_blocks(), done.objects_of_blocks());
        fleet.check();
    }
}

#[test]
fn a_missing_or_stale_hint_changes_nothing() {
    let fleet = Fleet::folder();
    for window in 0..4 {
        fleet.upload_window(window, 0..2, 2);
        match window {
            1 => fleet.bucket.delete(&manifest::latest_key(RUN)).unwrap(),
            2 => fleet.bucket.put(&manifest::latest_key(RUN), "1").unwrap(),
            3 => fleet.bucket.put(&manifest::latest_key(RUN), "77").unwrap(),
            _ => {}
        }
        assert_eq!(fleet.compact(&at_once()).added, 1);
        fleet.check();
    }
    assert_eq!(fleet.blocks().len(), 4);
}

#[test]
fn opening_takes_three_requests_and_a_block_one() {
    let fleet = Fleet::server();
    fleet.upload_window(40, 0..2, 2);
    fleet.compact(&at_once());
    let proxy = FaultProxy::start(fleet.address(), FaultPlan::none()).unwrap();
    let bucket = reach(proxy.address(), "traces");
    let manifest = manifest::read_newest(&bucket, RUN).unwrap().unwrap();
    assert_eq!(proxy.requests().values().sum::<u64>(), 3);
    let id = manifest.blocks[0].id;
    let descriptor = block::read(&bucket, RUN, id).unwrap();
    block::sources(&bucket, RUN, (id, &descriptor), &(0..=9), &(40..=40)).unwrap();
    assert_eq!(proxy.requests().values().sum::<u64>(), 5);
    assert_eq!(block::sources(&bucket, RUN, (id, &descriptor), &(0..=9), &(41..=41)).unwrap(), []);
    assert_eq!(proxy.requests().values().sum::<u64>(), 5);
}

#[test]
fn a_judge_sees_no_source_lost_or_doubled() {
    let Ok(address) = std::env::var("STEPSCOPE_S3_ENDPOINT") else {
        eprintln!("skipped: it needs `moto_server -p 5000`, then STEPSCOPE_S3_ENDPOINT=127.0.0.1:5000");
        return;
    };
    let address: SocketAddr = address.parse().unwrap();
    let name = format!("judge-{}", std::process::id());
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    let head = format!("PUT /{name} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut socket, head.as_bytes()).unwrap();
    std::io::Read::read_to_end(&mut socket, &mut Vec::new()).unwrap();
    let fleet = Fleet::at(reach(address, &name));
    race(&fleet, &[&fleet.bucket; 3].map(Clone::clone), 2, 8);
}
