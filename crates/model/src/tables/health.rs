use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{F64, I64, Text},
    Table,
};

/// One row per figure of trace health.
pub static HEALTH: Table = Table {
    name: "health",
    doc: "One row per metric of trace health (metrics, section 17). Exactly one of value, ratio, text and reason is set.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 5] = [
    Column::required("name", Text, "Name of the metric; times end in _ns, shares in _ratio."),
    Column::optional("value", I64, "The metric, when it is a count or a time."),
    Column::optional("ratio", F64, "The metric, when it is a share."),
    Column::optional("text", Text, "The metric, when it is a word."),
    Column::optional("reason", Text, "Why the metric is missing."),
];
