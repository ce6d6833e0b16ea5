//! Launch, owner and operator of device events (metrics, section 4).

use stepscope_model::tables::{OP_ROLLUP, SPANS};
use stepscope_testkit::TraceBuilder;

use crate::tables::{Tables, tables};

/// Checks name, launch, owner, operator and link of the device events, by start.
#[track_caller]
fn check(trace: &TraceBuilder, want: &str) -> Tables {
    let tables = tables(trace);
    let events = tables.rows(&SPANS).only("kind", "kernel memcpy memset").sorted_by("start_ns span_id");
    events.check("name launch_id.name owner_id.name operator_id.name link", want);
    tables
}

/// A launch on thread 1.
fn call(trace: TraceBuilder, name: &str, ts: &str, correlation: i64) -> TraceBuilder {
    trace.runtime(name, 1, ts, "2", correlation)
}

fn launch(trace: TraceBuilder, ts: &str, correlation: i64) -> TraceBuilder {
    call(trace, "cudaLaunchKernel", ts, correlation)
}

fn kernel(trace: TraceBuilder, name: &str, ts: &str, correlation: i64) -> TraceBuilder {
    trace.kernel(name, 0, 7, ts, "5", correlation)
}

#[test]
fn by_nesting_by_id_outside_and_before_the_recording() {
    let trace = TraceBuilder::new().op("outer", 1, "0", "50").arg("External id", "3");
    let trace = trace.op("inner", 1, "10", "20").arg("External id", "4");
    let trace = launch(launch(trace, "12", 101), "40", 102).arg("External id", "3");
    let trace = launch(trace, "60", 103);
    let trace = kernel(kernel(trace, "k1", "20", 101), "k2", "50", 102);
    let trace = kernel(kernel(kernel(trace, "k3", "70", 103), "k4", "80", 104), "k5", "90", 0);
    check(
        &trace,
        "k1 cudaLaunchKernel inner inner nesting
         k2 cudaLaunchKernel outer outer external_id
         k3 cudaLaunchKernel - - launch_outside_any_span
         k4 - - - no_launch_call
         k5 - - - no_launch_call",
    );
}

#[test]
fn a_correlation_that_no_call_has_links_to_nothing() {
    let trace = launch(launch(TraceBuilder::new().op("a", 1, "0", "50"), "10", 101), "20", 105);
    let trace = kernel(kernel(kernel(trace, "first", "30", 101), "between", "40", 103), "last", "50", 105);
    check(
        &trace,
        "first cudaLaunchKernel a a nesting
         between - - - no_launch_call
         last cudaLaunchKernel a a nesting",
    );
}

#[test]
fn an_external_id_that_is_the_correlation_says_nothing() {
    // The operator "wrong" happens to carry 11, which is the correlation of the launch inside "right".
    let trace = TraceBuilder::new().op("wrong", 1, "0", "5").arg("External id", "11");
    let trace = trace.op("right", 1, "10", "10").arg("External id", "2");
    let trace = launch(trace, "12", 11).arg("External id", "11");
    let trace = kernel(trace, "k", "20", 11).arg("External id", "11");
    check(&trace, "k cudaLaunchKernel right right nesting");
}

#[test]
fn an_id_on_another_thread_or_on_two_spans_is_not_accepted() {
    let trace = TraceBuilder::new().op("here", 1, "0", "50");
    let trace = trace.op("elsewhere", 2, "0", "50").arg("External id", "5");
    let trace = trace.op("twin", 1, "60", "1").arg("External id", "6").op("twin", 1, "62", "1").arg("External id", "6");
    let trace = launch(trace, "10", 101).arg("External id", "5");
    let trace = launch(trace, "20", 102).arg("External id", "6");
    let trace = kernel(kernel(trace, "k1", "30", 101), "k2", "40", 102);
    check(&trace, "k1 cudaLaunchKernel here here nesting\nk2 cudaLaunchKernel here here nesting");
}

#[test]
fn the_id_of_the_event_counts_without_a_launch_call() {
    let trace = TraceBuilder::new().op("a", 1, "0", "50").arg("External id", "5");
    check(&kernel(trace, "k", "30", 101).arg("External id", "5"), "k - a a external_id");
}

#[test]
fn of_calls_that_share_a_correlation_the_latest_launch_before_the_event_wins() {
    let trace = call(TraceBuilder::new().op("a", 1, "0", "100"), "hipLaunchKernel", "10", 7);
    let trace = call(call(trace, "hipExtLaunchKernel", "20", 7), "hipStreamSynchronize", "25", 7);
    let trace = kernel(call(trace, "hipLaunchLate", "60", 7), "k", "30", 7);
    let tables = check(&trace, "k hipExtLaunchKernel a a nesting");
    assert_eq!(tables.health("runtime_correlation_shared"), "1");
}

#[test]
fn shared_correlations_count_once_each_with_or_without_device_events() {
    // 2 is between those of the kernels, 9 behind them; 1 and 3 have one call each.
    let calls = [1, 2, 2, 3, 9, 9, 9].into_iter().enumerate();
    let trace = calls
        .fold(TraceBuilder::new(), |trace, (place, correlation)| launch(trace, &(place * 10).to_string(), correlation));
    let trace = kernel(kernel(trace, "k1", "80", 1), "k3", "90", 3);
    assert_eq!(tables(&trace).health("runtime_correlation_shared"), "2");
}

#[test]
fn annotations_own_launches_but_the_operator_is_above_them() {
    let trace = TraceBuilder::new().op("a", 1, "0", "100").annotation("label", 1, "10", "50");
    let trace = launch(trace, "20", 7)
        .complete("cuda_driver", "cuLaunchKernel", TraceBuilder::HOST_PROCESS, 1, "21", "1")
        .arg("correlation", "8");
    let trace = kernel(kernel(trace, "k", "30", 7), "inner", "40", 8);
    check(&trace, "k cudaLaunchKernel label a nesting\ninner cuLaunchKernel label a nesting");
}

#[test]
fn an_annotation_that_is_found_by_id_belongs_to_the_operator_around_it() {
    let trace = TraceBuilder::new().op("a", 1, "0", "50").annotation("label", 1, "10", "10").arg("External id", "5");
    let trace = kernel(launch(trace, "60", 7).arg("External id", "5"), "k", "70", 7);
    check(&trace, "k cudaLaunchKernel label a external_id");
}

#[test]
fn id_and_nesting_that_name_different_operators_are_counted() {
    let trace = TraceBuilder::new().op("by_id", 1, "0", "5").arg("External id", "5").op("by_time", 1, "10", "20");
    let trace = kernel(launch(trace, "12", 7).arg("External id", "5"), "k", "30", 7);
    let tables = check(&trace, "k cudaLaunchKernel by_id by_id external_id");
    assert_eq!(tables.health("external_id_and_nesting_disagree"), "1");
}

#[test]
fn where_only_one_of_id_and_nesting_speaks_or_both_agree_nothing_is_counted() {
    let trace = TraceBuilder::new().op("a", 1, "0", "50").arg("External id", "5");
    let trace = launch(trace, "10", 7).arg("External id", "5");
    let trace = kernel(launch(trace, "20", 8).arg("External id", "5"), "k1", "60", 7);
    let trace = kernel(kernel(trace, "k2", "70", 8), "before", "80", 99).arg("External id", "5");
    let tables = check(
        &trace,
        "k1 cudaLaunchKernel a a external_id
         k2 cudaLaunchKernel a a external_id
         before - a a external_id",
    );
    assert_eq!(tables.health("external_id_and_nesting_disagree"), "0");
}

#[test]
fn the_owner_decides_what_a_kernel_without_a_telling_name_is() {
    let trace = TraceBuilder::new()
        .op("aten::add_", 1, "0", "10")
        .op("aten::addmm", 1, "20", "10")
        .arg("External id", "5")
        .op("record_param_comms", 1, "40", "10")
        .arg("External id", "6")
        .op("aten::mm", 1, "60", "10")
        .annotation("label", 1, "62", "4")
        .arg("External id", "7");
    // All four launches lie in the first operator; three name another one.
    let trace = launch(launch(trace, "1", 1), "3", 2).arg("External id", "5");
    let trace = launch(launch(trace, "5", 3).arg("External id", "6"), "7", 4).arg("External id", "7");
    let trace = kernel(kernel(trace, "mystery", "100", 1), "mystery", "110", 2);
    let trace = kernel(kernel(trace, "mystery", "120", 3), "mystery", "130", 4);
    tables(&trace).rows(&SPANS).only("kind", "kernel").sorted_by("start_ns").check(
        "owner_id.name comm_rule kernel_category",
        "aten::add_ - elementwise
         aten::addmm - gemm
         record_param_comms owner communication
         label - gemm",
    );
}

#[test]
fn device_time_goes_to_the_operator_of_the_event() {
    let trace = launch(launch(TraceBuilder::new().op("a", 1, "0", "50"), "10", 1), "20", 2);
    let trace =
        trace.kernel("k1", 0, 7, "30", "5", 1).memcpy("k2", 0, 7, "40", "3", 2).kernel("k3", 0, 7, "50", "7", 0);
    let operators = tables(&trace);
    operators.rows(&OP_ROLLUP).sorted_by("name").check("name device_events device_self_ns", "- 1 7000\na 2 8000");
}

#[test]
fn the_events_of_a_graph_are_numbered() {
    let trace = call(call(TraceBuilder::new(), "cudaGraphLaunch", "50", 2), "cudaGraphLaunch", "10", 1);
    let trace = kernel(kernel(trace, "b", "70", 2), "a2", "40", 1);
    let trace = kernel(trace, "a1", "20", 1).arg("graph node id", "77");
    let trace = kernel(launch(trace, "80", 3), "plain", "90", 3);
    tables(&trace).rows(&SPANS).only("kind", "kernel").sorted_by("start_ns").check(
        "name graph_launch graph_node",
        "a1 0 77
         a2 0 1
         b 1 0
         plain - -",
    );
}

#[test]
fn ids_beyond_64_bits_still_link() {
    let call = |trace: TraceBuilder, ts: &str, correlation: &str| {
        let trace = trace.complete("cuda_runtime", "cudaLaunchKernel", TraceBuilder::HOST_PROCESS, 1, ts, "2");
        trace.arg("correlation", correlation)
    };
    let trace = TraceBuilder::new().op("a", 1, "0", "100");
    let trace = call(call(trace, "10", "18446744073709551617"), "20", "18446744073709551618");
    let trace = trace.complete("kernel", "k", 0, 7, "30", "5").arg("correlation", "18446744073709551617");
    tables(&trace)
        .rows(&SPANS)
        .only("kind", "kernel")
        .check("launch_id.start_ns correlation args", r#"10000 - {"correlation":18446744073709551617}"#);
}

#[test]
fn the_newer_spelling_of_an_id_wins_whatever_its_size() {
    const WIDE: &str = "18446744073709551617";
    // Arguments of the launch call, and the operator that it then names.
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[("external id", "4"), ("External id", WIDE)], "wide"),
        (&[("External id", WIDE), ("external id", "4")], "wide"),
        (&[("External id", "4"), ("external id", WIDE)], "small"),
        (&[("external id", WIDE), ("External id", "4")], "small"),
        (&[("External id", WIDE), ("external id", "\"text\"")], "wide"),
        // What is no integer does not count.
        (&[("External id", "\"4\""), ("external id", WIDE)], "wide"),
        (&[("external id", WIDE), ("External id", "7.0")], "wide"),
        (&[("External id", "null"), ("external id", "4")], "small"),
        // Of one key the last entry counts.
        (&[("External id", WIDE), ("external id", "9"), ("External id", "4")], "small"),
    ];
    for (args, owner) in cases {
        let trace = TraceBuilder::new().op("wide", 1, "1", "5").arg("External id", WIDE);
        let trace = launch(trace.op("small", 1, "10", "5").arg("External id", "4"), "20", 9);
        let trace = args.iter().fold(trace, |trace, (key, value)| trace.arg(key, value));
        check(&kernel(trace, "k", "25", 9), &format!("k cudaLaunchKernel {owner} {owner} external_id"));
    }
}
