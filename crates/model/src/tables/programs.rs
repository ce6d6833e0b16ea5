use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// Programs that were compiled for a device.
pub static PROGRAMS: Table = Table {
    name: "programs",
    doc: "One row per program that XLA compiled; the program itself is not stored.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 3] = [
    Column::required("program_id", I64, "Number of the program."),
    Column::required("name", Text, "Name of the program."),
    Column::required("bytes", I64, "Bytes of its description in the trace."),
];
