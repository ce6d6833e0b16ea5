use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64},
    Table,
};

/// Stacks that others refer to.
pub static STACKS: Table =
    Table { name: "stacks", doc: "One row per frame of each stack.", groups: &[&SOURCE_COLUMNS, &COLUMNS] };

static COLUMNS: [Column; 3] = [
    Column::required("stack_id", I64, "Id of the stack in its trace."),
    Column::required("depth", I32, "Place of the frame; 0 is the innermost."),
    Column::required("frame_id", I64, "The frame, in `frames`."),
];
