use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I64, Text},
    Table,
};

/// One row per thing that could not be read as it stands.
pub static INGEST_WARNINGS: Table = Table {
    name: "ingest_warnings",
    doc: "One row per problem while reading, up to 1,000 of each code. The table health has the full counts.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 5] = [
    Column::required("code", Text, "What was wrong."),
    Column::required("is_loss", Bool, "Whether it lost an event."),
    Column::optional("position", I64, "Position of the event in the file, from 0."),
    Column::optional("offset_bytes", I64, "Byte offset in the decompressed file."),
    Column::optional("detail", Text, "What was found there."),
];
