use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{Bool, I32, I64, Text},
    Table,
};

/// The collectives that a rank took part in.
pub static ALL_COLLECTIVES: Table = Table {
    name: "all_collectives",
    doc: "One row per collective of a rank, on a device or on the host: its process group, and how much it moves (metrics, section 14).",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 22] = [
    Column::optional("process_group", Text, "Name of the process group; null when it was not recorded."),
    Column::required(
        "group_id",
        I64,
        "Id of the process group, from its name and ranks: equal on all of its ranks, but different on the host.",
    ),
    Column::optional(
        "ordinal",
        I64,
        "Position among the collectives of its group on this rank, in the order of their launches, from 0; null when it cannot be compared with other ranks.",
    ),
    Column::optional("seq", I64, "Sequence number, as recorded."),
    Column::optional("step", I32, "Step of its launch."),
    Column::required("collective", Text, "all_reduce, all_gather, reduce_scatter, broadcast… or unknown."),
    Column::required("start_ns", I64, "Start of the kernel, or of the span on the host."),
    Column::required("dur_ns", I64, "Duration: transfer, and waiting for the other ranks."),
    Column::optional(
        "launch_ns",
        I64,
        "Start of the call that launched it; null when that was before the trace began.",
    ),
    Column::required("span_id", I64, "The kernel, or the span on the host."),
    Column::required("position", I64, "Position of its event in the file, from 0."),
    Column::optional("device_id", I64, "Device of the kernel; null on the host."),
    Column::optional("stream_id", I64, "Stream of the kernel; null on the host."),
    Column::optional("kernel", Text, "Name of the kernel, or of the span on the host."),
    Column::optional("process_group_ranks", Text, "Ranks of the process group, as recorded."),
    Column::optional("group_size", I64, "Ranks in the process group."),
    Column::optional("dtype", Text, "Element type, as recorded."),
    Column::optional("message_bytes", I64, "Bytes of the message on this rank, as nccl-tests count them."),
    Column::optional("bytes_from", Text, "Where the bytes come from: metadata or input shapes."),
    Column::optional("bytes_missing", Text, "Why the bytes are not known."),
    Column::required("named_by", Text, "What names the collective: kernel, span, span_name or kernel_name."),
    Column::required(
        "is_host",
        Bool,
        "True when the host transfers, as with gloo, mpi and ucc; `metrics` and the view `collectives` leave these out.",
    ),
];
