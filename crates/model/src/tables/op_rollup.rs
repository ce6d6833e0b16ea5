use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// The operators of each step, added up.
pub static OP_ROLLUP: Table = Table {
    name: "op_rollup",
    doc: "One row per step, operator and input shape: operators added up (metrics, section 10).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 16] = [
    Column::optional("step", I32, "Step that the operators start in; null outside the steps."),
    Column::optional("name", Text, "Operator; null for device work that no operator launched."),
    Column::optional("input_dims", Text, "Shapes of the inputs, as a JSON list; null when they were not recorded."),
    Column::required("spans", I64, "How many spans of it there are."),
    Column::required(
        "calls",
        I64,
        "Spans, but one that is the only operator inside another of its name is the same call.",
    ),
    Column::required("host_self_ns", I64, "Time on the host that is its own."),
    Column::required("host_total_ns", I64, "Length of the spans that lie in no other of the name."),
    Column::required("device_events", I64, "Kernels, copies and fills that belong to it."),
    Column::required("device_self_ns", I64, "Their time."),
    Column::required(
        "device_total_ns",
        I64,
        "The same with the operators below, of the spans that lie in no other of the name.",
    ),
    Column::optional(
        "flops",
        I64,
        "FLOPs of its calls (metrics, section 15), without those inside a call of its name with FLOPs; null where none is known.",
    ),
    Column::optional("outermost_flops", I64, "The same without the calls inside a call with FLOPs: these add up."),
    Column::optional(
        "least_flops",
        I64,
        "Lower bound of `outermost_flops` on a device: calls that launched work, causal attention up to its diagonal.",
    ),
    Column::required("flops_device_ns", I64, "Device time of calls with FLOPs, or of calls inside one."),
    Column::required("flops_host_ns", I64, "Length of the calls whose FLOPs count as outermost."),
    Column::required("root_host_ns", I64, "Length of the calls that lie in no operator."),
];
