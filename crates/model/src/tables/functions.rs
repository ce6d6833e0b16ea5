use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// The functions of a profile.
pub static FUNCTIONS: Table = Table {
    name: "functions",
    doc: "One row per function of a cProfile profile, with its calls added up as in `pstats`.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 8] = [
    Column::required("position", I64, "Position of the function in the file, from 0."),
    Column::required("name", Text, "Name of the function."),
    Column::required("file", Text, "File that defines it; ~ for a function that is not written in Python."),
    Column::required("line", I64, "Line of its definition; 0 where there is none."),
    Column::required("calls", I64, "How often it was called."),
    Column::required("primitive_calls", I64, "Primitive calls: those not inside another call of the function."),
    Column::required("tottime_ns", I64, "Time in the function, without the functions it called."),
    Column::required(
        "cumtime_ns",
        I64,
        "Time in the function and in all functions it called; recursive calls count once.",
    ),
];
