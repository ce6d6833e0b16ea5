use super::SOURCE_COLUMNS;
use crate::args::SPAN_ARG_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// One row per event with a length, with everything that was derived about it.
pub static SPANS: Table = Table {
    name: "spans",
    doc: "One row per timed event: operators, calls, kernels, annotations, frames. An instant has duration 0.",
    groups: &[&SOURCE_COLUMNS, &EVENT_COLUMNS, &DERIVED_COLUMNS, &SPAN_ARG_COLUMNS, &REST_COLUMNS],
};

static EVENT_COLUMNS: [Column; 10] = [
    Column::required("span_id", I64, "Id of the span in its trace, in the order of track, start, longest first."),
    Column::required("track_id", I32, "Thread, stream or lane it is on."),
    Column::required("start_ns", I64, "Start."),
    Column::required("dur_ns", I64, "Duration."),
    Column::required("position", I64, "Position of the event in the file, from 0."),
    Column::required("phase", Text, "X complete, B begin and end, b asynchronous, i or n instant."),
    Column::optional("flag", Text, "instant: has no duration; open_end: its end was not recorded; null otherwise."),
    Column::required(
        "kind",
        Text,
        "op, ann, py, rt, kernel, memcpy, memset, gpuann, sync, overhead, window, mtia, range or other.",
    ),
    Column::optional("category", Text, "Category as recorded."),
    Column::optional("name", Text, "Name as recorded."),
];

static DERIVED_COLUMNS: [Column; 17] = [
    Column::optional(
        "parent_id",
        I64,
        "Span that encloses it: op, ann and rt nest among each other, operations of a compiled program too, every other kind among its own.",
    ),
    Column::required("depth", I32, "How many spans of its family enclose it."),
    Column::required(
        "self_ns",
        I64,
        "Duration minus the union of its children. For an op or a call, these are the ops and calls below it, skipping annotations. By the clock of the device where that is recorded.",
    ),
    Column::optional("parent_op_id", I64, "Nearest enclosing operator."),
    Column::optional("python_parent_id", I64, "Nearest enclosing Python frame."),
    Column::optional("module_id", I64, "Nearest enclosing module call."),
    Column::optional("launch_id", I64, "For device events: the runtime call that launched it."),
    Column::optional("owner_id", I64, "For device events: innermost operator or annotation that issued the launch."),
    Column::optional("operator_id", I64, "For device events: the operator it belongs to."),
    Column::optional(
        "link",
        Text,
        "For device events: external_id, nesting, launch_outside_any_span or no_launch_call.",
    ),
    Column::optional(
        "graph_launch",
        I64,
        "For events of a CUDA or HIP graph: which graph launch of the trace, from 0.",
    ),
    Column::optional(
        "graph_node",
        I64,
        "For events of a graph: its node as recorded, else its place in the launch by start.",
    ),
    Column::optional(
        "comm_rule",
        Text,
        "For communication kernels: the rule that says so, collective_name, hlo, owner or name.",
    ),
    Column::optional(
        "kernel_category",
        Text,
        "For device events: gemm, convolution, attention, elementwise, reduction, copy, communication or other.",
    ),
    Column::optional("step", I32, "Step it belongs to: by its start on the host, by its launch for device events."),
    Column::optional("forward_id", I64, "For backward operators: the forward operator."),
    Column::optional("forward_rule", Text, "How the forward operator was found: flow or sequence_number."),
];

static REST_COLUMNS: [Column; 1] = [Column::optional("args", Text, "Every other argument, as JSON.")];
