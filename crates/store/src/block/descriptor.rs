//! What a block holds: its packs, and its files with their sizes, so that a query is planned without a listing.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_objects::{Bucket, UNWATCHED};

use super::{BlockId, FORMAT, descriptor_key};
use crate::error::StoreError;
use crate::json_object;

/// What the object is called in errors.
const WHAT: &str = "block";

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// Version of the format.
    pub format: u32,
    /// Version of the tables.
    pub schema_version: u32,
    /// Version of the rules that derived the columns.
    pub derivation_version: u32,
    /// Its packs; the table `sources` names each.
    pub packs: PackSet,
    /// The files of each table, by name; a table without rows has none.
    pub tables: BTreeMap<String, Vec<BlockFile>>,
}

/// The packs of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackSet {
    /// Their hours, sorted.
    pub hours: Vec<String>,
    /// How many there are.
    pub count: u64,
    /// Hash of their names: the id of the block.
    pub xxh3: BlockId,
}

/// A Parquet file of a block. Its rows are sorted by window and rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockFile {
    /// Its place in the block, such as `steps/0.parquet`.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Least and largest rank.
    pub ranks: (u32, u32),
    /// First and last window.
    pub windows: (u32, u32),
}

impl BlockFile {
    /// Whether it can have rows of these ranks and windows.
    #[must_use]
    pub fn touches(&self, ranks: &RangeInclusive<u32>, windows: &RangeInclusive<u32>) -> bool {
        let meets =
            |(first, last): (u32, u32), wanted: &RangeInclusive<u32>| first <= *wanted.end() && last >= *wanted.start();
        meets(self.ranks, ranks) && meets(self.windows, windows)
    }
}

impl Descriptor {
    /// The files of a table that can have rows of these ranks and windows.
    pub fn files<'d>(
        &'d self,
        table: &str,
        ranks: &'d RangeInclusive<u32>,
        windows: &'d RangeInclusive<u32>,
    ) -> impl Iterator<Item = &'d BlockFile> {
        self.tables.get(table).into_iter().flatten().filter(move |file| file.touches(ranks, windows))
    }
}

/// Reads what a block holds: one request. A block of another version is refused by name.
pub fn read(bucket: &Bucket, run: &str, id: BlockId) -> Result<Descriptor, StoreError> {
    let key = descriptor_key(run, id);
    let bytes = bucket.get(&key, UNWATCHED)?;
    let value = json_object::parse(WHAT, FORMAT, &bytes, &key)?;
    let corrupt = |reason: String| StoreError::CorruptObject { what: WHAT, reason, key: key.clone() };
    let versions = [
        ("block schema", "schema_version", SCHEMA_VERSION),
        ("block derivation", "derivation_version", DERIVATION_VERSION),
    ];
    for (what, field, expected) in versions {
        let Some(found) = value.get(field).and_then(Value::as_u64) else {
            return Err(corrupt(format!("it has no {field}")));
        };
        if found != u64::from(expected) {
            return Err(StoreError::WrongVersion { what, found, expected, path: PathBuf::from(&key) });
        }
    }
    let descriptor: Descriptor = json_object::decode(WHAT, value, &key)?;
    if descriptor.packs.xxh3 != id {
        return Err(corrupt(format!("it is for the block {}", descriptor.packs.xxh3)));
    }
    Ok(descriptor)
}
