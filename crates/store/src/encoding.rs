//! How the columns of a table become bytes. Everything that trades size against speed is chosen here.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use stepscope_model::tables::TILES;
use stepscope_model::{Column, ColumnType, Table};

/// Effort of the compressor; higher levels cost ingest time for a few per cent.
const ZSTD_LEVEL: i32 = 3;

/// Rows of a row group at most: what a writer buffers and a reader decodes at once.
pub(crate) const ROW_GROUP_ROWS: usize = 262_144;

/// The library gives up a dictionary at 1 MiB, which texts such as shapes and stacks reach early in a row group.
const DICTIONARY_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Rows of a page of `tiles` at most: a screen shows a few thousand of them, and a page is read as a whole.
const TILES_PAGE_ROWS: usize = 4096;

/// How the values of a column are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnEncoding {
    /// Each distinct value once, then numbers: for what repeats.
    Dictionary,
    /// Differences to the value before: for what grows or moves in small steps.
    Delta,
    /// The first bytes of all values, then the second, and so on: for numbers that jump within a range.
    ByteStreams,
    /// All lengths, then all texts: for texts that do not repeat.
    Texts,
}

/// Columns of 64-bit integers that grow along the file although their names do not say so.
const GROWING: [&str; 3] = ["correlation", "sequence_number", "address"];

/// Columns of text whose values lie together in the order of the rows, so that statistics tell pages apart.
const CLUSTERED_TEXT: [&str; 2] = ["kind", "link"];

/// Columns of integers of which only the low bytes differ much from row to row: lengths, and ids of spans or events that
/// lie at varying distances. Measured with `stepscope-bench columns`: up to 45 % smaller than differences.
const JUMPING: [&str; 9] = [
    "dur_ns",
    "self_ns",
    "depth",
    "parent_id",
    "python_parent_id",
    "python_caller_id",
    "callback_id",
    "event_index",
    "position",
];

/// Columns of text in which hardly a value comes twice.
const DISTINCT_TEXT: [&str; 2] = ["pack", "record"];

/// The encoding of a column.
pub(crate) fn column_encoding(column: &Column) -> ColumnEncoding {
    if JUMPING.contains(&column.name) && column.column_type != ColumnType::Text {
        return ColumnEncoding::ByteStreams;
    }
    let grows = ["_id", "_ns", "_index"].iter().any(|end| column.name.ends_with(end)) || GROWING.contains(&column.name);
    match column.column_type {
        ColumnType::I64 if grows => ColumnEncoding::Delta,
        ColumnType::Text if DISTINCT_TEXT.contains(&column.name) => ColumnEncoding::Texts,
        _ => ColumnEncoding::Dictionary,
    }
}

/// Everything that the Parquet writer has to know about a table.
pub(crate) fn writer_properties(table: &Table) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_dictionary_page_size_limit(DICTIONARY_PAGE_BYTES)
        // Statistics by page are the page index: a range of time reads only the pages that it touches.
        .set_statistics_enabled(EnabledStatistics::Page);
    if table.name == TILES.name {
        properties = properties.set_data_page_row_count_limit(TILES_PAGE_ROWS);
    }
    for column in table.columns() {
        if column.column_type == ColumnType::Text && !CLUSTERED_TEXT.contains(&column.name) {
            // The smallest and the largest name of a page exclude nothing, and finding them compares every text.
            properties =
                properties.set_column_statistics_enabled(ColumnPath::from(column.name), EnabledStatistics::None);
        }
        let encoding = match column_encoding(column) {
            ColumnEncoding::Dictionary => continue,
            ColumnEncoding::Delta => Encoding::DELTA_BINARY_PACKED,
            ColumnEncoding::ByteStreams => Encoding::BYTE_STREAM_SPLIT,
            ColumnEncoding::Texts => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        };
        let path = ColumnPath::from(column.name);
        properties = properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    Ok(properties.build())
}
