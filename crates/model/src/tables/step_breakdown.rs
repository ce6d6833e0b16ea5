use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64},
    Table,
};

/// What the time of each step goes to.
pub static STEP_BREAKDOWN: Table = Table {
    name: "step_breakdown",
    doc: "One row per step, and one for the whole trace: where its time goes (metrics, section 6). The eight classes add up to its length.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 13] = [
    Column::optional("step", I32, "Position of the step in the trace, from 0; null for the whole trace."),
    Column::required("kernel_ns", I64, "A kernel computes."),
    Column::required("memcpy_ns", I64, "Else a copy runs."),
    Column::required("memset_ns", I64, "Else a fill runs."),
    Column::required(
        "communication_ns",
        I64,
        "Else a kernel or the host communicates: communication that nothing hides.",
    ),
    Column::required("runtime_ns", I64, "Else the host calls the runtime."),
    Column::required("dataloader_ns", I64, "Else the host waits for the data loader."),
    Column::required("cpu_exec_ns", I64, "Else an operator runs on the host."),
    Column::required("other_ns", I64, "None of these."),
    Column::required("all_communication_ns", I64, "Anything communicates, hidden or not."),
    Column::required("overlap_ns", I64, "A kernel computes while something communicates."),
    Column::required("kernel_busy_ns", I64, "A kernel of any kind runs on any device."),
    Column::required("device_busy_ns", I64, "Any device does anything."),
];
