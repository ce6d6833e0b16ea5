//! A disk that is full leaves no part of a pack, and is named.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use stepscope_gather::{GatherError, Spool};
use stepscope_model::Hint;
use stepscope_objects::Place;
use stepscope_store::pack::Depth;

use crate::fixture::{Fixture, files};

/// A disk of 8 MB that is gone with this.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where nothing can be mounted, which is said.
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self { folder });
        }
        let mut terminal = std::io::stderr();
        writeln!(terminal, "SKIPPED: a disk of 8 MB cannot be mounted here, which takes root").unwrap();
        None
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves so many bytes of it free.
    fn fill(&self, free: usize) {
        let filler = self.path().join("filler");
        let _ = fs::write(&filler, vec![0; 16 << 20]);
        let size = fs::metadata(&filler).unwrap().len();
        fs::OpenOptions::new().write(true).open(&filler).unwrap().set_len(size - free as u64).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

#[test]
fn a_full_disk_is_named_counted_and_leaves_no_part() {
    let Some(disk) = SmallDisk::mounted() else { return };
    let fixture = Fixture::new(2);
    let place = Place::parse("s3://bucket").unwrap();
    let spool = Spool::at(&disk.path().join("spool"), 1 << 30);
    // On a new spool there is not even space for the place.
    for (count, free) in [(1, 0), (2, 4096), (3, 8192)] {
        disk.fill(free);
        let error = spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap_err();
        assert!(matches!(error, GatherError::DiskFull { .. }), "{free}: {error}");
        assert_eq!(error.to_string(), format!("the disk of the spool is full: {}", spool.root().display()));
        assert!(error.hint().unwrap().contains("STEPSCOPE_SPOOL "), "{:?}", error.hint());
        let state = spool.state().unwrap();
        assert_eq!((state.packs, state.bytes, state.refused), (0, 0, count), "{free}");
        assert!(!files(spool.root()).iter().any(|file| file.contains("pack")), "{:?}", files(spool.root()));
    }
    disk.fill(1 << 20);
    spool.keep(&fixture.store, &fixture.records[0], Depth::Full, &place).unwrap();
    disk.fill(0);
    spool.keep(&fixture.store, &fixture.records[1], Depth::Full, &place).unwrap_err();
    let state = spool.state().unwrap();
    assert_eq!((state.packs, state.refused), (1, 4));
}
