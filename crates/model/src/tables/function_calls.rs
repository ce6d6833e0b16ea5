use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// Who called whom in a profile.
pub static FUNCTION_CALLS: Table = Table {
    name: "function_calls",
    doc: "One row per function and caller: the calls from that caller, added up.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 8] = [
    Column::required("position", I64, "The function that was called, by its position in `functions`."),
    Column::required("caller", Text, "Name of the caller."),
    Column::required("caller_file", Text, "File that defines the caller."),
    Column::required("caller_line", I64, "Line of its definition."),
    Column::required("calls", I64, "How often the caller called the function."),
    Column::optional(
        "primitive_calls",
        I64,
        "Primitive calls: those not inside another call of the function; null if only counted.",
    ),
    Column::optional(
        "tottime_ns",
        I64,
        "Time in the function, without the functions it called; null if it was not measured.",
    ),
    Column::optional(
        "cumtime_ns",
        I64,
        "Time in the function and in all functions it called; null if it was not measured.",
    ),
];
