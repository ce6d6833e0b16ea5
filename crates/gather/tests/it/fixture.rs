//! Sources, a spool, and buckets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stepscope_gather::{Spool, Spooled, UploadReport, UploadWatch, Uploader};
use stepscope_model::SourceRecord;
use stepscope_objects::{Bucket, Place, Settings, UNWATCHED};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;
use stepscope_store::pack::{Depth, PackName};
use stepscope_testkit::S3Server;

/// The run of every source.
pub(crate) const RUN: &str = "run";

/// For uploads that are not followed.
pub(crate) const UNSEEN: UploadWatch<'static> = &|_| ControlFlow::Continue(());

/// Sources in a store, and an empty spool beside it.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) records: Vec<SourceRecord>,
    pub(crate) spool: Spool,
}

impl Fixture {
    /// A fixture with so many ranks.
    pub(crate) fn new(ranks: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        write_store(&Job { ranks, steps: 2, layers: 2, collectives_per_step: 1, ..Job::default() }, &store, RUN)
            .unwrap();
        let records = store.sources(RUN).unwrap();
        assert_eq!(records.len(), ranks as usize);
        let spool = Spool::at(&folder.path().join("spool"), 1 << 30);
        Self { folder, store, records, spool }
    }

    /// Keeps one source for a place.
    pub(crate) fn keep(&self, rank: usize, place: &str) -> Spooled {
        let place = Place::parse(place).unwrap();
        self.spool.keep(&self.store, &self.records[rank], Depth::Full, &place).unwrap()
    }

    /// Keeps every source for a place, and gives back what is in each pack, by key.
    pub(crate) fn keep_all(&self, place: &str) -> BTreeMap<String, Vec<u8>> {
        let kept = (0..self.records.len()).map(|rank| self.keep(rank, place));
        kept.map(|kept| (kept.key.clone(), std::fs::read(&kept.path).unwrap())).collect()
    }

    /// The key of a source's object.
    pub(crate) fn key(&self, rank: usize) -> String {
        PackName::of(&self.records[rank], Depth::Full).object_key(RUN)
    }

    /// Uploads the spool once.
    pub(crate) fn upload(&self, settings: &Settings) -> UploadReport {
        Uploader::new(&self.spool, settings.clone()).upload(UNSEEN).unwrap()
    }

    /// A folder that can be a place.
    pub(crate) fn place_folder(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Counts of a report: uploaded, found, by others, left.
pub(crate) fn counts(report: &UploadReport) -> [u64; 4] {
    [report.uploaded(), report.found(), report.by_others(), report.left()]
}

/// The first error of a report.
pub(crate) fn error_of(report: &UploadReport) -> String {
    report.places.iter().find_map(|place| place.error.as_ref()).unwrap().to_string()
}

/// Settings for a server or a proxy at an address, with short waits.
pub(crate) fn settings(address: SocketAddr) -> Settings {
    let first_wait = Duration::from_millis(5);
    let environment = S3Server::environment(address);
    Settings { first_wait, request_timeout: Duration::from_secs(20), ..Settings::new(environment) }
}

/// The packs of a bucket with their bytes, by key. Nothing else may be there but the marker.
pub(crate) fn packs(place: &str, settings: &Settings) -> BTreeMap<String, Vec<u8>> {
    let bucket = Bucket::open_with(&Place::parse(place).unwrap(), settings).unwrap();
    let keys = bucket.list("", UNWATCHED).unwrap().into_iter().map(|entry| entry.key);
    let packs = keys.filter(|key| key != "stepscope.json");
    packs.map(|key| (key.clone(), bucket.get(&key, UNWATCHED).unwrap().to_vec())).collect()
}

/// Every file below a folder but locks, by its path in it, sorted.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}
