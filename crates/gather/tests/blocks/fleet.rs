//! A store with packs of a made-up fleet, and what its tables say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use stepscope_gather::{CompactOptions, Compaction, QUIET, compact};
use stepscope_model::SourceId;
use stepscope_objects::{Bucket, Bytes, Place, Settings, UNWATCHED};
use stepscope_store::StoreError;
use stepscope_store::block::{self, BlockId, BlockSource};
use stepscope_store::manifest::{self, Manifest};
use stepscope_store::pack::{Depth, Pack, PackName, is_sums, packs_folder};
use stepscope_testkit::{S3Server, TinySource};

pub(crate) const RUN: &str = "job";

/// 2026-11-16T05:30:00Z, when all of this happens.
pub(crate) const NOW_NS: i64 = 1_794_807_000_000_000_000;

pub(crate) const HOUR_NS: i64 = 3_600_000_000_000;

/// A store in a folder or a bucket, which goes away with it.
pub(crate) struct Fleet {
    pub(crate) bucket: Bucket,
    folder: Option<tempfile::TempDir>,
    server: Option<S3Server>,
}

/// Runs a test on a folder and on a server.
pub(crate) fn on_both(test: impl Fn(&Fleet)) {
    test(&Fleet::folder());
    test(&Fleet::server());
}

impl Fleet {
    pub(crate) fn folder() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::open(&Place::Folder(folder.path().to_owned())).unwrap();
        Self { bucket, folder: Some(folder), server: None }
    }

    pub(crate) fn server() -> Self {
        let server = S3Server::start().unwrap();
        let bucket = reach(server.address(), S3Server::BUCKET);
        Self { bucket, folder: None, server: Some(server) }
    }

    /// The same in a bucket of others.
    pub(crate) fn at(bucket: Bucket) -> Self {
        Self { bucket, folder: None, server: None }
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.server.as_ref().unwrap().address()
    }

    /// Where the folder is.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Uploads the pack of a source.
    pub(crate) fn upload(&self, source: &TinySource, depth: Depth) -> PackName {
        let (name, bytes) = source.pack(RUN, depth).unwrap();
        self.bucket.put_new(&name.object_key(RUN), bytes).unwrap();
        name
    }

    /// Uploads a window of so many ranks.
    pub(crate) fn upload_window(&self, window: u32, ranks: impl IntoIterator<Item = u32>, world: u32) {
        for rank in ranks {
            self.upload(&tiny(rank, window, world), Depth::Sums);
        }
    }

    pub(crate) fn compact(&self, options: &CompactOptions) -> Compaction {
        compact(&self.bucket, RUN, options, QUIET).unwrap()
    }

    pub(crate) fn manifest(&self) -> Manifest {
        manifest::read_newest(&self.bucket, RUN).unwrap().unwrap()
    }

    /// Windows and sources of the live blocks.
    pub(crate) fn blocks(&self) -> Vec<(u32, u64)> {
        self.manifest().blocks.iter().map(|block| (block.windows.0, block.sources)).collect()
    }

    pub(crate) fn sources_of(&self, id: BlockId) -> Vec<BlockSource> {
        let descriptor = block::read(&self.bucket, RUN, id).unwrap();
        block::sources(&self.bucket, RUN, (id, &descriptor), &(0..=u32::MAX), &(0..=u32::MAX)).unwrap()
    }

    /// Every source of the live blocks.
    pub(crate) fn sources(&self) -> Vec<BlockSource> {
        self.manifest().blocks.iter().flat_map(|block| self.sources_of(block.id)).collect()
    }

    /// The rows of every table in blocks, as text, sorted.
    pub(crate) fn rows_of_blocks(&self) -> BTreeMap<String, Vec<String>> {
        let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in self.manifest().blocks {
            let descriptor = block::read(&self.bucket, RUN, entry.id).unwrap();
            for (table, files) in descriptor.tables {
                for file in files.iter().filter(|_| table != "sources") {
                    let bytes = self.bucket.get(&block::file_key(RUN, entry.id, &file.path), UNWATCHED).unwrap();
                    assert_eq!(bytes.len() as u64, file.bytes);
                    let found = rows_of(bytes.to_vec());
                    assert_eq!(found.len() as u64, file.rows);
                    let partition = file.path.split('/').find(|part| part.starts_with("group="));
                    let name = partition.map_or(table.clone(), |partition| format!("{table}/{partition}"));
                    rows.entry(name).or_default().extend(found);
                }
            }
        }
        sorted(rows)
    }

    /// The rows of every table of sums in packs, as text, sorted: of one recording in two depths once, and without those
    /// that contradict each other.
    pub(crate) fn rows_of_packs(&self) -> BTreeMap<String, Vec<String>> {
        let mut keys: BTreeMap<SourceId, BTreeSet<u128>> = BTreeMap::new();
        let mut packs: BTreeMap<(SourceId, u128), String> = BTreeMap::new();
        for entry in self.bucket.list(&packs_folder(RUN), UNWATCHED).unwrap() {
            let (_, name) = PackName::parse(&entry.key).unwrap();
            keys.entry(name.id).or_default().insert(name.key);
            packs.insert((name.id, name.key), entry.key);
        }
        let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ((_, _), key) in packs.iter().filter(|((id, _), _)| keys[id].len() == 1) {
            let (pack, bytes) = self.pack(key);
            let part = |range: Range<u64>| bytes.slice(range.start as usize..range.end as usize);
            for member in pack.members.iter().filter(|member| is_sums(member.table)) {
                let table = member.table.name.to_owned();
                let name = member.partition.map_or(table.clone(), |partition| format!("{table}/group={partition}"));
                rows.entry(name).or_default().extend(rows_of(part(member.range()).to_vec()));
            }
        }
        sorted(rows)
    }

    /// A pack, and its bytes.
    fn pack(&self, key: &str) -> (Pack, Bytes) {
        let bytes = self.bucket.get(key, UNWATCHED).unwrap();
        let part = |range: Range<u64>| Ok::<_, StoreError>(bytes.slice(range.start as usize..range.end as usize));
        (Pack::read(key.as_ref(), bytes.len() as u64, part).unwrap(), bytes)
    }

    /// Every object of the blocks with its bytes, by key.
    pub(crate) fn objects_of_blocks(&self) -> BTreeMap<String, Vec<u8>> {
        let listed = self.bucket.list(&block::folder(RUN), UNWATCHED).unwrap();
        listed
            .into_iter()
            .map(|entry| (entry.key.clone(), self.bucket.get(&entry.key, UNWATCHED).unwrap().to_vec()))
            .collect()
    }

    /// Checks everything that must always hold.
    #[track_caller]
    pub(crate) fn check(&self) {
        let newest = self.manifest();
        for n in 1..=newest.n {
            assert_eq!(manifest::read(&self.bucket, RUN, n).unwrap().unwrap().n, n);
        }
        let mut seen = BTreeSet::new();
        for source in self.sources() {
            assert!(seen.insert((source.pack.name.id, source.pack.name.key)), "twice: {:?}", source.pack.name);
            assert_eq!(*source.record, self.pack(&source.pack.name.object_key(RUN)).0.record);
        }
        assert_eq!(self.rows_of_blocks(), self.rows_of_packs());
    }
}

/// A bucket at an address, with short waits.
pub(crate) fn reach(address: std::net::SocketAddr, bucket: &str) -> Bucket {
    let settings = Settings {
        first_wait: Duration::from_millis(5),
        request_timeout: Duration::from_secs(20),
        ..Settings::new(S3Server::environment(address))
    };
    Bucket::open_with(&Place::parse(&format!("s3://{bucket}/store")).unwrap(), &settings).unwrap()
}

/// A source of the hour that ended half an hour ago.
pub(crate) fn tiny(rank: u32, window: u32, world: u32) -> TinySource {
    TinySource::new(rank, window, world, NOW_NS - HOUR_NS)
}

/// Takes what is there.
pub(crate) fn at_once() -> CompactOptions {
    CompactOptions { settle: Duration::ZERO, now_ns: Some(NOW_NS), ..CompactOptions::default() }
}

fn rows_of(bytes: Vec<u8>) -> Vec<String> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

fn sorted(mut rows: BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    for rows in rows.values_mut() {
        rows.sort_unstable();
    }
    rows
}
