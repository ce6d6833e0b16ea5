use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{F64, I32, I64, Text},
    Table,
};

/// One row per counter event.
pub static COUNTERS: Table =
    Table { name: "counters", doc: "One row per change of a counter.", groups: &[&SOURCE_COLUMNS, &COLUMNS] };

static COLUMNS: [Column; 7] = [
    Column::required("track_id", I32, "Track the counter belongs to."),
    Column::required("ts_ns", I64, "When it changed."),
    Column::required("position", I64, "Position of the event in the file, from 0."),
    Column::optional("name", Text, "Name of the counter."),
    Column::optional("series", Text, "Name of the value; null when the event carries several values."),
    Column::optional(
        "value",
        F64,
        "The value; null when the event carries several values, or one that is not a number.",
    ),
    Column::optional("args", Text, "All values as JSON when there are several."),
];
