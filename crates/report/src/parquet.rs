//! Parquet for data frames and warehouses: the main table as one file of typed columns.

use std::io::Write;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
pub use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use stepscope_model::Report;

use crate::batch::{batch, plain_batch, plain_schema};

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
pub fn render(report: &Report) -> Result<Vec<u8>, ParquetError> {
    let batch = batch(report)?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties()))?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// Rows that are put together before they are written, and bytes of them: what a writer keeps in memory.
const GROUP_ROWS: usize = 128 * 1024;
const GROUP_BYTES: usize = 16 << 20;

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build()
}

/// A file whose rows come one batch after the other.
pub struct ParquetStream<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> ParquetStream<W> {
    /// Begins a file for the rows of a query.
    pub fn new(out: W, schema: &Schema) -> Result<Self, ParquetError> {
        let schema = plain_schema(schema);
        Ok(Self { writer: ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties()))?, schema })
    }

    /// More rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.writer.write(&plain_batch(batch, &self.schema)?)
    }

    /// Ends the file, and gives back where it was written.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}
