//! Writes one table of a source: batches of rows that have its columns.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use stepscope_model::Table;

use crate::encoding;
use crate::error::StoreError;
use crate::schema;
use crate::table_file::TableFile;

/// One table of a source. Clones write to the same table.
#[derive(Clone, Debug)]
pub struct TableWriter {
    pub(crate) table: &'static Table,
    schema: SchemaRef,
    pub(crate) path: Arc<PathBuf>,
    slot: Arc<Mutex<Slot>>,
}

/// What became of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
enum Slot {
    Open(Box<TableFile>),
    Finished(Size),
    /// A write went wrong: what is in the file cannot be told, so it must not be committed.
    Broken,
}

impl TableWriter {
    /// Begins a file of a table. In a source this is [`crate::SourceWriter::table`].
    pub fn create(table: &'static Table, path: PathBuf) -> Result<Self, StoreError> {
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

    /// Bytes of the row groups that are written; 0 for a table that is finished.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        match &*self.lock() {
            Slot::Open(file) => file.bytes_written(),
            Slot::Finished(_) | Slot::Broken => 0,
        }
    }

    /// Ends the table and brings it to disk; its number of rows.
    pub fn finish(self) -> Result<u64, StoreError> {
        self.finish_slot().map(|size| size.rows)
    }

    pub(crate) fn finish_slot(&self) -> Result<Size, StoreError> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Broken) {
            Slot::Open(file) => {
                let rows = file.rows;
                let file = file.finish().map_err(StoreError::parquet(self.table.name, &self.path))?;
                file.sync_all().map_err(StoreError::io("write a table to disk", &self.path))?;
                let bytes = file.metadata().map_err(StoreError::io("inspect a table", &self.path))?.len();
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
