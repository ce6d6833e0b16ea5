//! A disk that is full leaves no part of a pack, and is named.

use stepscope_gather::{GatherError, Spool};
use stepscope_model::Hint;
use stepscope_objects::Place;
use stepscope_store::pack::Depth;
use stepscope_testkit::SmallDisk;

use crate::fixture::{Fixture, files};

#[test]
fn a_full_disk_is_named_counted_and_leaves_no_part() {
    let Some(disk) = SmallDisk::mounted().unwrap() else { return };
    let fixture = Fixture::new(2);
    let place = Place::parse("s3://bucket").unwrap();
    let spool = Spool::at(&disk.path().join("spool"), 1 << 30);
    // On a new spool there is not even space for the place.
    for (count, free) in [(1, 0), (2, 4096), (3, 8192)] {
        disk.fill(free).unwrap();
        let error = spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap_err();
        assert!(matches!(error, GatherError::DiskFull { .. }), "{free}: {error}");
        assert_eq!(error.to_string(), format!("the disk of the spool is full: {}", spool.root().display()));
        assert!(error.hint().unwrap().contains("STEPSCOPE_SPOOL "), "{:?}", error.hint());
        let state = spool.state().unwrap();
        assert_eq!((state.packs, state.bytes, state.refused), (0, 0, count), "{free}");
        assert!(!files(spool.root()).iter().any(|file| file.contains("pack")), "{:?}", files(spool.root()));
    }
    disk.fill(1 << 20).unwrap();
    spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap();
    disk.fill(0).unwrap();
    spool.keep(&fixture.store, &fixture.records[1], Depth::Full, &place).unwrap_err();
    let state = spool.state().unwrap();
    assert_eq!((state.packs, state.refused), (1, 4));
}
