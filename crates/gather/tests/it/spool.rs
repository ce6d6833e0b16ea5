//! What is kept is there, whatever happens to the process, and what is not kept leaves nothing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stepscope_gather::{GatherError, Spool, SpoolState};
use stepscope_model::Hint;
use stepscope_objects::Place;
use stepscope_store::pack::{Depth, Pack};

use crate::fixture::{Fixture, files};

#[test]
fn a_pack_is_kept_under_its_key_and_its_place() {
    let fixture = Fixture::new(3);
    assert_eq!(fixture.spool.state().unwrap(), SpoolState::default());
    let kept: Vec<_> = (0..3).map(|rank| fixture.keep(rank, "s3://bucket/prefix")).collect();
    for (rank, kept) in kept.iter().enumerate() {
        assert_eq!(kept.key, fixture.key(rank));
        assert!(kept.path.ends_with(&kept.key), "{}", kept.path.display());
        let pack = Pack::verify(&kept.path).unwrap();
        assert_eq!((&pack.record, pack.size_bytes), (&fixture.records[rank], kept.size_bytes));
        let folder = kept.path.to_str().unwrap().strip_suffix(&kept.key).unwrap();
        assert_eq!(fs::read_to_string(Path::new(folder).join("place")).unwrap(), "s3://bucket/prefix");
    }
    let state = fixture.spool.state().unwrap();
    assert_eq!((state.packs, state.refused), (3, 0));
    assert_eq!(state.bytes, kept.iter().map(|kept| kept.size_bytes).sum::<u64>());
    assert!(state.oldest.unwrap() < Duration::from_mins(5), "{state:?}");

    // Kept again, and for another place: what a name stands for is there once in each.
    fixture.keep(0, "s3://bucket/prefix");
    assert_eq!(fixture.spool.state().unwrap().packs, 3);
    fixture.keep(0, "s3://bucket/other");
    assert_eq!(fixture.spool.state().unwrap().packs, 4);
    let sums = fixture.spool.keep(
        &fixture.store,
        &fixture.records[0],
        Depth::Sums,
        &Place::parse("s3://bucket/other").unwrap(),
    );
    assert!(sums.unwrap().key.ends_with(".sums.pack"));
}

#[test]
fn a_full_spool_refuses_the_newest_and_counts_it() {
    let fixture = Fixture::new(2);
    let first = fixture.keep(0, "s3://bucket");
    let place = Place::parse("s3://bucket").unwrap();
    let before = files(fixture.spool.root());
    // Too small for the second pack, then too small for anything.
    for (count, limit) in [(1, first.size_bytes + 100), (2, first.size_bytes), (3, 0)] {
        let spool = Spool::at(fixture.spool.root(), limit);
        let error = spool.keep(&fixture.store, &fixture.records[1], Depth::Full, &place).unwrap_err();
        assert!(matches!(error, GatherError::Full { .. }), "{error}");
        let words = error.to_string();
        let path = spool.root().display().to_string();
        assert!(words.starts_with("the spool is full: found "), "{words}");
        assert!(words.ends_with(&format!(" bytes, expected at most {limit}: {path}")), "{words}");
        assert!(error.hint().unwrap().contains("STEPSCOPE_SPOOL_LIMIT"));
        // Another process sees it.
        let state = Spool::at(fixture.spool.root(), 0).state().unwrap();
        assert_eq!((state.packs, state.bytes, state.refused), (1, first.size_bytes, count));
    }
    assert_eq!(files(fixture.spool.root()), before);
    fixture.keep(1, "s3://bucket");
}

#[test]
fn a_source_that_cannot_be_read_is_not_the_fault_of_the_spool() {
    let fixture = Fixture::new(1);
    fixture.keep(0, "s3://bucket");
    let before = files(fixture.spool.root());
    let place = Place::parse("s3://bucket").unwrap();
    fs::remove_dir_all(fixture.store.root().join("runs/run/steps")).unwrap();
    let error = fixture.spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap_err();
    assert!(error.to_string().starts_with("the store lacks a file of the table steps: "), "{error}");
    assert_eq!(fixture.spool.state().unwrap().refused, 0);
    assert_eq!(files(fixture.spool.root()), before);
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let fixture = Fixture::new(1);
    fixture.keep(0, "s3://bucket");
    // A folder of this machine whose lock nobody holds.
    let dead = fixture.spool.root().join(format!(".tmp-{}-dead", stepscope_store::owned::machine_tag()));
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    fs::write(dead.join("pack"), vec![0; 1000]).unwrap();
    let state = fixture.spool.state().unwrap();
    assert_eq!((state.packs, state.refused), (1, 0));
    fixture.keep(0, "s3://bucket");
    assert!(!dead.exists());
}

#[test]
fn a_place_that_cannot_be_written_down_is_refused() {
    let fixture = Fixture::new(1);
    let place = Place::Folder("a\n".into());
    let error = fixture.spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap_err();
    assert!(matches!(error, GatherError::BadPlace { .. }), "{error}");
    assert_eq!(fixture.spool.state().unwrap().packs, 0);
}
