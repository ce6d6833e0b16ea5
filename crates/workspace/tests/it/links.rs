//! Launch, owner and operator of device events (metrics, section 4).

use stepscope_testkit::TraceBuilder;

use crate::harness::{check, op, open_text};

const LINKS: &str = "
    SELECT d.name, l.name AS launch, o.name AS owner, p.name AS operator, d.link
    FROM spans d LEFT JOIN spans l ON d.launch_id = l.span_id LEFT JOIN spans o ON d.owner_id = o.span_id
    LEFT JOIN spans p ON d.operator_id = p.span_id
    WHERE d.kind IN ('kernel', 'memcpy', 'memset') ORDER BY d.start_ns, d.span_id";

fn call(trace: TraceBuilder, name: &str, ts: &str, correlation: &str) -> TraceBuilder {
    trace.complete("cuda_runtime", name, 1, 1, ts, "2").arg("correlation", correlation)
}

fn kernel(trace: TraceBuilder, name: &str, ts: &str, correlation: &str) -> TraceBuilder {
    trace.complete("kernel", name, 0, 7, ts, "5").arg("correlation", correlation)
}

#[test]
fn by_nesting_by_id_outside_and_before_the_recording() {
    let trace = op(TraceBuilder::new(), "outer", "0", "50").arg("External id", "3");
    let trace = op(trace, "inner", "10", "20").arg("External id", "4");
    let trace = call(trace, "cudaLaunchKernel", "12", "101");
    let trace = call(trace, "cudaLaunchKernel", "40", "102").arg("External id", "3");
    let trace = call(trace, "cudaLaunchKernel", "60", "103");
    let trace = kernel(
        kernel(kernel(kernel(trace, "k1", "20", "101"), "k2", "50", "102"), "k3", "70", "103"),
        "k4",
        "80",
        "104",
    );
    let trace = kernel(trace, "k5", "90", "0");
    check(
        &trace.finish(),
        LINKS,
        "k1 cudaLaunchKernel inner inner nesting
         k2 cudaLaunchKernel outer outer external_id
         k3 cudaLaunchKernel - - launch_outside_any_span
         k4 - - - no_launch_call
         k5 - - - no_launch_call",
    );
}

#[test]
fn an_external_id_that_is_the_correlation_says_nothing() {
    // The operator "wrong" happens to carry 11, which is the correlation of the launch inside "right".
    let trace = op(op(TraceBuilder::new(), "wrong", "0", "5").arg("External id", "11"), "right", "10", "10")
        .arg("External id", "2");
    let trace = call(trace, "cudaLaunchKernel", "12", "11").arg("External id", "11");
    let trace = kernel(trace, "k", "20", "11").arg("External id", "11");
    check(&trace.finish(), LINKS, "k cudaLaunchKernel right right nesting");
}

#[test]
fn an_id_on_another_thread_or_on_two_spans_is_not_accepted() {
    let trace = op(TraceBuilder::new(), "here", "0", "50");
    let trace = trace.complete("cpu_op", "elsewhere", 1, 2, "0", "50").arg("External id", "5");
    let trace = op(op(trace, "twin", "60", "1").arg("External id", "6"), "twin", "62", "1").arg("External id", "6");
    let trace =
        call(call(trace, "cudaLaunchKernel", "10", "101").arg("External id", "5"), "cudaLaunchKernel", "20", "102");
    let trace = trace.arg("External id", "6");
    let trace = kernel(kernel(trace, "k1", "30", "101"), "k2", "40", "102");
    check(&trace.finish(), LINKS, "k1 cudaLaunchKernel here here nesting\nk2 cudaLaunchKernel here here nesting");
}

#[test]
fn the_id_of_the_event_counts_without_a_launch_call() {
    let trace = op(TraceBuilder::new(), "a", "0", "50").arg("External id", "5");
    let trace = kernel(trace, "k", "30", "101").arg("External id", "5");
    check(&trace.finish(), LINKS, "k - a a external_id");
}

#[test]
fn of_calls_that_share_a_correlation_the_latest_launch_before_the_event_wins() {
    let trace = op(TraceBuilder::new(), "a", "0", "100");
    let trace = call(
        call(call(trace, "hipLaunchKernel", "10", "7"), "hipExtLaunchKernel", "20", "7"),
        "hipStreamSynchronize",
        "25",
        "7",
    );
    let trace = call(trace, "hipLaunchLate", "60", "7");
    let trace = kernel(trace, "k", "30", "7").finish();
    check(&trace, LINKS, "k hipExtLaunchKernel a a nesting");
    assert_eq!(open_text(&trace).metrics(None, None).unwrap()["health"]["runtime_correlation_shared"], 1);
}

#[test]
fn annotations_own_launches_but_the_operator_is_above_them() {
    let trace = op(TraceBuilder::new(), "a", "0", "100").complete("user_annotation", "label", 1, 1, "10", "50");
    let trace = call(trace, "cudaLaunchKernel", "20", "7")
        .complete("cuda_driver", "cuLaunchKernel", 1, 1, "21", "1")
        .arg("correlation", "8");
    let trace = kernel(kernel(trace, "k", "30", "7"), "inner", "40", "8");
    check(&trace.finish(), LINKS, "k cudaLaunchKernel label a nesting\ninner cuLaunchKernel label a nesting");
}

#[test]
fn id_and_nesting_that_name_different_operators_are_counted() {
    let trace = op(op(TraceBuilder::new(), "by_id", "0", "5").arg("External id", "5"), "by_time", "10", "20");
    let trace = call(trace, "cudaLaunchKernel", "12", "7").arg("External id", "5");
    let trace = kernel(trace, "k", "30", "7").finish();
    check(&trace, LINKS, "k cudaLaunchKernel by_id by_id external_id");
    assert_eq!(open_text(&trace).metrics(None, None).unwrap()["health"]["external_id_and_nesting_disagree"], 1);
}

#[test]
fn the_events_of_a_graph_are_numbered() {
    let trace = call(call(TraceBuilder::new(), "cudaGraphLaunch", "50", "2"), "cudaGraphLaunch", "10", "1");
    let trace =
        kernel(kernel(kernel(trace, "b", "70", "2"), "a2", "40", "1"), "a1", "20", "1").arg("graph node id", "77");
    let trace = call(trace, "cudaLaunchKernel", "80", "3");
    let trace = kernel(trace, "plain", "90", "3");
    check(
        &trace.finish(),
        "SELECT name, graph_launch, graph_node FROM spans WHERE kind = 'kernel' ORDER BY start_ns",
        "a1 0 77
         a2 0 1
         b 1 0
         plain - -",
    );
}

#[test]
fn ids_beyond_64_bits_still_link() {
    let trace = op(TraceBuilder::new(), "a", "0", "100");
    let trace = call(
        call(trace, "cudaLaunchKernel", "10", "18446744073709551617"),
        "cudaLaunchKernel",
        "20",
        "18446744073709551618",
    );
    let trace = kernel(trace, "k", "30", "18446744073709551617");
    check(
        &trace.finish(),
        "SELECT l.start_ns, d.correlation, d.args FROM spans d JOIN spans l ON d.launch_id = l.span_id",
        r#"10000 - {"correlation":18446744073709551617}"#,
    );
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
        let trace = op(TraceBuilder::new(), "wide", "1", "5").arg("External id", WIDE);
        let trace = op(trace, "small", "10", "5").arg("External id", "4");
        let trace = call(trace, "cudaLaunchKernel", "20", "9");
        let trace = args.iter().fold(trace, |trace, (key, value)| trace.arg(key, value));
        let trace = kernel(trace, "k", "25", "9");
        check(&trace.finish(), LINKS, &format!("k cudaLaunchKernel {owner} {owner} external_id"));
    }
}
