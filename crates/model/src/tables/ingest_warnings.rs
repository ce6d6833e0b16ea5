use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I64, Text},
    Table,
};

/// One row per thing that could not be read as it stands.
pub static INGEST_WARNINGS: Table = Table {
    name: "ingest_warnings",
    doc: "One row per thing that could not be read or kept as it stands; the first 1,000 of each code, the table health has the full counts.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 5] = [
    Column::required("code", Text, "What was wrong."),
    Column::required("is_loss", Bool, "Whether an event was lost by it."),
    Column::optional("position", I64, "Place of the event in the file, from 0."),
    Column::optional("offset_bytes", I64, "Where in the inflated bytes."),
    Column::optional("detail", Text, "What was seen there."),
];
