//! Writes one source. Nothing of it is visible before [`SourceWriter::commit`], and after it everything is.
//!
//! All files are first written into a hidden folder of the store. The commit brings them to disk, takes away the record
//! of a source that is being replaced, moves the tables into place, and puts the new record last. A crash at any point
//! leaves the old source, no source, or the new source: never a mixture.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use stepscope_model::tables::{COLLECTIVES, TABLES};
use stepscope_model::{SourceId, SourceRecord, Table};

use crate::disk;
use crate::encoding;
use crate::error::StoreError;
use crate::layout;
use crate::owned::OwnedFolder;
use crate::schema;
use crate::source;
use crate::store::Store;
use crate::summary;
use crate::table_file::TableFile;

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
        record.rows = TABLES.iter().map(|table| (table.name.to_owned(), 0)).collect();
        record.partitions.clear();
        record.bytes_out = 0;

        let tables = std::mem::take(&mut self.tables);
        let mut written: Vec<(Arc<PathBuf>, PathBuf)> = Vec::new();
        for ((name, partition), writer) in tables {
            let size = writer.finish_slot()?;
            *record.rows.entry(name.to_owned()).or_default() += size.rows;
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

        let replaced = self.files_of_replaced();
        disk::remove_if_present(&layout::source_file(&self.root, &self.run, self.id))?;
        for (path, place) in &written {
            disk::move_into_place(path, place)?;
        }
        for path in replaced.iter().filter(|path| !written.iter().any(|(_, place)| place == *path)) {
            disk::remove_if_present(path)?;
        }
        source::write(&self.root, &self.run, self.temporary_dir.path(), &record)?;
        summary::write(&self.root, &self.run, self.temporary_dir.path())?;
        Ok(record)
    }

    /// Every file that a source with the same rank and window may have, also one whose commit was cut short.
    fn files_of_replaced(&self) -> Vec<PathBuf> {
        let tables = TABLES.iter().map(|table| layout::table_file(&self.root, &self.run, table, self.id));
        let groups = 0..layout::COLLECTIVE_GROUPS as u32;
        let spread = groups.map(|group| layout::partition_file(&self.root, &self.run, &COLLECTIVES, group, self.id));
        tables.chain(spread).collect()
    }
}

/// One table of a source. Clones write to the same table.
#[derive(Clone, Debug)]
pub struct TableWriter {
    table: &'static Table,
    schema: SchemaRef,
    path: Arc<PathBuf>,
    slot: Arc<Mutex<Slot>>,
}

/// What became of a table.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    rows: u64,
    bytes: u64,
}

#[derive(Debug)]
enum Slot {
    Open(Box<TableFile>),
    Finished(Size),
    /// A write went wrong: what is in the file cannot be told, so it must not be committed.
    Broken,
}

impl TableWriter {
    fn create(table: &'static Table, path: PathBuf) -> Result<Self, StoreError> {
        let schema = schema::arrow_schema(table);
        let fail = || StoreError::parquet(table.name, &path);
        // Without Arrow's own copy of the schema a reader is free to choose views for text, and each file of a large
        // run is some kilobytes smaller.
        let options = ArrowWriterOptions::new()
            .with_properties(encoding::writer_properties(table).map_err(fail())?)
            .with_skip_arrow_metadata(true);
        let file = File::create(&path).map_err(StoreError::io("create a file", &path))?;
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options).map_err(fail())?;
        let slot = Slot::Open(Box::new(TableFile::new(writer).map_err(fail())?));
        Ok(Self { table, schema, path: Arc::new(path), slot: Arc::new(Mutex::new(slot)) })
    }

    /// The columns that [`Self::write`] takes.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends rows. Batches may have any size; row groups are cut to theirs.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.check_columns(batch)?;
        let mut slot = self.lock();
        let Slot::Open(file) = &mut *slot else {
            return Err(StoreError::AlreadyFinished { table: self.table.name });
        };
        if let Err(error) = file.write(batch) {
            *slot = Slot::Broken;
            return Err(StoreError::parquet(self.table.name, &self.path)(error));
        }
        Ok(())
    }

    /// Ends the table and brings it to disk; its number of rows.
    pub fn finish(self) -> Result<u64, StoreError> {
        self.finish_slot().map(|size| size.rows)
    }

    fn finish_slot(&self) -> Result<Size, StoreError> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Broken) {
            Slot::Open(file) => {
                let rows = file.rows;
                let file = file.finish().map_err(StoreError::parquet(self.table.name, &self.path))?;
                file.sync_all().map_err(StoreError::io("write a table to disk", &self.path))?;
                let bytes = file.metadata().map_err(StoreError::io("look at a table", &self.path))?.len();
                let size = Size { rows, bytes };
                *slot = Slot::Finished(size);
                Ok(size)
            }
            Slot::Finished(size) => {
                *slot = Slot::Finished(size);
                Ok(size)
            }
            Slot::Broken => Err(StoreError::AlreadyFinished { table: self.table.name }),
        }
    }

    fn check_columns(&self, batch: &RecordBatch) -> Result<(), StoreError> {
        let got = batch.schema_ref();
        if Arc::ptr_eq(got, &self.schema) || *got == self.schema {
            return Ok(());
        }
        let (got, wanted) = (got.fields(), self.schema.fields());
        let different = wanted.iter().zip(got).find(|(wanted, got)| wanted != got);
        let reason = different.map_or_else(
            || format!("it has {} columns instead of {}", got.len(), wanted.len()),
            |(wanted, got)| format!("column {got} instead of {wanted}"),
        );
        Err(StoreError::WrongColumns { table: self.table.name, reason })
    }

    /// A panic of another thread cannot leave a slot half changed that matters: a broken file is not committed.
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
