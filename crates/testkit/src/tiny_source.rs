//! Sources with a few made-up rows in every table, as packs: for tests of stores with many of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepscope_model::tables::{ALL_COLLECTIVES, COUNTERS, SOURCE_COLUMNS, TABLES};
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_model::{ColumnType, Content, Device, RankFrom, RowCounts, SourceId, SourceRecord, StepSource, Table};
use stepscope_store::pack::{Depth, PackName, is_sums, write_pack};
use stepscope_store::{RowWriter, SourceWriter, Store, StoreError};

use crate::random::Random;

/// A source to make up.
#[derive(Clone, Debug)]
pub struct TinySource {
    /// Rank and window.
    pub id: SourceId,
    /// Another seed makes another recording.
    pub seed: u64,
    /// Ranks of its job, as it recorded.
    pub world: u32,
    /// When its last event ended, since 1970.
    pub last_ns: i64,
    /// Rows of each table.
    pub rows: u32,
    /// Partitions of its collectives.
    pub partitions: Vec<u32>,
    /// Versions that it claims to be written with.
    pub versions: (u32, u32),
}

impl TinySource {
    /// A source of a job of so many ranks, with a few rows.
    #[must_use]
    pub fn new(rank: u32, window: u32, world: u32, last_ns: i64) -> Self {
        let id = SourceId { rank, window };
        let (partitions, versions) = (vec![3, 40], (SCHEMA_VERSION, DERIVATION_VERSION));
        Self { id, seed: 0, world, last_ns, rows: 3, partitions, versions }
    }

    /// Its name and its pack.
    pub fn pack(&self, run: &str, depth: Depth) -> Result<(PackName, Vec<u8>), StoreError> {
        let parent = memory_dir();
        let io = |source| StoreError::Io { action: "create a folder", path: parent.clone(), source };
        let folder = tempfile::tempdir_in(&parent).map_err(io)?;
        let store = Store::create(folder.path())?;
        let mut record = self.commit(&store, run)?;
        (record.schema_version, record.derivation_version) = self.versions;
        let mut bytes = Vec::new();
        write_pack(&store, &record, depth, &mut bytes, Path::new("tiny.pack"))?;
        Ok((PackName::of(&record, depth), bytes))
    }

    /// Writes it into a store in the folder form.
    pub fn commit(&self, store: &Store, run: &str) -> Result<SourceRecord, StoreError> {
        let mut source = SourceWriter::begin(store, run, self.id)?;
        let mut random = Random::new(self.seed ^ (u64::from(self.id.rank) << 32) ^ u64::from(self.id.window));
        for table in TABLES.into_iter().filter(|table| is_sums(table) || table.name == COUNTERS.name) {
            if table.name == ALL_COLLECTIVES.name {
                for partition in &self.partitions {
                    self.fill(source.partition_rows(table, *partition, ())?, table, &mut random)?;
                }
            } else {
                self.fill(source.rows(table, ())?, table, &mut random)?;
            }
        }
        source.commit(self.record())
    }

    fn fill(&self, mut rows: RowWriter<()>, table: &Table, random: &mut Random) -> Result<(), StoreError> {
        for _ in 0..self.rows {
            for column in table.columns().skip(SOURCE_COLUMNS.len()) {
                let value = random.below(1000) as i64;
                match column.column_type {
                    _ if column.nullable && value % 5 == 0 => rows.null(),
                    ColumnType::I32 => rows.i32(value as i32),
                    ColumnType::I64 => rows.i64(value * 1_000_003),
                    ColumnType::F64 => rows.f64(value as f64 / 8.0),
                    ColumnType::Bool => rows.bool(value % 2 == 0),
                    ColumnType::Text => rows.text(format!("{} {}", column.name, value % 7).as_str()),
                };
            }
            rows.end_row()?;
        }
        rows.finish()
    }

    /// Those of a host with two devices; every third rank describes none.
    fn devices(&self) -> Option<Vec<Device>> {
        let device = |id| Device { id: Some(id), name: Some("Tiny".to_owned()), ..Device::default() };
        (!self.id.rank.is_multiple_of(3)).then(|| vec![device(i64::from(self.id.rank % 2))])
    }

    fn record(&self) -> SourceRecord {
        let digest = u128::from(self.seed) << 64 | u128::from(self.id.rank) << 32 | u128::from(self.id.window);
        SourceRecord {
            schema_version: SCHEMA_VERSION,
            derivation_version: DERIVATION_VERSION,
            stepscope: env!("CARGO_PKG_VERSION").to_owned(),
            run: String::new(),
            id: self.id,
            rank_from: RankFrom::Header,
            path: format!("rank{}.json", self.id.rank),
            digest: format!("{digest:032x}"),
            format: "kineto".to_owned(),
            content: Content::Events,
            bytes_in: 1000,
            bytes_plain: 2000,
            bytes_out: 0,
            events_in: 0,
            rows: RowCounts::default(),
            partitions: BTreeMap::new(),
            dropped: BTreeMap::new(),
            warnings: BTreeMap::new(),
            notes: Vec::new(),
            events_by_phase_and_category: BTreeMap::new(),
            trace_schema_version: 1.into(),
            base_time_ns: 1,
            header_rank: self.id.rank.into(),
            header_world_size: self.world.into(),
            header: BTreeMap::new(),
            devices: self.devices(),
            clock_resolution_ns: 1,
            first_event_ns: Some(self.last_ns - 1_000_000_000),
            last_event_ns: Some(self.last_ns),
            step_source: StepSource::WholeTrace,
            process_id: None,
            run_id: None,
            apart_because: None,
        }
    }
}

/// A folder in memory where there is one: thousands of files are brought to disk otherwise.
fn memory_dir() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}
