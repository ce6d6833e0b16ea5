//! Steps (metrics, section 5).

use stepscope_model::tables::{SPANS, STEPS};
use stepscope_testkit::TraceBuilder;

use crate::tables::{Tables, tables};

/// Checks everything that is known of the steps but their samples.
#[track_caller]
fn check(trace: &TraceBuilder, want: &str) -> Tables {
    let tables = tables(trace);
    let columns = "step name source start_ns end_ns host_start_ns host_dur_ns device_events is_complete";
    tables.rows(&STEPS).check(columns, want);
    tables
}

/// Marks of 100 µs each, one behind the other, from 0 on.
fn marks(count: usize) -> TraceBuilder {
    (0..count).fold(TraceBuilder::new(), |trace, number| {
        trace.annotation(&format!("ProfilerStep#{number}"), 1, &(number * 100).to_string(), "100")
    })
}

/// A launch on another thread than the marks, and its kernel.
fn work(trace: TraceBuilder, correlation: i64, call_ts: &str, kernel_ts: &str, kernel_dur: &str) -> TraceBuilder {
    let trace = trace.runtime("cudaLaunchKernel", 2, call_ts, "1", correlation);
    trace.kernel("k", 0, 7, kernel_ts, kernel_dur, correlation)
}

/// As many short kernels in each of the marks as `counts` says.
fn works(counts: &[usize]) -> TraceBuilder {
    let calls = counts.iter().enumerate().flat_map(|(mark, &count)| (0..count).map(move |nth| mark * 100 + nth + 1));
    calls.fold(marks(counts.len()), |trace, call| {
        work(trace, call as i64, &call.to_string(), &(call + 2).to_string(), "1")
    })
}

#[test]
fn steps_reach_to_the_end_of_the_device_work_they_launched() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#1", 1, "100", "100").annotation("ProfilerStep#2", 1, "200", "100");
    // Launched before the first mark and still running in it: the first step begins behind it.
    let trace = work(trace, 1, "90", "95", "20");
    let trace = work(work(trace, 2, "150", "160", "70"), 3, "250", "260", "20");
    let tables = check(
        &trace,
        "0 ProfilerStep#1 profiler_step 115000 230000 100000 100000 1 true
         1 ProfilerStep#2 profiler_step 230000 300000 200000 100000 1 true",
    );
    assert_eq!(tables.health("overlapping_steps"), "0");
}

#[test]
fn the_first_step_waits_only_for_work_that_ends_before_its_own_begins() {
    // Where work from before the mark at 100 ends, and where the step begins, whose own work begins at 160.
    for (end, start) in [(90, "100000"), (115, "115000"), (159, "159000"), (160, "100000"), (170, "100000")] {
        let trace = TraceBuilder::new().annotation("ProfilerStep#1", 1, "100", "100");
        let trace = trace.kernel("before", 0, 8, "50", &(end - 50).to_string(), 0);
        tables(&work(trace, 2, "150", "160", "20")).rows(&STEPS).check("start_ns", start);
    }
}

#[test]
fn device_copies_of_the_marks_are_no_steps_and_ranks_of_rules_hold() {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#7", 1, "0", "10")
        .complete("gpu_user_annotation", "ProfilerStep#7", 0, 7, "5", "10")
        .annotation("execute_context_1(8)_generation_0(0)", 1, "20", "10");
    check(&trace, "0 ProfilerStep#7 profiler_step 0 10000 0 10000 0 true");
}

#[test]
fn serving_annotations_are_steps() {
    let trace = TraceBuilder::new()
        .annotation("execute_context_1(8)_generation_0(0)", 1, "20", "10")
        .annotation("other", 1, "0", "5");
    check(&trace, "0 execute_context_1(8)_generation_0(0) serving_annotation 20000 30000 20000 10000 0 true");
}

#[test]
fn three_optimizer_steps_make_two_steps() {
    let trace = ["10", "30", "60"]
        .into_iter()
        .fold(TraceBuilder::new(), |trace, ts| trace.op("Optimizer.step#SGD.step", 1, ts, "5"));
    check(
        &trace,
        "0 optimizer#1 optimizer_step 15000 35000 15000 20000 0 true
         1 optimizer#2 optimizer_step 35000 65000 35000 30000 0 true",
    );
}

#[test]
fn two_optimizer_steps_are_too_few() {
    let trace = TraceBuilder::new()
        .op("Optimizer.step#SGD.step", 1, "10", "5")
        .op("Optimizer.step#SGD.step", 1, "30", "5")
        .kernel("k", 0, 7, "2", "90", 0)
        .complete("python_function", "f", TraceBuilder::HOST_PROCESS, 1, "0", "500");
    check(&trace, "0 whole trace whole_trace 2000 92000 2000 90000 1 true");
}

#[test]
fn no_host_and_no_device_is_no_step() {
    let trace = TraceBuilder::new().complete("python_function", "f", 1, 1, "0", "500");
    assert_eq!(check(&trace, "").health("step_source"), "none");
}

#[test]
fn overlapping_marks_are_counted_and_steps_stay_apart() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#2", 1, "50", "100").annotation("ProfilerStep#1", 1, "0", "100");
    let tables = check(
        &work(work(trace, 1, "10", "20", "10"), 2, "120", "130", "5"),
        "0 ProfilerStep#1 profiler_step 0 100000 0 100000 1 true
         1 ProfilerStep#2 profiler_step 100000 150000 50000 100000 1 true",
    );
    assert_eq!(tables.health("overlapping_steps"), "1");
}

#[test]
fn without_device_work_the_marks_are_the_steps() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#2", 1, "50", "100").annotation("ProfilerStep#1", 1, "0", "100");
    let tables = check(
        &trace,
        "0 ProfilerStep#1 profiler_step 0 100000 0 100000 0 true
         1 ProfilerStep#2 profiler_step 50000 150000 50000 100000 0 true",
    );
    assert_eq!(tables.health("overlapping_steps"), "1");
}

#[test]
fn a_tail_without_or_with_little_device_work_is_incomplete() {
    // Device events of the steps, and which of them are complete.
    let cases: [(&[usize], &str); 6] = [
        // 3 is less than 80 % of 5; the last step has none.
        (&[5, 5, 3, 0], "true true false false"),
        (&[5, 3], "true false"),
        // Four fifths of the step before are enough.
        (&[5, 4], "true true"),
        (&[1, 0], "true false"),
        (&[5, 5, 0, 0], "true true false false"),
        // A step before the tail may have little to do.
        (&[5, 1, 0, 5], "true true true true"),
    ];
    for (counts, want) in cases {
        tables(&works(counts)).rows(&STEPS).check("is_complete", &want.replace(' ', "\n"));
    }
}

#[test]
fn the_header_says_more_of_steps_that_the_profiler_marked() {
    let header = |trace: TraceBuilder| {
        trace.header("stepscope_samples_per_step", r#"{"1": 32}"#).header("stepscope_incomplete_step", "2")
    };
    let marked = tables(&header(marks(4)));
    marked.rows(&STEPS).check(
        "name samples is_complete",
        "ProfilerStep#0 - true
         ProfilerStep#1 32 true
         ProfilerStep#2 - false
         ProfilerStep#3 - true",
    );
    let optimizer = ["0", "10", "20"]
        .into_iter()
        .fold(TraceBuilder::new(), |trace, ts| trace.annotation("Optimizer.step#SGD.step", 1, ts, "5"));
    let columns = "name samples is_complete";
    tables(&header(optimizer)).rows(&STEPS).check(columns, "optimizer#1 - true\noptimizer#2 - true");
}

#[test]
fn spans_know_their_step() {
    let process = TraceBuilder::HOST_PROCESS;
    let trace = marks(2)
        .op("in", 1, "150", "10")
        .complete("python_function", "frame", process, 1, "160", "10")
        .complete("overhead", "flush", process, 1, "170", "10")
        .op("out", 1, "200", "10");
    // The kernel runs in the second step but was launched in the first.
    tables(&work(trace, 1, "90", "120", "10")).rows(&SPANS).sorted_by("start_ns").check(
        "name step",
        "ProfilerStep#0 0
         cudaLaunchKernel 0
         ProfilerStep#1 1
         k 0
         in 1
         frame 1
         flush -
         out -",
    );
}

#[test]
fn host_and_device_belong_to_the_whole_trace() {
    let process = TraceBuilder::HOST_PROCESS;
    let trace = TraceBuilder::new()
        .op("op", 1, "0", "10")
        .kernel("k", 0, 7, "20", "5", 0)
        .complete("python_function", "frame", process, 1, "30", "10")
        .complete("overhead", "flush", process, 1, "40", "10");
    tables(&trace).rows(&SPANS).sorted_by("start_ns").check("name step", "op 0\nk 0\nframe -\nflush -");
}
