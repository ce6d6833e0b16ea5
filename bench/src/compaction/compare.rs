//! The rows of every table of sums, from blocks and from packs: read without anything that wrote them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use stepscope_model::SourceId;
use stepscope_objects::{Bucket, Bytes, UNWATCHED};
use stepscope_store::StoreError;
use stepscope_store::block::{self, SOURCES};
use stepscope_store::manifest::Manifest;
use stepscope_store::pack::{Pack, PackName, is_sums, packs_folder};

use super::RUN;

/// Rows of tables, and of the partitions of tables, as text.
type Rows = BTreeMap<String, Vec<String>>;

/// What was compared.
pub(super) struct Compared {
    pub(super) rows: u64,
    pub(super) different: Vec<String>,
}

pub(super) fn compare(bucket: &Bucket, manifest: &Manifest) -> Result<Compared> {
    let (blocks, packs) = (of_blocks(bucket, manifest)?, of_packs(bucket)?);
    let tables: BTreeSet<&String> = blocks.keys().chain(packs.keys()).collect();
    let different = tables.into_iter().filter(|table| blocks.get(*table) != packs.get(*table));
    let different = different.cloned().collect();
    Ok(Compared { rows: packs.values().map(|rows| rows.len() as u64).sum(), different })
}

fn of_blocks(bucket: &Bucket, manifest: &Manifest) -> Result<Rows> {
    let mut rows = Rows::new();
    for entry in &manifest.blocks {
        let descriptor = block::read(bucket, RUN, entry.id)?;
        for (table, files) in descriptor.tables.iter().filter(|(table, _)| *table != SOURCES.name) {
            for file in files {
                let group = file.path.split('/').find_map(|part| part.strip_prefix("group="));
                let bytes = bucket.get(&block::file_key(RUN, entry.id, &file.path), UNWATCHED)?;
                rows.entry(name(table, group)).or_default().extend(read(bytes)?);
            }
        }
    }
    Ok(sorted(rows))
}

/// Of one recording in two depths once, and without those that contradict each other.
fn of_packs(bucket: &Bucket) -> Result<Rows> {
    let mut keys: BTreeMap<SourceId, BTreeMap<u128, String>> = BTreeMap::new();
    for entry in bucket.list(&packs_folder(RUN), UNWATCHED)? {
        let (_, pack) = PackName::parse(&entry.key).context("not a pack")?;
        keys.entry(pack.id).or_default().insert(pack.key, entry.key);
    }
    let mut rows = Rows::new();
    for key in keys.values().filter(|keys| keys.len() == 1).flat_map(BTreeMap::values) {
        let bytes = bucket.get(key, UNWATCHED)?;
        let part = |range: std::ops::Range<u64>| bytes.slice(range.start as usize..range.end as usize);
        let pack = Pack::read(Path::new(key), bytes.len() as u64, |range| Ok::<_, StoreError>(part(range)))?;
        for member in pack.members.iter().filter(|member| is_sums(member.table)) {
            let group = member.partition.map(|partition| partition.to_string());
            let name = name(member.table.name, group.as_deref());
            rows.entry(name).or_default().extend(read(part(member.range()))?);
        }
    }
    Ok(sorted(rows))
}

fn name(table: &str, group: Option<&str>) -> String {
    group.map_or_else(|| table.to_owned(), |group| format!("{table}, group {group}"))
}

fn read(bytes: Bytes) -> Result<Vec<String>> {
    let reader = SerializedFileReader::new(bytes)?;
    reader.get_row_iter(None)?.map(|row| Ok(row?.to_string())).collect()
}

fn sorted(mut rows: Rows) -> Rows {
    for rows in rows.values_mut() {
        rows.sort_unstable();
    }
    rows
}
