use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I64, Text},
    Table,
};

/// Segments of an allocator.
pub static MEMORY_SEGMENTS: Table = Table {
    name: "memory_segments",
    doc: "One row per segment of an allocator, when the snapshot was made (metrics, section 31).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 15] = [
    Column::required("segment", I64, "Position of the segment in the file, from 0."),
    Column::optional("device_type", I64, "0 is the host, 1 CUDA; null in snapshots."),
    Column::required("device_id", I64, "Number of the device."),
    Column::optional("address", I64, "Address, as a signed number of the same 64 bits."),
    Column::required("total_bytes", I64, "Bytes of the segment."),
    Column::required("allocated_bytes", I64, "Bytes of its allocated blocks."),
    Column::required("pending_bytes", I64, "Bytes of blocks that wait to be freed."),
    Column::required("inactive_bytes", I64, "Bytes of its inactive blocks."),
    Column::required("requested_bytes", I64, "Bytes that were asked for in its allocated blocks."),
    Column::required("blocks", I64, "Number of its blocks."),
    Column::optional("stream_id", I64, "Stream that it belongs to."),
    Column::optional("type", Text, "small or large, as recorded."),
    Column::optional("pool", Text, "Pool that it belongs to, as recorded."),
    Column::optional("is_expandable", Bool, "Whether it can grow."),
    Column::optional("stack_id", I64, "Stack that asked for it, in `stacks`."),
];
