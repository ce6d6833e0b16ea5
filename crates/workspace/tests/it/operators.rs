//! Operators added up by step, name and shape (metrics, section 10).

use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Extras, Settings, Workspace};

use crate::harness::{Silent, check, op, write};

const OPERATORS: &str = "
    SELECT name, sum(spans), sum(calls), sum(host_self_ns), sum(host_total_ns), sum(device_events),
        sum(device_self_ns), sum(device_total_ns)
    FROM op_rollup GROUP BY name ORDER BY name NULLS LAST";

/// A launch at `ts` and a kernel of 5 µs that it brings.
fn work(trace: TraceBuilder, ts: &str, correlation: &str) -> TraceBuilder {
    let trace = trace.complete("cuda_runtime", "cudaLaunchKernel", 1, 1, ts, "1").arg("correlation", correlation);
    trace.complete("kernel", "k", 0, 7, "200", "5").arg("correlation", correlation)
}

#[test]
fn recursion_counts_once_in_totals() {
    let trace = op(op(op(TraceBuilder::new(), "f", "0", "100"), "g", "10", "30"), "f", "15", "15");
    let trace = work(work(trace, "20", "1"), "35", "2");
    // The second f lies in the first: its 15 µs are self time, not total; its kernel counts in both names above it.
    check(
        &trace.finish(),
        OPERATORS,
        "f 2 2 84000 100000 1 5000 10000
         g 1 1 14000 30000 1 5000 10000",
    );
}

#[test]
fn an_only_child_of_the_same_name_is_the_same_call() {
    let chain = op(op(op(TraceBuilder::new(), "f", "0", "10"), "f", "1", "8"), "f", "2", "6");
    let twins = op(op(op(chain, "f", "20", "10"), "f", "21", "3"), "f", "25", "3");
    // A call of the runtime beside it is no operator, so the child is still the only one.
    let call = op(op(twins, "f", "40", "10"), "f", "41", "3");
    let call = call.complete("cuda_runtime", "cudaStreamSynchronize", 1, 1, "46", "1");
    check(&call.finish(), OPERATORS, "f 8 5 29000 30000 0 0 0");
}

#[test]
fn an_annotation_between_two_operators_is_transparent() {
    let trace = op(TraceBuilder::new(), "f", "0", "10").annotation("label", 1, "1", "8");
    let trace = op(trace, "f", "2", "6");
    check(&trace.finish(), OPERATORS, "f 2 1 10000 10000 0 0 0");
}

#[test]
fn device_work_without_an_operator_has_a_row_of_its_own() {
    let trace = work(work(op(TraceBuilder::new(), "f", "0", "10"), "5", "1"), "50", "2");
    let trace = trace.complete("kernel", "before the recording", 0, 7, "300", "7");
    check(
        &trace.finish(),
        OPERATORS,
        "f 1 1 9000 10000 1 5000 5000
         - 0 0 0 0 2 12000 12000",
    );
}

#[test]
fn sums_that_were_left_out_are_missing_and_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let text = op(TraceBuilder::new(), "f", "0", "10").finish();
    let trace = write(folder.path(), "trace.json", &text);
    let settings = Settings {
        store: Some(folder.path().join("store")),
        extras: Extras { rollups: false, ..Extras::default() },
        ..Settings::default()
    };
    Workspace::ingest(&[trace], &settings, &Silent).unwrap();
    let store = [folder.path().join("store")];
    let metrics = Workspace::open(&store, &Settings::default(), &Silent).unwrap().metrics(None, None).unwrap();
    assert!(metrics["operators"].is_null());
    assert_eq!(metrics["nulls"]["operators"], "sums were left out at ingest");
}

#[test]
fn groups_are_steps_names_and_shapes() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "50").annotation("ProfilerStep#2", 1, "50", "50");
    let trace = op(trace, "mm", "10", "1").arg("Input Dims", "[[2,3],[3,4]]");
    let trace = op(trace, "mm", "20", "2").arg("Input Dims", "[[2,3],[3,4]]");
    let trace = op(trace, "mm", "60", "4").arg("Input Dims", "[[2,3],[3,4]]");
    let trace = op(trace, "mm", "70", "8").arg("Input Dims", "[[]]");
    let trace = op(op(trace, "mm", "80", "16"), "mm", "200", "32");
    check(
        &trace.finish(),
        "SELECT step, input_dims, spans, host_total_ns FROM op_rollup ORDER BY step NULLS LAST, host_total_ns",
        "0 [[2,3],[3,4]] 2 3000
         1 [[2,3],[3,4]] 1 4000
         1 [[]] 1 8000
         1 - 1 16000
         - - 1 32000",
    );
}
