//! Arrow IPC for data frames: the main table as one file of typed columns.

use std::io::Write;

use arrow::datatypes::{Schema, SchemaRef};
pub use arrow::error::ArrowError;
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::RecordBatch;
use stepscope_model::Report;

use crate::batch::{batch, plain_batch, plain_schema};

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
pub fn render(report: &Report) -> Result<Vec<u8>, ArrowError> {
    let batch = batch(report)?;
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// A file whose rows come one batch after the other.
pub struct ArrowStream<W: Write> {
    writer: FileWriter<W>,
    schema: SchemaRef,
}

impl<W: Write> ArrowStream<W> {
    /// Begins a file for the rows of a query.
    pub fn new(out: W, schema: &Schema) -> Result<Self, ArrowError> {
        let schema = plain_schema(schema);
        Ok(Self { writer: FileWriter::try_new(out, &schema)?, schema })
    }

    /// More rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.writer.write(&plain_batch(batch, &self.schema)?)
    }

    /// Ends the file, and gives back where it was written.
    pub fn finish(self) -> Result<W, ArrowError> {
        self.writer.into_inner()
    }
}
