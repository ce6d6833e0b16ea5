use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I32, I64, Text},
    Table,
};

/// The calls that brought work to a device.
pub static LAUNCHES: Table = Table {
    name: "launches",
    doc: "One row per runtime call that launched device work, with the earliest of its device events (metrics, section 13).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 15] = [
    Column::required("span_id", I64, "The call in `spans`."),
    Column::required("track_id", I32, "Thread it is on."),
    Column::required("start_ns", I64, "Start of the call."),
    Column::required("dur_ns", I64, "Duration of the call."),
    Column::optional("name", Text, "Name of the function."),
    Column::optional("step", I32, "Step it belongs to; null outside the steps."),
    Column::required("is_graph", Bool, "Whether it launched a CUDA or HIP graph."),
    Column::required("device_events", I64, "How many device events it launched."),
    Column::required("device_total_ns", I64, "Time of all of them."),
    Column::optional("device_id", I64, "Device of the earliest of them."),
    Column::optional("stream_id", I64, "Stream of the earliest of them."),
    Column::required("device_start_ns", I64, "Start of the earliest of them."),
    Column::required("device_dur_ns", I64, "Duration of the earliest of them."),
    Column::required(
        "latency_ns",
        I64,
        "From the start of the call to the start on the device; negative if the clocks disagree.",
    ),
    Column::required("delay_ns", I64, "From the end of the call to the start on the device; 0 if that came first."),
];
