use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// One row per thread, stream or asynchronous lane.
pub static TRACKS: Table = Table {
    name: "tracks",
    doc: "One row per thread, device stream or asynchronous lane.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 19] = [
    Column::required("track_id", I32, "Id of the track in its trace."),
    Column::required("type", Text, "thread, stream or async."),
    Column::optional("process", Text, "pid as recorded."),
    Column::optional("thread", Text, "tid as recorded; for async the category and id."),
    Column::optional("process_name", Text, "Name of the process."),
    Column::optional("process_labels", Text, "Labels of the process, for a device its name."),
    Column::optional("thread_name", Text, "Name of the thread or stream."),
    Column::optional("process_sort_index", I64, "Where a viewer puts the process."),
    Column::optional("thread_sort_index", I64, "Where a viewer puts the thread."),
    Column::optional("device_id", I64, "Device of a stream."),
    Column::optional("stream_id", I64, "Number of a stream."),
    Column::required("spans", I64, "Number of spans on it."),
    Column::optional("first_ns", I64, "Start of its first event."),
    Column::optional("last_ns", I64, "End of its last event."),
    Column::required("lanes_python", I32, "Lanes that its Python frames need on a timeline; they come first."),
    Column::required("lanes_mark", I32, "Lanes for the marks of a device, which come next."),
    Column::required("lanes_work", I32, "Lanes for operators, annotations, calls, kernels and copies."),
    Column::required("lanes_other", I32, "Lanes for everything else."),
    Column::required("lanes_wait", I32, "Lanes for waits and the profiler's own time, which come last."),
];
