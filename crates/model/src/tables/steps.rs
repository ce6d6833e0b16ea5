use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I32, I64, Text},
    Table,
};

/// One row per step.
pub static STEPS: Table = Table {
    name: "steps",
    doc: "One row per step of training or serving (metrics, section 5).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 11] = [
    Column::required("step", I32, "Position of the step in the trace, from 0."),
    Column::required("name", Text, "Name of the mark."),
    Column::required(
        "source",
        Text,
        "What marked it: profiler_step, serving_annotation, step_num, device_steps, function_run, module_runs, optimizer_step or whole_trace.",
    ),
    Column::required("start_ns", I64, "Start, after the work of the previous step."),
    Column::required("end_ns", I64, "End, with the device work that it launched."),
    Column::required("dur_ns", I64, "end_ns − start_ns."),
    Column::required("host_start_ns", I64, "Start of the mark on the host."),
    Column::required("host_dur_ns", I64, "Duration of the mark on the host."),
    Column::required("device_events", I64, "Kernels, copies and fills launched inside the mark."),
    Column::required(
        "is_complete",
        Bool,
        "Whether its device work was recorded to the end; averages leave out the others.",
    ),
    Column::optional("samples", I64, "Samples of the step, as passed to prof.step(samples=n) of stepscope.torch."),
];
