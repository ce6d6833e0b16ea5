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
        "Number of calls; a span that is the only operator inside another of its name counts as the same call.",
    ),
    Column::required("host_self_ns", I64, "Self time on the host."),
    Column::required(
        "host_total_ns",
        I64,
        "Total duration of the spans that are not inside another span of the same name.",
    ),
    Column::required("device_events", I64, "Kernels, copies and fills that belong to it."),
    Column::required("device_self_ns", I64, "Their time."),
    Column::required(
        "device_total_ns",
        I64,
        "Their time including the operators below, over spans that are not inside another span of the same name.",
    ),
    Column::optional(
        "flops",
        I64,
        "FLOPs of its calls (metrics, section 15), without calls inside a call of the same name with FLOPs; null where none are known.",
    ),
    Column::optional(
        "outermost_flops",
        I64,
        "FLOPs without the calls inside any call with FLOPs; these can be added up.",
    ),
    Column::optional(
        "least_flops",
        I64,
        "Lower bound of `outermost_flops` on a device: calls that launched work, causal attention up to its diagonal.",
    ),
    Column::required("flops_device_ns", I64, "Device time of calls with FLOPs, or of calls inside one."),
    Column::required("flops_host_ns", I64, "Total duration of the calls whose FLOPs count as outermost."),
    Column::required("root_host_ns", I64, "Total duration of the calls that are not inside an operator."),
];
