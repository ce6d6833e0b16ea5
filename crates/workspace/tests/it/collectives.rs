//! Collectives of one rank: apparent bandwidths, sums by kind and group, and what is not known (metrics, section 14).

use serde_json::Value as Json;
use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

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

fn metrics(trace: &TraceBuilder) -> Json {
    open_text(&trace.finish()).metrics(None, None).unwrap()
}

#[track_caller]
fn check(row: &Json, want: &[(&str, Json)]) {
    for (figure, want) in want {
        assert_eq!(row[figure], *want, "{figure} of {row}");
    }
}

#[test]
fn bandwidth_follows_the_kind_of_collective() {
    let trace = kernel(TraceBuilder::new(), "ncclDevKernel_A", "10", "2", 1);
    let trace = metadata(trace, "allreduce", "BFloat16", ["1000", "9"], "tp");
    // The message of an all-gather is its output.
    let trace =
        metadata(kernel(trace, "ncclDevKernel_B", "20", "4", 2), "_allgather_base", "Float", ["9", "1000"], "dp");
    let first = &metrics(&trace)["collectives"]["first"];
    check(&first[0], &[("bytes", 2_000.into()), ("algbw_gb_per_s", 1.0.into()), ("busbw_gb_per_s", 1.5.into())]);
    check(&first[1], &[("bytes", 4_000.into()), ("algbw_gb_per_s", 1.0.into()), ("busbw_gb_per_s", 0.75.into())]);
}

#[test]
fn bandwidth_on_the_wire_needs_the_number_of_ranks() {
    let trace = TraceBuilder::new()
        .annotation("nccl:all_reduce", 1, "0", "10")
        .arg("Input Dims", "[[5, 2]]")
        .arg("Input type", "[\"float\"]")
        .runtime("cudaLaunchKernel", 1, "2", "1", 1);
    let metrics = metrics(&kernel(trace, "ncclKernel_AllReduce", "5", "4", 1));
    let first = &metrics["collectives"]["first"][0];
    check(first, &[("source", "span_name".into()), ("bytes_from", "input shapes".into())]);
    check(first, &[("algbw_gb_per_s", 0.01.into()), ("busbw_gb_per_s", Json::Null)]);
    // Nothing stands in for it.
    assert_eq!(metrics["nulls"]["collectives.first[0]"], "collective metadata not recorded");
}

#[test]
fn collectives_are_added_up_by_group_and_listed_by_launch() {
    let trace = TraceBuilder::new().runtime("cudaLaunchKernel", 1, "10", "1", 1);
    let trace = trace.runtime("cudaLaunchKernel", 1, "20", "1", 2).runtime("cudaLaunchKernel", 1, "30", "1", 3);
    let one = |trace: TraceBuilder, ts: &str, dur: &str, id: i64, group: &str| {
        metadata(kernel(trace, "ncclDevKernel_A", ts, dur, id), "allreduce", "Byte", ["8", "8"], group)
    };
    let trace = one(one(one(trace, "100", "3", 3, "b"), "200", "2", 1, "a"), "300", "9", 2, "b");
    let collectives = &metrics(&trace)["collectives"];
    let order = |figure: &str| -> Vec<_> {
        collectives["first"].as_array().unwrap().iter().map(|row| row[figure].clone()).collect()
    };
    assert_eq!(order("duration_ns"), [2_000, 9_000, 3_000]);
    assert_eq!(order("ordinal"), [0, 0, 1]);
    check(
        &collectives["table"][0],
        &[
            ("pg", "b".into()),
            ("count", 2.into()),
            ("total_ns", 12_000.into()),
            ("mean_ns", 6_000.0.into()),
            ("min_ns", 3_000.into()),
            ("p50_ns", 3_000.into()),
            ("p90_ns", 9_000.into()),
            ("bytes", 16.into()),
            ("bytes_missing", 0.into()),
        ],
    );
    assert_eq!(collectives["table"][0]["sources"]["kernel"], 2);
    assert_eq!(collectives["table"][1]["pg"], "a");
}

#[test]
fn what_is_not_known_is_null_with_a_reason() {
    let trace = kernel(TraceBuilder::new(), "ncclDevKernel_A", "10", "2", 1);
    let trace = metadata(trace, "allreduce", "QInt7", ["1000", "9"], "tp");
    let trace = metadata(kernel(trace, "ncclDevKernel_B", "20", "4", 2), "allreduce", "Float", ["null", "9"], "tp");
    // No time, no bandwidth.
    let trace = metadata(kernel(trace, "ncclDevKernel_C", "30", "0", 3), "allreduce", "Float", ["5", "5"], "dp");
    let metrics = metrics(&trace);
    let (collectives, nulls) = (&metrics["collectives"], &metrics["nulls"]);
    assert_eq!(nulls["collectives.first[0]"], "unknown dtype");
    assert_eq!(nulls["collectives.first[1]"], "argument not recorded: In msg nelems");
    check(&collectives["first"][2], &[("bytes", 20.into()), ("algbw_gb_per_s", Json::Null)]);
    check(&collectives["table"][1], &[("bytes", Json::Null), ("bytes_missing", 1.into())]);
}

#[test]
fn a_trace_without_communication_says_so() {
    let metrics = metrics(&TraceBuilder::new().op("a", 1, "0", "100").kernel("gemm", 0, 7, "10", "5", 1));
    assert_eq!(metrics["collectives"].to_string(), r#"{"count":0,"table":[],"first":[]}"#);
    assert_eq!(metrics["nulls"]["collectives"], "no communication");
}
