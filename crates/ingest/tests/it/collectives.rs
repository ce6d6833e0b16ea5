//! Collectives that a device transfers: names, groups, bytes and order (metrics, section 14).

use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

/// Checks the collectives of a trace, by the starts of their kernels.
#[track_caller]
fn check(trace: &TraceBuilder, columns: &str, want: &str) {
    tables(trace).rows(&ALL_COLLECTIVES).sorted_by("start_ns").check(columns, want);
}

/// A communication kernel on stream 7 of device 0.
fn kernel(trace: TraceBuilder, name: &str, ts: &str, dur: &str, correlation: i64) -> TraceBuilder {
    trace.kernel(name, 0, 7, ts, dur, correlation)
}

/// Metadata of the last event.
fn metadata(trace: TraceBuilder, name: &str, dtype: &str, elements: [&str; 2], group: &str) -> TraceBuilder {
    trace
        .arg("Collective name", &format!("\"{name}\""))
        .arg("dtype", &format!("\"{dtype}\""))
        .arg("In msg nelems", elements[0])
        .arg("Out msg nelems", elements[1])
        .arg("Group size", "4")
        .arg("Process Group Name", &format!("\"{group}\""))
}

#[test]
fn the_kind_of_collective_decides_which_side_is_the_message() {
    let trace = kernel(TraceBuilder::new(), "ncclDevKernel_A", "10", "2", 1);
    let trace = metadata(trace, "allreduce", "BFloat16", ["1000", "9"], "tp");
    // The message of an all-gather is its output.
    let trace =
        metadata(kernel(trace, "ncclDevKernel_B", "20", "4", 2), "_allgather_base", "Float", ["9", "1000"], "dp");
    check(
        &trace,
        "collective named_by process_group group_size dtype message_bytes bytes_from is_host",
        "all_reduce kernel tp 4 BFloat16 2000 metadata false
         all_gather kernel dp 4 Float 4000 metadata false",
    );
}

#[test]
fn the_nearest_enclosing_span_that_knows_is_asked() {
    // outer (metadata) > label > nccl call > launch: the call alone has no metadata, so that of the outer span counts.
    let trace = TraceBuilder::new().op("record_param_comms", 1, "0", "50");
    let trace = metadata(trace, "broadcast", "Int", ["10", "10"], "outer");
    let trace = trace.annotation("label", 1, "5", "40").annotation("nccl:all_reduce", 1, "10", "20");
    let trace = kernel(trace.runtime("cudaLaunchKernel", 1, "12", "1", 1), "ncclKernel_X", "60", "5", 1);
    // A nearer one wins over it; a name that means nothing leaves the name to the call.
    let trace = trace.op("record_param_comms", 1, "100", "50");
    let trace = metadata(trace, "broadcast", "Int", ["10", "10"], "outer").op("c10d::wait", 1, "110", "30");
    let trace = metadata(trace, "wait", "Int", ["20", "20"], "inner").annotation("nccl:coalesced", 1, "112", "20");
    let trace = trace.annotation("nccl:reduce_scatter", 1, "111", "25");
    let trace = kernel(trace.runtime("cudaLaunchKernel", 1, "115", "1", 2), "ncclKernel_Y", "160", "5", 2);
    check(
        &trace,
        "collective named_by process_group message_bytes",
        "broadcast span outer 40
         reduce_scatter span inner 80",
    );
}

#[test]
fn a_span_that_is_crossed_encloses_nothing_any_more() {
    // The operator begins inside the call and ends behind it; the launch lies inside both, but below the operator.
    let trace = TraceBuilder::new().annotation("nccl:broadcast", 1, "0", "10").op("crossing", 1, "5", "10");
    let trace = trace.runtime("cudaLaunchKernel", 1, "6", "1", 1);
    check(&kernel(trace, "ncclKernel_AllReduce", "20", "4", 1), "collective named_by", "all_reduce kernel_name");
}

#[test]
fn what_is_around_one_launch_says_nothing_of_the_next() {
    let trace =
        metadata(TraceBuilder::new().op("record_param_comms", 1, "0", "10"), "broadcast", "Int", ["1", "1"], "a");
    let trace = trace.runtime("cudaLaunchKernel", 1, "2", "1", 1).op("plain", 1, "20", "10");
    let trace = trace.runtime("cudaLaunchKernel", 1, "22", "1", 2).op("elsewhere", 2, "0", "90");
    let trace = trace.runtime("cudaLaunchKernel", 2, "30", "1", 3);
    let trace = kernel(kernel(trace, "ncclKernel_X", "40", "5", 1), "ncclKernel_AllReduce", "50", "5", 2);
    check(
        &kernel(trace, "ncclKernel_Reduce", "60", "5", 3),
        "collective named_by process_group",
        "broadcast span a
         all_reduce kernel_name -
         reduce kernel_name -",
    );
}

#[test]
fn without_metadata_names_and_shapes_speak() {
    let call = |trace: TraceBuilder, name: &str, ts: i64, id: i64| {
        let trace = trace.annotation(name, 1, &ts.to_string(), "10");
        let trace = trace.arg("Input Dims", "[[5, 2]]").arg("Input type", "[\"float\"]");
        let trace = trace.runtime("cudaLaunchKernel", 1, &(ts + 2).to_string(), "1", id);
        kernel(trace, "ncclKernel_AllReduce", &(ts + 5).to_string(), "4", id)
    };
    let trace = call(call(TraceBuilder::new(), "nccl:all_reduce", 0, 1), "nccl:_all_gather_base", 20, 2);
    // Launched outside any span: only the kernel's own name is left.
    let trace = kernel(trace, "ncclDevKernel_SendRecv", "60", "4", 99);
    // The shapes of a gather are those of its inputs, which is not the size of the message.
    check(
        &kernel(trace, "multimem_one_shot_kernel", "70", "4", 98),
        "collective named_by message_bytes bytes_from bytes_missing",
        "all_reduce span_name 40 input shapes -
         all_gather span_name - - collective metadata not recorded
         send_recv kernel_name - - collective metadata not recorded
         unknown kernel_name - - collective metadata not recorded",
    );
}

#[test]
fn collectives_are_numbered_in_the_order_of_their_launches() {
    let trace = TraceBuilder::new().runtime("cudaLaunchKernel", 1, "10", "1", 1);
    let trace = trace.runtime("cudaLaunchKernel", 1, "20", "1", 2).runtime("cudaLaunchKernel", 1, "30", "1", 3);
    let one = |trace: TraceBuilder, ts: &str, dur: &str, id: i64, group: &str| {
        metadata(kernel(trace, "ncclDevKernel_A", ts, dur, id), "allreduce", "Byte", ["8", "8"], group)
    };
    let trace = one(one(one(trace, "100", "3", 3, "b"), "200", "2", 1, "a"), "300", "9", 2, "b");
    // Launched before the recording: it cannot be compared with other ranks.
    let trace = one(trace, "400", "7", 99, "b");
    check(
        &trace,
        "process_group ordinal launch_ns start_ns dur_ns span_id.name device_id stream_id",
        "b 1 30000 100000 3000 ncclDevKernel_A 0 7
         a 0 10000 200000 2000 ncclDevKernel_A 0 7
         b 0 20000 300000 9000 ncclDevKernel_A 0 7
         b - - 400000 7000 ncclDevKernel_A 0 7",
    );
}

#[test]
fn bytes_that_are_not_known_have_a_reason() {
    let trace = kernel(TraceBuilder::new(), "ncclDevKernel_A", "10", "2", 1);
    let trace = metadata(trace, "allreduce", "QInt7", ["1000", "9"], "tp");
    let trace = metadata(kernel(trace, "ncclDevKernel_B", "20", "4", 2), "allreduce", "Float", ["null", "9"], "tp");
    let trace = metadata(kernel(trace, "ncclDevKernel_C", "30", "4", 3), "all_gather", "Float", ["9", "null"], "tp");
    let trace = metadata(kernel(trace, "ncclDevKernel_D", "40", "0", 4), "allreduce", "Float", ["5", "5"], "dp");
    check(
        &trace,
        "message_bytes bytes_from bytes_missing",
        "- - unknown dtype
         - - argument not recorded: In msg nelems
         - - argument not recorded: Out msg nelems
         20 metadata -",
    );
}
