//! What holds for a folder and for a bucket alike.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::thread;

use stepscope_objects::{Bucket, Conditions, ObjectError, Put, UNWATCHED};
use stepscope_testkit::S3Server;

use crate::server::{bucket_of, open, settings};

/// Checks a bucket of a server, and a folder.
fn on_both(check: fn(&Bucket)) {
    check(&bucket_of(&S3Server::start().unwrap(), "a/prefix"));
    let server = S3Server::start().unwrap();
    check(&open("s3://traces", &settings(server.address())));
    let folder = tempfile::tempdir().unwrap();
    check(&open(&folder.path().join("not/there/yet").to_string_lossy(), &settings(server.address())));
}

fn keys(bucket: &Bucket, prefix: &str) -> Vec<String> {
    bucket.list(prefix, UNWATCHED).unwrap().into_iter().map(|entry| entry.key).collect()
}

#[test]
fn an_object_is_created_once() {
    on_both(|bucket| {
        assert_eq!(bucket.put_new("runs/a/x.pack", &b"12345"[..]).unwrap(), Put::Created);
        assert_eq!(bucket.put_new("runs/a/x.pack", &b"12345"[..]).unwrap(), Put::Found);
        let error = bucket.put_new("runs/a/x.pack", &b"123"[..]).unwrap_err();
        let at = format!("{}/runs/a/x.pack", bucket.place());
        assert_eq!(error.to_string(), format!("found an object of 5 bytes, expected 3: {at}"));
        assert_eq!(bucket.get("runs/a/x.pack", UNWATCHED).unwrap(), "12345");
        assert_eq!(bucket.put_new("empty", Vec::new()).unwrap(), Put::Created);
        assert_eq!(bucket.get("empty", UNWATCHED).unwrap(), "");
    });
}

#[test]
fn folders_of_keys_are_listed_without_what_is_in_them() {
    on_both(|bucket| {
        let folders = |prefix: &str| bucket.folders(prefix, UNWATCHED).unwrap();
        assert_eq!(folders("runs/a/in"), Vec::<String>::new());
        for key in ["in/2026-11-16T05/a/x", "in/0/b/y", "in/0/b/z", "in/2026-11-16T05/c/x", "other", "in/file"] {
            bucket.put_new(&format!("runs/a/{key}"), "1").unwrap();
        }
        assert_eq!(folders("runs/a/in"), ["0", "2026-11-16T05"]);
        assert_eq!(folders("runs/a/in/0"), ["b"]);
        assert_eq!(folders("runs"), ["a"]);
        assert_eq!(folders(""), ["runs"]);
    });
}

#[test]
fn an_object_is_overwritten_read_and_deleted() {
    on_both(|bucket| {
        bucket.put("manifest/latest", "1").unwrap();
        bucket.put("manifest/latest", "17").unwrap();
        assert_eq!(bucket.get("manifest/latest", UNWATCHED).unwrap(), "17");
        let found = bucket.head("manifest/latest").unwrap().unwrap();
        assert_eq!((found.key.as_str(), found.size_bytes), ("manifest/latest", 2));
        // Some time after 2020.
        assert!(found.modified_ns > 1_577_836_800_000_000_000, "{}", found.modified_ns);

        bucket.delete("manifest/latest").unwrap();
        bucket.delete("manifest/latest").unwrap();
        assert_eq!(bucket.head("manifest/latest").unwrap(), None);
        let error = bucket.get("manifest/latest", UNWATCHED).unwrap_err();
        assert_eq!(error.to_string(), format!("found no object: {}/manifest/latest", bucket.place()));
        assert!(error.is_not_found());
        assert!(bucket.get_range("manifest/latest", 0..1).unwrap_err().is_not_found());
    });
}

#[test]
fn ranges_are_whole_or_an_error() {
    on_both(|bucket| {
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        bucket.put_new("x", bytes.clone()).unwrap();
        assert_eq!(bucket.get_range("x", 100..5_000).unwrap(), &bytes[100..5_000]);
        assert_eq!(bucket.get_range("x", 7..7).unwrap(), "");
        let ranges = [150_000..200_000, 0..1, 7..7, 0..200_000];
        let found = bucket.get_ranges("x", &ranges).unwrap();
        for (found, range) in found.iter().zip(ranges) {
            assert_eq!(found, &bytes[range.start as usize..range.end as usize]);
        }
        assert!(bucket.get_range("x", 199_999..200_001).is_err());
        assert!(bucket.get_range("x", 300_000..300_001).is_err());
    });
}

#[test]
fn listings_are_sorted_and_begin_behind_their_offset() {
    on_both(|bucket| {
        for key in ["runs/a/2", "runs/a/10", "runs/a/1/x", "runs/ab/1", "other"] {
            bucket.put_new(key, key.to_owned()).unwrap();
        }
        assert_eq!(keys(bucket, "runs/a"), ["runs/a/1/x", "runs/a/10", "runs/a/2"]);
        assert_eq!(keys(bucket, ""), ["other", "runs/a/1/x", "runs/a/10", "runs/a/2", "runs/ab/1"]);
        assert_eq!(keys(bucket, "nothing"), Vec::<String>::new());
        let after: Vec<_> = bucket.list_offset("runs", "runs/a/10", UNWATCHED).unwrap();
        let after: Vec<_> = after.iter().map(|entry| (entry.key.as_str(), entry.size_bytes)).collect();
        assert_eq!(after, [("runs/a/2", 8), ("runs/ab/1", 9)]);
    });
}

#[test]
fn of_racing_creators_one_wins() {
    on_both(|bucket| {
        for round in 0..4 {
            let key = format!("manifest/{round}.json");
            let create = |writer: usize| bucket.put_new(&key, format!("writer {writer:02}"));
            let outcomes: Vec<Put> = thread::scope(|scope| {
                let racers: Vec<_> = (0..16).map(|writer| scope.spawn(move || create(writer))).collect();
                racers.into_iter().map(|racer| racer.join().unwrap().unwrap()).collect()
            });
            let winners: Vec<usize> = (0..16).filter(|writer| outcomes[*writer] == Put::Created).collect();
            assert_eq!(winners.len(), 1, "{outcomes:?}");
            assert_eq!(bucket.get(&key, UNWATCHED).unwrap(), format!("writer {:02}", winners[0]));
        }
    });
}

#[test]
fn conditions_are_tried_without_a_change_of_what_is_there() {
    on_both(|bucket| {
        assert_eq!(bucket.conditions("stepscope.json", b"{}").unwrap(), Conditions::Kept);
        assert_eq!(bucket.conditions("stepscope.json", b"another").unwrap(), Conditions::Kept);
        assert_eq!(bucket.get("stepscope.json", UNWATCHED).unwrap(), "{}");
    });
}

#[test]
fn files_are_uploaded_and_transfers_are_followed() {
    on_both(|bucket| {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 241) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(bucket.put_parts("x.pack", file.path(), UNWATCHED).unwrap(), Put::Created);
        assert_eq!(bucket.put_parts("x.pack", file.path(), UNWATCHED).unwrap(), Put::Found);
        let seen = Cell::new(0);
        let watch = |done: u64| {
            assert!(done >= seen.get(), "{done} after {}", seen.get());
            seen.set(done);
            ControlFlow::Continue(())
        };
        assert_eq!(bucket.get("x.pack", &watch).unwrap(), bytes);
        assert_eq!(seen.get(), 5_000_000);
        let error = bucket.put_parts("y", &file.path().join("no"), UNWATCHED).unwrap_err();
        assert!(matches!(error, ObjectError::Io { .. }), "{error}");
    });
}
