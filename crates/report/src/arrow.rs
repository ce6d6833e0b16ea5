//! Arrow IPC for data frames: the main table as one file of typed columns.

use arrow::error::ArrowError;
use arrow::ipc::writer::FileWriter;
use stepscope_model::Report;

use crate::batch::batch;

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
pub fn render(report: &Report) -> Result<Vec<u8>, ArrowError> {
    let batch = batch(report)?;
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}
