use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{F64, I32, I64},
    Table,
};

/// What each device does in each step.
pub static STEP_DEVICES: Table = Table {
    name: "step_devices",
    doc: "One row per step and device, and one per device from the first complete step to the last: how busy it is (metrics, section 7).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 11] = [
    Column::optional("step", I32, "Position of the step in the trace, from 0; null for all complete steps together."),
    Column::optional("device_id", I64, "Device, as recorded."),
    Column::required("start_ns", I64, "Start of the measured time."),
    Column::required("end_ns", I64, "End of it."),
    Column::required("busy_ns", I64, "Time in which the device does anything."),
    Column::required("kernel_busy_ns", I64, "Time in which a kernel runs."),
    Column::required("kernel_ns", I64, "Sum of all kernel times; concurrent kernels each count."),
    Column::required("sm_busy_ns", F64, "Integral of the blocks per SM of the kernels that run, capped at 1."),
    Column::required("with_blocks_per_sm_ns", I64, "Time of the kernels that carry blocks per SM."),
    Column::required(
        "occupancy_ns",
        F64,
        "Sum of the estimated occupancy (0 to 1) times length, of those that carry it.",
    ),
    Column::required("with_occupancy_ns", I64, "Time of the kernels that carry an estimated occupancy."),
];
