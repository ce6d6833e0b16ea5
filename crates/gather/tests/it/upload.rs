//! Packs leave the spool when their place has them, and not before.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use stepscope_gather::{GatherError, Patience, Spool, UploadProgress, Uploader};
use stepscope_model::Hint;
use stepscope_objects::{Bucket, Place, Settings, UNWATCHED};
use stepscope_store::pack::Depth;
use stepscope_testkit::{FaultPlan, FaultProxy, S3Server};

use crate::fixture::{Fixture, UNSEEN, counts, error_of, files, packs, settings};

#[test]
fn each_source_is_one_request_and_each_place_one_more() {
    let fixture = Fixture::new(20);
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), FaultPlan::none()).unwrap();
    let kept = fixture.keep_all("s3://traces/a");
    fixture.keep(0, "s3://traces/b");
    // The marker of one store is there, that of the other is made by the first upload.
    let direct = settings(server.address());
    let bucket = Bucket::open_with(&Place::parse("s3://traces/a").unwrap(), &direct).unwrap();
    stepscope_store::marker::ensure(&bucket).unwrap();

    let mut uploader = Uploader::new(&fixture.spool, settings(proxy.address()));
    let report = uploader.upload(UNSEEN).unwrap();
    assert_eq!(counts(&report), [21, 0, 0, 0], "{report:?}");
    assert_eq!(report.bytes(), kept.values().map(Vec::len).sum::<usize>() as u64 + kept[&fixture.key(0)].len() as u64);
    let places: BTreeSet<&str> = report.places.iter().map(|place| place.place.as_str()).collect();
    assert_eq!(places, BTreeSet::from(["s3://traces/a", "s3://traces/b"]));
    assert_eq!(packs("s3://traces/a", &direct), kept);
    assert_eq!(packs("s3://traces/b", &direct).len(), 1);
    let requests = proxy.requests();
    // Three for a new marker: to create it, to try that again, and to write down what came of it.
    assert_eq!((requests["PUT"], requests["GET"], requests.get("HEAD")), (21 + 3, 1 + 3, None));
    assert_eq!(fixture.spool.state().unwrap().packs, 0);
    let left: Vec<String> = files(fixture.spool.root()).into_iter().filter(|file| !file.ends_with("place")).collect();
    assert_eq!(left, ["refused"]);

    // What is kept and uploaded again is there: one request, one look, and no question about the marker.
    fixture.keep(3, "s3://traces/a");
    let report = uploader.upload(UNSEEN).unwrap();
    assert_eq!(counts(&report), [0, 1, 0, 0]);
    let again = proxy.requests();
    assert_eq!((again["PUT"], again["GET"], again["HEAD"]), (21 + 3 + 1, 1 + 3, 1));
    assert_eq!(packs("s3://traces/a", &direct), kept);
    assert_eq!(counts(&uploader.upload(UNSEEN).unwrap()), [0, 0, 0, 0]);
}

#[test]
fn another_process_sends_what_a_restart_finds() {
    let fixture = Fixture::new(4);
    let server = S3Server::start().unwrap();
    let kept = fixture.keep_all("s3://traces");
    let spool = Spool::at(fixture.spool.root(), 0);
    let report = Uploader::new(&spool, settings(server.address())).upload(UNSEEN).unwrap();
    assert_eq!(counts(&report), [4, 0, 0, 0]);
    assert_eq!(packs("s3://traces", &settings(server.address())), kept);
}

#[test]
fn several_at_once_send_each_pack_once() {
    let fixture = Fixture::new(24);
    let server = S3Server::start().unwrap();
    let slow = FaultPlan { latency: Duration::from_millis(20), ..FaultPlan::none() };
    let proxy = FaultProxy::start(server.address(), slow).unwrap();
    let kept = fixture.keep_all("s3://traces");
    let direct = settings(server.address());
    fixture.upload(&direct);
    assert_eq!(fixture.keep_all("s3://traces/p"), kept);
    let bucket = Bucket::open_with(&Place::parse("s3://traces/p").unwrap(), &direct).unwrap();
    stepscope_store::marker::ensure(&bucket).unwrap();
    let settings = settings(proxy.address());
    let all: Vec<[u64; 4]> = thread::scope(|scope| {
        let uploads: Vec<_> = (0..4).map(|_| scope.spawn(|| counts(&fixture.upload(&settings)))).collect();
        uploads.into_iter().map(|upload| upload.join().unwrap()).collect()
    });
    assert_eq!(all.iter().map(|counts| counts[0]).sum::<u64>(), 24, "{all:?}");
    assert!(all.iter().all(|counts| counts[1] == 0 && counts[3] == 0), "{all:?}");
    assert_eq!(proxy.requests()["PUT"], 24);
    assert_eq!(packs("s3://traces/p", &direct), kept);
}

#[test]
fn a_folder_is_a_place_while_it_is_there() {
    let fixture = Fixture::new(2);
    let folder = fixture.place_folder("shared");
    let kept = fixture.keep_all(folder.to_str().unwrap());
    fs::remove_dir(&folder).unwrap();
    let nothing = Settings::new(std::collections::BTreeMap::new());
    let mut uploader = Uploader::new(&fixture.spool, nothing.clone());
    let report = uploader.upload(UNSEEN).unwrap();
    assert_eq!(counts(&report), [0, 0, 0, 2]);
    assert_eq!(error_of(&report), format!("found no folder: {}", folder.display()));
    assert!(!folder.exists(), "its disk may be mounted there later");
    fs::create_dir(&folder).unwrap();
    assert_eq!(counts(&uploader.upload(UNSEEN).unwrap()), [2, 0, 0, 0]);
    assert_eq!(packs(folder.to_str().unwrap(), &nothing), kept);
    assert!(folder.join("stepscope.json").is_file());
}

#[test]
fn a_place_that_is_gone_is_named_and_keeps_no_other_back() {
    let fixture = Fixture::new(3);
    let server = S3Server::start().unwrap();
    let settings = settings(server.address());
    fixture.keep_all("s3://missing");
    fixture.keep(0, "s3://traces");
    let report = fixture.upload(&settings);
    assert_eq!(counts(&report), [1, 0, 0, 3]);
    let gone = report.places.iter().find(|place| place.place == "s3://missing").unwrap();
    assert_eq!((gone.left, gone.uploaded), (3, 0));
    let error = gone.error.as_ref().unwrap();
    assert!(error.to_string().contains("HTTP 404 NoSuchBucket: s3://missing/"), "{error}");
    assert!(error.hint().unwrap().contains("create the bucket"), "{:?}", error.hint());
    assert!(report.places.iter().all(|place| place.place == "s3://missing" || place.error.is_none()));
    assert_eq!(fixture.spool.state().unwrap().packs, 3);
    fs::create_dir(server.folder().parent().unwrap().join("missing")).unwrap();
    assert_eq!(counts(&fixture.upload(&settings)), [3, 0, 0, 0]);
}

#[test]
fn packs_without_a_place_stay_and_are_named() {
    let fixture = Fixture::new(1);
    let kept = fixture.keep(0, "s3://traces");
    let folder = kept.path.to_str().unwrap().strip_suffix(&kept.key).unwrap().to_owned();
    fs::remove_file(format!("{folder}place")).unwrap();
    let report = fixture.upload(&Settings::new(std::collections::BTreeMap::new()));
    assert_eq!(counts(&report), [0, 0, 0, 1]);
    assert!(error_of(&report).starts_with("found no place for these packs: "), "{}", error_of(&report));
    assert_eq!(fixture.spool.state().unwrap().packs, 1);
}

#[test]
fn another_writing_of_a_recording_is_the_same_and_anything_else_is_not() {
    let fixture = Fixture::new(2);
    let server = S3Server::start().unwrap();
    let settings = settings(server.address());
    let bucket = Bucket::open_with(&Place::parse("s3://traces").unwrap(), &settings).unwrap();
    let mut other = fixture.records[0].clone();
    other.path = "the same trace, elsewhere".to_owned();
    let mut bytes = Vec::new();
    stepscope_store::pack::write_pack(&fixture.store, &other, Depth::Full, &mut bytes, "x".as_ref()).unwrap();
    bucket.put_new(&fixture.key(0), bytes.clone()).unwrap();
    bucket.put_new(&fixture.key(1), "no pack").unwrap();
    fixture.keep_all("s3://traces");
    let report = fixture.upload(&settings);
    assert_eq!(counts(&report), [0, 1, 0, 1]);
    assert!(error_of(&report).starts_with("found an object of 7 bytes, expected "), "{}", error_of(&report));
    assert_eq!(bucket.get(&fixture.key(0), UNWATCHED).unwrap(), bytes);
    assert_eq!(bucket.get(&fixture.key(1), UNWATCHED).unwrap(), "no pack");
}

#[test]
fn uploads_are_followed_canceled_and_spread() {
    let fixture = Fixture::new(6);
    let server = S3Server::start().unwrap();
    let kept = fixture.keep_all("s3://traces");
    let bytes: u64 = kept.values().map(|pack| pack.len() as u64).sum();
    let last = Cell::new(UploadProgress::default());
    let watch = |progress: UploadProgress| {
        assert_eq!((progress.packs, progress.bytes), (6, bytes));
        assert!(progress.packs_done >= last.get().packs_done && progress.bytes_done >= last.get().bytes_done);
        last.set(progress);
        if progress.packs_done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut uploader = Uploader::new(&fixture.spool, settings(server.address()));
    let report = uploader.upload(&watch).unwrap();
    assert!(report.is_canceled);
    assert_eq!(counts(&report), [2, 0, 0, 4]);
    assert_eq!(fixture.spool.state().unwrap().packs, 4);

    // The others go one after the other, when it is their time.
    let (begin, spread) = (Instant::now(), Duration::from_millis(1500));
    let mut uploader = Uploader::new(&fixture.spool, settings(server.address())).with_spread(spread);
    fixture.keep_all("s3://traces");
    let report = uploader.upload(UNSEEN).unwrap();
    assert_eq!(counts(&report), [4, 2, 0, 0]);
    assert!(begin.elapsed() > Duration::from_millis(300), "{:?}", begin.elapsed());

    // What has waited long enough goes at once.
    let begin = Instant::now();
    for rank in 0..6 {
        let kept = fixture.keep(rank, "s3://traces");
        fs::File::open(&kept.path).unwrap().set_modified(SystemTime::now() - Duration::from_mins(2)).unwrap();
    }
    let mut uploader = Uploader::new(&fixture.spool, settings(server.address())).with_spread(Duration::from_mins(1));
    assert_eq!(counts(&uploader.upload(UNSEEN).unwrap()), [0, 6, 0, 0]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn the_background_goes_on_until_the_spool_is_empty() {
    let fixture = Fixture::new(3);
    let folder = fixture.place_folder("shared");
    fixture.keep_all(folder.to_str().unwrap());
    fs::rename(&folder, folder.with_extension("away")).unwrap();
    let nothing = Settings::new(std::collections::BTreeMap::new());
    let patience = Patience { every: Duration::from_millis(50), total: Duration::from_mins(10) };
    let report = thread::scope(|scope| {
        let background = scope
            .spawn(|| Uploader::new(&fixture.spool, nothing.clone()).upload_until(patience, UNSEEN).unwrap().unwrap());
        thread::sleep(Duration::from_millis(200));
        // There is one of them on a machine.
        let second = Uploader::new(&fixture.spool, nothing.clone()).upload_until(patience, UNSEEN).unwrap();
        assert!(second.is_none(), "{second:?}");
        fs::rename(folder.with_extension("away"), &folder).unwrap();
        background.join().unwrap()
    });
    assert_eq!(counts(&report), [3, 0, 0, 0]);
    assert!(report.places[0].error.is_none(), "{report:?}");

    // It ends when all packs are too old, and when it is told to.
    fixture.keep_all(folder.to_str().unwrap());
    fs::rename(&folder, folder.with_extension("away")).unwrap();
    let mut uploader = Uploader::new(&fixture.spool, nothing);
    let hasty = Patience { total: Duration::ZERO, ..patience };
    let report = uploader.upload_until(hasty, UNSEEN).unwrap().unwrap();
    assert_eq!(counts(&report), [0, 0, 0, 3]);
    assert!(matches!(report.places[0].error, Some(GatherError::NoFolder { .. })), "{report:?}");
    let begin = Instant::now();
    let stop = |_| {
        if begin.elapsed() > Duration::from_millis(300) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = uploader.upload_until(patience, &stop).unwrap().unwrap();
    assert!(report.is_canceled && report.left() == 3, "{report:?}");
}
