//! Parquet for data frames and warehouses: the main table as one file of typed columns.

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use stepscope_model::Report;

use crate::batch::batch;

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
pub fn render(report: &Report) -> Result<Vec<u8>, ParquetError> {
    let batch = batch(report)?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()));
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build()))?;
    writer.write(&batch)?;
    writer.into_inner()
}
