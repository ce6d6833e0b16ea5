//! The rows of a table whose file is in memory: a member of a pack, or a file of a block.

use std::path::Path;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::and;
use arrow::datatypes::{Int32Type, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowFilter,
};
use stepscope_model::Table;
use stepscope_objects::Bytes;

use crate::error::StoreError;
use crate::reader::Key;
use crate::schema::{arrow_schema, read_schema};

/// Rows that are decoded at once. Part of how the files of blocks are cut into pages, so of their bytes.
const BATCH_ROWS: usize = 8192;

/// The rows of a file, batch by batch, in its order.
pub struct TableRows {
    table: &'static Table,
    name: String,
    batches: ParquetRecordBatchReader,
}

impl TableRows {
    /// Every row, with the columns that [`crate::TableWriter::write`] takes. `name` names the file in errors.
    pub fn whole(table: &'static Table, bytes: Bytes, name: &str) -> Result<Self, StoreError> {
        Self::open(table, arrow_schema(table), bytes, name, None, Vec::new())
    }

    /// The rows whose keys lie in their ranges; keys are columns of 32 bits. Texts are views.
    pub(crate) fn read(
        table: &'static Table,
        bytes: Bytes,
        name: &str,
        columns: Option<&[&'static str]>,
        keys: Vec<Key>,
    ) -> Result<Self, StoreError> {
        Self::open(table, read_schema(table), bytes, name, columns, keys)
    }

    fn open(
        table: &'static Table,
        schema: SchemaRef,
        bytes: Bytes,
        name: &str,
        columns: Option<&[&'static str]>,
        keys: Vec<Key>,
    ) -> Result<Self, StoreError> {
        let fail = |error| StoreError::unreadable(table.name, Path::new(name))(error);
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::load(&bytes, options).map_err(fail)?;
        let parquet_schema = metadata.metadata().file_metadata().schema_descr_ptr();
        let mask = columns.map_or_else(ProjectionMask::all, |columns| {
            ProjectionMask::columns(&parquet_schema, columns.iter().copied())
        });
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata)
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
        if !keys.is_empty() {
            // The other columns are decoded for rows that are wanted, and for no others.
            let wanted = ProjectionMask::columns(&parquet_schema, keys.iter().map(|(name, _)| *name));
            let predicate = ArrowPredicateFn::new(wanted, move |batch| lies_in(&batch, &keys));
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(predicate)]));
        }
        let batches = builder.build().map_err(fail)?;
        Ok(Self { table, name: name.to_owned(), batches })
    }
}

fn lies_in(batch: &RecordBatch, keys: &[Key]) -> Result<BooleanArray, ArrowError> {
    let mut kept = BooleanArray::from(vec![true; batch.num_rows()]);
    for (name, range) in keys {
        let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int32Type>());
        let column = column.ok_or_else(|| ArrowError::SchemaError(format!("no {name}")))?;
        let lies: BooleanArray = column.values().iter().map(|value| Some(range.contains(&i64::from(*value)))).collect();
        kept = and(&kept, &lies)?;
    }
    Ok(kept)
}

impl Iterator for TableRows {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(|error| StoreError::unreadable(self.table.name, Path::new(&self.name))(error.into())))
    }
}

impl std::fmt::Debug for TableRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableRows").field("table", &self.table.name).finish_non_exhaustive()
    }
}
