use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// One row per allocation or free.
pub static MEMORY_EVENTS: Table = Table {
    name: "memory_events",
    doc: "One row per allocation or free that the framework recorded.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 18] = [
    Column::required("track_id", I32, "Thread that allocated or freed."),
    Column::optional("ts_ns", I64, "When; null where only the order is recorded."),
    Column::required("position", I64, "Position of the event in the file, from 0."),
    Column::optional("size_bytes", I64, "Bytes: positive for an allocation, negative for a free."),
    Column::optional(
        "address",
        I64,
        "Address of the block, as a signed number of the same 64 bits; null in old traces.",
    ),
    Column::optional("device_type", I64, "0 is the host, 1 CUDA, 6 HIP, 9 an accelerator of XLA."),
    Column::optional("device_id", I64, "Number of the device."),
    Column::optional("total_allocated_bytes", I64, "Bytes in use on the device after it; null in old traces."),
    Column::optional("total_reserved_bytes", I64, "Bytes held by the allocator after it; null in old traces."),
    Column::optional("event_index", I64, "The profiler's own number of the event."),
    Column::optional("operator_id", I64, "Innermost operator of the thread at that time."),
    Column::optional(
        "action",
        Text,
        "What happened: alloc, free or another word of the allocator; null where the size alone says it.",
    ),
    Column::optional("allocator", Text, "Allocator that it belongs to."),
    Column::optional("stream_id", I64, "Stream that the block belongs to."),
    Column::optional("stack_id", I64, "Stack that asked for it, in `stacks`."),
    Column::optional("category", Text, "What the memory is for, as recorded."),
    Column::optional("active_bytes", I64, "Bytes in use after it, with those that wait to be freed."),
    Column::optional("args", Text, "Every other argument, as JSON."),
];
