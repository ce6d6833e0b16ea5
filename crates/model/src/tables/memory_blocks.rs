use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I64, Text},
    Table,
};

/// Blocks of an allocator.
pub static MEMORY_BLOCKS: Table = Table {
    name: "memory_blocks",
    doc: "One row per block of a segment, when the snapshot was made (metrics, section 31).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 9] = [
    Column::required("segment", I64, "Its segment, in `memory_segments`."),
    Column::required("position", I64, "Position of the block in its segment, from 0."),
    Column::required("device_id", I64, "Number of the device."),
    Column::required("address", I64, "Address, as a signed number of the same 64 bits."),
    Column::required("size_bytes", I64, "Bytes of the block."),
    Column::optional("requested_bytes", I64, "Bytes that were asked for."),
    Column::optional("state", Text, "allocated, pending or inactive; null for a state that is not known."),
    Column::optional("stack_id", I64, "Stack that allocated it, in `stacks`."),
    Column::required(
        "category",
        Text,
        "What it is for, by its stack: parameters, forward, backward, optimizer, other, or unknown without one.",
    ),
];
