//! The arguments of events that have a column of their own in `spans`.
//!
//! An argument with mostly distinct values, or one that analyses filter by, is a typed column; the rest stays
//! together as JSON text. To give one more argument a column, add a line to `SPAN_ARGS` and its `Column`.

use crate::schema::{Column, ColumnType};

/// An argument, by the names it has in traces, and the column that takes it.
#[derive(Clone, Copy, Debug)]
pub struct SpanArg {
    /// Names in traces, the one of the newest generation first.
    pub keys: &'static [&'static str],
    /// Its column.
    pub column: SpanArgColumn,
    /// What its value must look like. An argument that does not stays in the JSON rest.
    pub form: ArgForm,
}

/// What the value of an argument looks like in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgForm {
    /// An integer of 64 signed bits.
    Int,
    /// A number.
    Float,
    /// A string.
    Text,
    /// An array, kept as JSON text.
    List,
    /// An integer of any size, kept as its digits.
    Digits,
}

impl ArgForm {
    const fn column_type(self) -> ColumnType {
        match self {
            Self::Int => ColumnType::I64,
            Self::Float => ColumnType::F64,
            Self::Text | Self::List | Self::Digits => ColumnType::Text,
        }
    }
}

macro_rules! span_args {
    ($($name:ident, $form:ident, [$($key:literal),+], $doc:literal;)+) => {
        /// A column of an argument; as a number its index in `SPAN_ARG_COLUMNS`.
        #[allow(non_camel_case_types, missing_docs, clippy::upper_case_acronyms, reason = "names are those of the columns")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum SpanArgColumn { $($name),+ }

        /// The columns, in table order.
        pub static SPAN_ARG_COLUMNS: [Column; [$($doc),+].len()] =
            [$(Column::optional(stringify!($name), ArgForm::$form.column_type(), $doc)),+];

        /// The arguments, in table order.
        pub static SPAN_ARGS: [SpanArg; [$($doc),+].len()] =
            [$(SpanArg { keys: &[$($key),+], column: SpanArgColumn::$name, form: ArgForm::$form }),+];
    };
}

span_args! {
    correlation, Int, ["correlation"], "Correlation id, shared by a launch and its device events.";
    external_id, Int, ["External id", "external id"], "Number of the operator, as the profiler wrote it; some traces put the correlation here.";
    device_id, Int, ["device"], "Device, as recorded in the arguments.";
    stream_id, Int, ["stream"], "Stream, as recorded in the arguments.";
    event_index, Int, ["Ev Idx"], "The profiler's own number of the event.";
    profiler_event_index, Int, ["Profiler Event Index"], "The profiler's number of the event in traces of 2022.";
    record_function_id, Int, ["Record function id"], "The framework's number of the call.";
    sequence_number, Int, ["Sequence number"], "Autograd's number, shared by forward and backward.";
    forward_thread_id, Int, ["Fwd thread id"], "For backward operators: the forward thread, in autograd's numbering.";
    python_id, Int, ["Python id"], "Number of a Python frame.";
    python_caller_id, Int, ["Python parent id"], "python_id of the calling frame.";
    python_module_id, Int, ["Python module id"], "Number of the module, for module calls.";
    callback_id, Int, ["cbid"], "CUPTI's number of the runtime function.";
    external_ts_us, Int, ["external ts"], "Time of the operator that made a call, in microseconds, in traces of 2021.";
    size_bytes, Int, ["bytes"], "Bytes copied or filled.";
    memory_bandwidth_gb_per_s, Float, ["memory bandwidth (GB/s)"], "Bandwidth of a copy, as recorded.";
    registers_per_thread, Int, ["registers per thread"], "Registers a thread of the kernel uses.";
    shared_memory_bytes, Int, ["shared memory"], "Shared memory a block of the kernel uses.";
    blocks_per_sm, Float, ["blocks per SM"], "Blocks of the grid per multiprocessor, as recorded.";
    warps_per_sm, Float, ["warps per SM"], "Warps of the grid per multiprocessor, as recorded.";
    est_achieved_occupancy_percent, Float, ["est. achieved occupancy %"], "Estimated occupancy, as recorded, 0 to 100.";
    grid, List, ["grid"], "Grid of the kernel, as a JSON list.";
    block, List, ["block"], "Block of the kernel, as a JSON list.";
    graph_id, Int, ["graph id"], "Number of the CUDA graph.";
    graph_node_id, Int, ["graph node id"], "Number of the node in the CUDA graph.";
    input_dims, List, ["Input Dims", "Input dims"], "Shapes of the inputs, as a JSON list.";
    input_types, List, ["Input type"], "Types of the inputs, as a JSON list.";
    input_strides, List, ["Input Strides"], "Strides of the inputs, as a JSON list.";
    concrete_inputs, List, ["Concrete Inputs"], "Values of scalar inputs, as a JSON list.";
    call_stack, Text, ["Call stack"], "Python stack, innermost first, in old traces.";
    module_hierarchy, Text, ["Module Hierarchy"], "Modules around the operator, in old traces.";
    collective_name, Text, ["Collective name"], "Collective operation.";
    collective_dtype, Text, ["dtype"], "Element type of a collective.";
    in_msg_nelems, Int, ["In msg nelems"], "Elements that go into a collective.";
    out_msg_nelems, Int, ["Out msg nelems"], "Elements that come out of a collective.";
    group_size, Int, ["Group size"], "Ranks in the process group.";
    process_group_name, Text, ["Process Group Name"], "Name of the process group.";
    process_group_ranks, Text, ["Process Group Ranks"], "Ranks of the process group, as recorded.";
    comms_id, Digits, ["Comms Id"], "Id of the communicator, as text because it exceeds 64 signed bits.";
    collective_seq, Int, ["Seq"], "Recorded sequence number of a collective.";
    framework_op, Text, ["framework_op"], "Operator of TensorFlow or JAX that it belongs to, with its path.";
    hlo_op, Text, ["hlo_op"], "Operation of the compiled program.";
    hlo_module, Text, ["hlo_module"], "Compiled program that it is part of.";
    hlo_category, Text, ["hlo_category"], "What XLA says that the operation does.";
    program_id, Int, ["program_id"], "Number of the compiled program.";
    run_id, Int, ["run_id"], "Number of the run of the program.";
    device_start_ns, Int, ["device_start_ns"], "Start by the clock of the device, from a beginning that is not recorded.";
    device_dur_ns, Int, ["device_dur_ns"], "Duration by the clock of the device.";
    flops, Int, ["flops"], "Floating-point operations, as the compiler counts them.";
    model_flops, Int, ["model_flops"], "The part of them that the model asks for.";
    bytes_accessed, Int, ["bytes_accessed"], "Bytes read and written, as the compiler counts them.";
}
