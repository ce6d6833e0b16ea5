use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// One row per end of an arrow.
pub static FLOWS: Table = Table {
    name: "flows",
    doc: "One row per end of a flow between two spans. Rows with equal category, name and flow_id belong together.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 9] = [
    Column::required("track_id", I32, "Track of this end."),
    Column::required("ts_ns", I64, "When."),
    Column::required("position", I64, "Position of the event in the file, from 0."),
    Column::required("phase", Text, "s starts, t passes through, f ends."),
    Column::optional(
        "category",
        Text,
        "Category: fwdbwd joins forward and backward, ac2g and async a launch and its kernel.",
    ),
    Column::optional("name", Text, "Name of the flow."),
    Column::optional("flow_id", I64, "Id that the ends share; null when it is not an integer."),
    Column::optional("flow_text", Text, "The id when it is not an integer."),
    Column::optional("span_id", I64, "Innermost span of the track at that time."),
];
