use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64},
    Table,
};

/// What the time of each step goes to, as the profiler of TensorFlow divides it.
pub static STEP_OVERVIEW: Table = Table {
    name: "step_overview",
    doc: "One row per step of a TensorFlow or JAX trace: where its time goes in the classes of TensorFlow's profiler (metrics, section 28). They add up to its length.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 11] = [
    Column::required("step", I32, "Position of the step in the trace, from 0."),
    Column::required("device_compute_ns", I64, "A kernel computes, or a fill runs."),
    Column::required("output_ns", I64, "Else a copy from the device to the host runs."),
    Column::required("device_to_device_ns", I64, "Else a copy between devices, or within one, runs."),
    Column::required("input_wait_ns", I64, "Else the host waits for the input pipeline."),
    Column::required("device_collectives_ns", I64, "Else a kernel communicates."),
    Column::required("kernel_launch_ns", I64, "Else the host calls the runtime."),
    Column::required("host_to_device_ns", I64, "Else a copy from the host to the device runs."),
    Column::required("compile_ns", I64, "Else a program is compiled."),
    Column::required("host_compute_ns", I64, "Else an operator runs on the host."),
    Column::required("all_others_ns", I64, "None of these."),
];
