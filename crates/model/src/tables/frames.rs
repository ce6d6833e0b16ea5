use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// Frames of stacks.
pub static FRAMES: Table = Table {
    name: "frames",
    doc: "One row per frame of a stack: a line of a function.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 5] = [
    Column::required("frame_id", I64, "Id of the frame in its trace."),
    Column::required("name", Text, "Name of the function."),
    Column::optional("file", Text, "File; null where it is not known."),
    Column::optional("line", I64, "Line; null where it is not known."),
    Column::required("language", Text, "python, cpp or unknown."),
];
