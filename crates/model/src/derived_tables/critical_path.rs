use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};
use crate::tables::SOURCE_COLUMNS;

/// The critical paths of the usual window of steps.
pub static CRITICAL_PATH: Table = Table {
    name: "critical_path",
    doc: "One row per piece of the critical path of a step (metrics, section 25), of the last 32 complete steps of each recording. Worked out when it is asked for, of up to 64 recordings at a time: choose them with `WHERE rank = 3`.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 7] = [
    Column::required("step", I32, "Position of the step in the trace, from 0."),
    Column::required("piece", I32, "Place on the path of the step, from 0."),
    Column::required("class", Text, "What the time goes to, such as kernel, runtime or launch_delay."),
    Column::required("start_ns", I64, "Start."),
    Column::required("dur_ns", I64, "Length. The pieces of a step add up to the step."),
    Column::required("span_id", I64, "Span that it is part of or leads to."),
    Column::optional("name", Text, "Kernel, operator or call that `stepscope critical` adds it up under."),
];
