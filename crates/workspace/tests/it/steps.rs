//! Steps (metrics, section 5).

use stepscope_testkit::TraceBuilder;

use crate::harness::{check, op, open_text};

const STEPS: &str = "SELECT step, name, source, start_ns, end_ns, host_start_ns, host_dur_ns, device_events, is_complete FROM steps ORDER BY step";

fn mark(trace: TraceBuilder, name: &str, ts: &str, dur: &str) -> TraceBuilder {
    trace.complete("user_annotation", name, 1, 1, ts, dur)
}

/// A launch on another thread than the marks, and its kernel.
fn work(trace: TraceBuilder, correlation: &str, call_ts: &str, kernel_ts: &str, kernel_dur: &str) -> TraceBuilder {
    let trace = trace.complete("cuda_runtime", "cudaLaunchKernel", 1, 2, call_ts, "1").arg("correlation", correlation);
    trace.complete("kernel", "k", 0, 7, kernel_ts, kernel_dur).arg("correlation", correlation)
}

#[test]
fn steps_reach_to_the_end_of_the_device_work_they_launched() {
    let trace = mark(mark(TraceBuilder::new(), "ProfilerStep#1", "100", "100"), "ProfilerStep#2", "200", "100");
    // Launched before the first mark and still running in it: the first step begins behind it.
    let trace = work(trace, "1", "90", "95", "20");
    let trace = work(work(trace, "2", "150", "160", "70"), "3", "250", "260", "20");
    check(
        &trace.finish(),
        STEPS,
        "0 ProfilerStep#1 profiler_step 115000 230000 100000 100000 1 true
         1 ProfilerStep#2 profiler_step 230000 300000 200000 100000 1 true",
    );
}

#[test]
fn device_copies_of_the_marks_are_no_steps_and_ranks_of_rules_hold() {
    let trace = mark(TraceBuilder::new(), "ProfilerStep#7", "0", "10").complete(
        "gpu_user_annotation",
        "ProfilerStep#7",
        0,
        7,
        "5",
        "10",
    );
    let trace = mark(trace, "execute_context_1(8)_generation_0(0)", "20", "10");
    check(&trace.finish(), STEPS, "0 ProfilerStep#7 profiler_step 0 10000 0 10000 0 true");
}

#[test]
fn serving_annotations_are_steps() {
    let trace = mark(mark(TraceBuilder::new(), "execute_context_1(8)_generation_0(0)", "20", "10"), "other", "0", "5");
    check(
        &trace.finish(),
        STEPS,
        "0 execute_context_1(8)_generation_0(0) serving_annotation 20000 30000 20000 10000 0 true",
    );
}

#[test]
fn three_optimizer_steps_make_two_steps() {
    let mut trace = TraceBuilder::new();
    for ts in ["10", "30", "60"] {
        trace = op(trace, "Optimizer.step#SGD.step", ts, "5");
    }
    check(
        &trace.finish(),
        STEPS,
        "0 optimizer#1 optimizer_step 15000 35000 15000 20000 0 true
         1 optimizer#2 optimizer_step 35000 65000 35000 30000 0 true",
    );
}

#[test]
fn two_optimizer_steps_are_too_few() {
    let trace = op(op(TraceBuilder::new(), "Optimizer.step#SGD.step", "10", "5"), "Optimizer.step#SGD.step", "30", "5");
    let trace = trace.complete("kernel", "k", 0, 7, "2", "90").complete("python_function", "f", 1, 1, "0", "500");
    check(&trace.finish(), STEPS, "0 whole trace whole_trace 2000 92000 2000 90000 1 true");
}

#[test]
fn no_host_and_no_device_is_no_step() {
    let trace = TraceBuilder::new().complete("python_function", "f", 1, 1, "0", "500").finish();
    check(&trace, STEPS, "");
    assert_eq!(open_text(&trace).metrics(None, None).unwrap()["health"]["step_source"], "none");
}

#[test]
fn overlapping_marks_are_counted_and_steps_stay_apart() {
    let trace = mark(mark(TraceBuilder::new(), "ProfilerStep#2", "50", "100"), "ProfilerStep#1", "0", "100");
    let trace = work(work(trace, "1", "10", "20", "10"), "2", "120", "130", "5").finish();
    check(
        &trace,
        STEPS,
        "0 ProfilerStep#1 profiler_step 0 100000 0 100000 1 true
         1 ProfilerStep#2 profiler_step 100000 150000 50000 100000 1 true",
    );
    assert_eq!(open_text(&trace).metrics(None, None).unwrap()["health"]["overlapping_steps"], 1);
}

#[test]
fn a_tail_without_or_with_little_device_work_is_incomplete() {
    let mut trace = TraceBuilder::new();
    for (number, ts) in ["0", "100", "200", "300"].into_iter().enumerate() {
        trace = mark(trace, &format!("ProfilerStep#{number}"), ts, "100");
    }
    // 5, 5 and 3 events: 3 is less than 80 % of 5; the fourth step has none.
    for (index, call) in [1, 2, 3, 4, 5, 101, 102, 103, 104, 105, 201, 202, 203].into_iter().enumerate() {
        trace = work(trace, &(index + 1).to_string(), &call.to_string(), &(call + 2).to_string(), "1");
    }
    check(
        &trace.finish(),
        "SELECT name, device_events, is_complete FROM steps ORDER BY step",
        "ProfilerStep#0 5 true
         ProfilerStep#1 5 true
         ProfilerStep#2 3 false
         ProfilerStep#3 0 false",
    );
}

#[test]
fn four_fifths_of_the_step_before_is_enough() {
    let trace = mark(mark(TraceBuilder::new(), "ProfilerStep#0", "0", "100"), "ProfilerStep#1", "100", "100");
    let calls = [1, 2, 3, 4, 5, 101, 102, 103, 104];
    let trace = calls.into_iter().enumerate().fold(trace, |trace, (index, call)| {
        work(trace, &(index + 1).to_string(), &call.to_string(), &(call + 2).to_string(), "1")
    });
    check(&trace.finish(), "SELECT is_complete FROM steps ORDER BY step", "true\ntrue");
}

#[test]
fn spans_know_their_step() {
    let trace = mark(mark(TraceBuilder::new(), "ProfilerStep#0", "0", "100"), "ProfilerStep#1", "100", "100");
    // The kernel runs in the second step but was launched in the first.
    let trace = work(op(op(trace, "in", "150", "10"), "out", "200", "10"), "1", "90", "120", "10");
    check(
        &trace.finish(),
        "SELECT name, step FROM spans WHERE kind <> 'ann' ORDER BY start_ns",
        "cudaLaunchKernel 0
         k 0
         in 1
         out -",
    );
}
