use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, F64, I32, I64, Text},
    Table,
};

/// The kernels of each step, added up.
pub static KERNEL_ROLLUP: Table = Table {
    name: "kernel_rollup",
    doc: "One row per step, device, kernel and category: kernels added up (metrics, section 11).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 15] = [
    Column::optional("step", I32, "Step that the kernels belong to; null outside the steps."),
    Column::optional("device_id", I64, "Device, as recorded."),
    Column::optional("name", Text, "Name of the kernel."),
    Column::required("is_communication", Bool, "Whether it communicates (metrics, section 9)."),
    Column::required(
        "category",
        Text,
        "gemm, convolution, attention, elementwise, reduction, copy, communication or other.",
    ),
    Column::required("count", I64, "How many there are."),
    Column::required("total_ns", I64, "Their time."),
    Column::required("min_ns", I64, "The shortest."),
    Column::required("max_ns", I64, "The longest."),
    Column::required("with_operator", I64, "How many of them belong to an operator."),
    Column::required("blocks_per_sm_ns", F64, "Sum of blocks per SM times length, of those that carry it."),
    Column::required("with_blocks_per_sm_ns", I64, "Time of those that carry blocks per SM."),
    Column::required(
        "occupancy_ns",
        F64,
        "Sum of the estimated occupancy (0 to 1) times length, of those that carry it.",
    ),
    Column::required("with_occupancy_ns", I64, "Time of those that carry an estimated occupancy."),
    Column::required(
        "durations",
        Text,
        "Sketch of the durations: `sketch_percentile` gives percentiles within 1 % across any rows.",
    ),
];
