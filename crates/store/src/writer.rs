//! Writes one source. Nothing of it is visible before [`SourceWriter::commit`], and after it everything is.
//!
//! All files are first written into a hidden folder of the store. The commit brings them to disk, takes away the record
//! of a source that is being replaced, moves the tables into place, and puts the new record last. A crash at any point
//! leaves the old source, no source, or the new source: never a mixture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stepscope_model::tables::{ALL_COLLECTIVES, TABLES};
use stepscope_model::{RowCounts, SourceId, SourceRecord, Table};

use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::owned::OwnedFolder;
use crate::row_writer::RowWriter;
use crate::source;
use crate::store::Store;
use crate::summary;
use crate::table_writer::TableWriter;

/// A source on its way into a store. Dropping it without a commit leaves no trace of it.
#[derive(Debug)]
pub struct SourceWriter {
    root: PathBuf,
    run: String,
    id: SourceId,
    temporary_dir: OwnedFolder,
    /// By name and partition.
    tables: BTreeMap<(&'static str, Option<u32>), TableWriter>,
}

impl SourceWriter {
    /// Starts a source. `run_name` may be any text; it is kept as [`layout::run_folder_name`] spells it.
    pub fn begin(store: &Store, run_name: &str, id: SourceId) -> Result<Self, StoreError> {
        let runs_dir = layout::runs_dir(store.root());
        disk::create_folders(&runs_dir)?;
        let temporary_dir = OwnedFolder::create(&runs_dir, layout::TEMPORARY_PREFIX)
            .map_err(StoreError::io("create a temporary folder", &runs_dir))?;
        let run = layout::run_folder_name(run_name);
        Ok(Self { root: store.root().to_owned(), run, id, temporary_dir, tables: BTreeMap::new() })
    }

    /// Opens a table. Several may be open at once, on different threads; asking again gives the same table.
    pub fn table(&mut self, table: &'static Table) -> Result<TableWriter, StoreError> {
        self.open(table, None)
    }

    /// The same for one partition of a table that is spread over folders by what is in a row.
    pub fn partition(&mut self, table: &'static Table, partition: u32) -> Result<TableWriter, StoreError> {
        self.open(table, Some(partition))
    }

    /// A table that is written row by row.
    pub fn rows<T>(&mut self, table: &'static Table, texts: T) -> Result<RowWriter<T>, StoreError> {
        Ok(RowWriter::new(table, self.table(table)?, self.id, texts))
    }

    /// The same for one partition.
    pub fn partition_rows<T>(
        &mut self,
        table: &'static Table,
        partition: u32,
        texts: T,
    ) -> Result<RowWriter<T>, StoreError> {
        Ok(RowWriter::new(table, self.partition(table, partition)?, self.id, texts))
    }

    fn open(&mut self, table: &'static Table, partition: Option<u32>) -> Result<TableWriter, StoreError> {
        let key = (table.name, partition);
        if let Some(open) = self.tables.get(&key) {
            return Ok(open.clone());
        }
        let name = partition.map_or_else(|| table.name.to_owned(), |partition| format!("{}.{partition}", table.name));
        let path = self.temporary_dir.path().join(format!("{name}.parquet"));
        let writer = TableWriter::create(table, path)?;
        self.tables.insert(key, writer.clone());
        Ok(writer)
    }

    /// Makes the source exist, in place of one with the same rank and window. Sets `run`, `id`, `rows` and `bytes_out`
    /// of the record from what was written. Tables that were not finished are finished here.
    pub fn commit(mut self, mut record: SourceRecord) -> Result<SourceRecord, StoreError> {
        record.run.clone_from(&self.run);
        record.id = self.id;
        record.rows = RowCounts::default();
        record.partitions.clear();
        record.bytes_out = 0;

        let tables = std::mem::take(&mut self.tables);
        let mut written: Vec<(Arc<PathBuf>, PathBuf)> = Vec::new();
        for ((name, partition), writer) in tables {
            let size = writer.finish_slot()?;
            record.rows.add(writer.table, size.rows);
            if size.rows == 0 {
                continue;
            }
            record.bytes_out += size.bytes;
            let place = match partition {
                Some(partition) => {
                    record.partitions.entry(name.to_owned()).or_default().push(partition);
                    layout::partition_file(&self.root, &self.run, writer.table, partition, self.id)
                }
                None => layout::table_file(&self.root, &self.run, writer.table, self.id),
            };
            written.push((Arc::clone(&writer.path), place));
        }

        put_in_place(&self.root, self.temporary_dir.path(), &record, &written)?;
        Ok(record)
    }
}

/// Makes a source exist in place of one with the same rank and window: its tables, which are on disk in
/// `temporary_dir`, are moved to where they belong, and the record comes last.
pub(crate) fn put_in_place(
    root: &Path,
    temporary_dir: &Path,
    record: &SourceRecord,
    written: &[(Arc<PathBuf>, PathBuf)],
) -> Result<(), StoreError> {
    let (run, id) = (&record.run, record.id);
    disk::remove_if_present(&layout::source_file(root, run, id))?;
    for (path, place) in written {
        disk::move_into_place(path, place)?;
    }
    for path in files_of_any(root, run, id) {
        if !written.iter().any(|(_, place)| *place == path) {
            disk::remove_if_present(&path)?;
        }
    }
    source::write(root, run, temporary_dir, record)?;
    summary::write(root, run, temporary_dir).map(drop)
}

/// Every file that a source with this rank and window may have, also one whose commit was cut short.
fn files_of_any(root: &Path, run: &str, id: SourceId) -> impl Iterator<Item = PathBuf> {
    let tables = TABLES.iter().map(move |table| layout::table_file(root, run, table, id));
    let groups = 0..layout::COLLECTIVE_GROUPS as u32;
    tables.chain(groups.map(move |group| layout::partition_file(root, run, &ALL_COLLECTIVES, group, id)))
}
