use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// The collectives that a rank took part in.
pub static COLLECTIVES: Table = Table {
    name: "collectives",
    doc: "One row a communication kernel: which collective it is, of which process group, how much it moves (metrics, section 14).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 21] = [
    Column::optional("process_group", Text, "Name of the process group; null when it was not recorded."),
    Column::required(
        "group_id",
        I64,
        "Number of the process group, from its name and ranks: equal on all of its ranks.",
    ),
    Column::optional(
        "ordinal",
        I64,
        "Place among the collectives of its group on this rank, in the order of their launches, from 0; null when it was launched before the recording.",
    ),
    Column::optional("seq", I64, "Sequence number, as recorded."),
    Column::optional("step", I32, "Step of its launch."),
    Column::required("collective", Text, "all_reduce, all_gather, reduce_scatter, broadcast… or unknown."),
    Column::required("start_ns", I64, "Start of the kernel."),
    Column::required("dur_ns", I64, "Length of the kernel: transfer, and waiting for the other ranks."),
    Column::optional("launch_ns", I64, "Start of the call that launched it."),
    Column::required("span_id", I64, "The kernel."),
    Column::required("position", I64, "Place of the kernel's event in the file, from 0."),
    Column::optional("device_id", I64, "Device of the kernel."),
    Column::optional("stream_id", I64, "Stream of the kernel."),
    Column::optional("kernel", Text, "Name of the kernel."),
    Column::optional("process_group_ranks", Text, "Ranks of the process group, as recorded."),
    Column::optional("group_size", I64, "Ranks in the process group."),
    Column::optional("dtype", Text, "Element type, as recorded."),
    Column::optional("message_bytes", I64, "Bytes of the message on this rank, as nccl-tests count them."),
    Column::optional("bytes_from", Text, "Where the bytes come from: metadata or input shapes."),
    Column::optional("bytes_missing", Text, "Why the bytes are not known."),
    Column::required("named_by", Text, "What names the collective: kernel, span, span_name or kernel_name."),
];
