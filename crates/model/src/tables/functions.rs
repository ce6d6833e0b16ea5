use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// The functions of a profile.
pub static FUNCTIONS: Table = Table {
    name: "functions",
    doc: "One row per function of a profile such as that of cProfile: its calls added up, as `pstats` does.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 8] = [
    Column::required("position", I64, "Place of the function in the file, from 0."),
    Column::required("name", Text, "Name of the function."),
    Column::required("file", Text, "File that defines it; ~ for a function that is not written in Python."),
    Column::required("line", I64, "Line of its definition; 0 where there is none."),
    Column::required("calls", I64, "How often it was called."),
    Column::required("primitive_calls", I64, "Calls that no other call of the function was around."),
    Column::required("tottime_ns", I64, "Time in the function, without what it called."),
    Column::required("cumtime_ns", I64, "Time in the function and in all it called; recursive calls count once."),
];
