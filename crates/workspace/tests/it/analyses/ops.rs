//! Operators.

use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Extras, Question, Settings, Workspace};

use super::{ask, between, by, cells, check, each_real, in_step, named, notes, objects, same, sum, table};
use crate::harness::{Silent, lines, open_text, write};

const COLUMNS: &str = "name calls spans host_self_ns host_total_ns device_events device_self_ns device_total_ns";

/// A launch at `ts` and a kernel of 5 µs at `start`.
fn work(trace: TraceBuilder, ts: &str, correlation: i64, start: &str) -> TraceBuilder {
    trace.runtime("cudaLaunchKernel", 1, ts, "1", correlation).kernel("k", 0, 7, start, "5", correlation)
}

/// Two steps: `f` encloses `g`, which encloses `f` again; in the second step `f` alone. One kernel has no operator.
fn operators() -> TraceBuilder {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "100").annotation("ProfilerStep#2", 1, "100", "100");
    let trace = trace.op("f", 1, "0", "90").arg("Input Dims", "[[2,3]]");
    let trace = trace.op("g", 1, "10", "30").op("f", 1, "15", "15").arg("Input Dims", "[[4]]");
    let trace = work(work(trace, "20", 1, "50"), "35", 2, "60");
    let trace = work(trace.op("f", 1, "100", "10").arg("Input Dims", "[[2,3]]"), "105", 3, "120");
    work(trace, "150", 4, "160")
}

#[test]
fn by_name() {
    check(
        &operators(),
        "ops",
        &Question::default(),
        COLUMNS,
        "f 3 3 83000 100000 2 10000 15000
         g 1 1 14000 30000 1 5000 10000",
    );
    let report = ask(&open_text(&operators().finish()), "ops", &Question::default());
    assert_eq!(notes(table(&report, "rows")), ["sums over the whole trace", "(no operator): 5.000 µs"]);
}

#[test]
fn by_shape() {
    // An inner f is inside another f, whatever its shape: its time is in no total.
    check(
        &operators(),
        "ops",
        &by(&["input_shape"]),
        "name input_shape calls host_self_ns host_total_ns device_self_ns",
        "f [[2,3]] 2 69000 100000 5000
         f [[4]] 1 14000 0 5000
         g - 1 14000 30000 5000",
    );
}

#[test]
fn by_step_and_of_one_step() {
    check(
        &operators(),
        "ops",
        &by(&["step"]),
        "name step calls device_self_ns",
        "f 0 2 5000
         g 0 1 5000
         f 1 1 5000",
    );
    check(&operators(), "ops", &in_step(2), COLUMNS, "f 1 1 9000 10000 1 5000 5000");
    let report = ask(&open_text(&operators().finish()), "ops", &in_step(1));
    assert_eq!(notes(table(&report, "rows")), ["sums over step 1", "(no operator): 0 ms"]);
}

#[test]
fn a_stretch_of_time_holds_what_starts_in_it() {
    // g and the inner f start in it, the f around them does not: for this question the inner one is the outermost.
    check(
        &operators(),
        "ops",
        &between(10, 100),
        COLUMNS,
        "f 1 1 14000 15000 1 5000 5000
         g 1 1 14000 30000 1 5000 10000",
    );
    // The whole trace, asked for as a stretch of time, gives the sums that were made when the trace was read.
    let report = ask(&open_text(&operators().finish()), "ops", &Question { from_ns: Some(0), ..Question::default() });
    let whole = ask(&open_text(&operators().finish()), "ops", &Question::default());
    assert_eq!(cells(table(&report, "rows"), COLUMNS), cells(table(&whole, "rows"), COLUMNS));
    assert_eq!(notes(table(&report, "rows"))[1], "(no operator): 5.000 µs");
}

#[test]
fn by_stack() {
    let frame = |trace: TraceBuilder, name: &str, ts: &str, dur: &str| {
        trace.complete("python_function", name, TraceBuilder::HOST_PROCESS, 1, ts, dur)
    };
    let trace = frame(frame(TraceBuilder::new(), "main", "0", "100"), "train", "5", "50");
    let trace = trace.op("mm", 1, "10", "10").op("mm", 1, "30", "5").op("mm", 1, "70", "1");
    let trace = trace.op("mm", 1, "200", "2").arg("Call stack", "\"a.py(1): f;b.py(2): g\"").op("mm", 1, "300", "3");
    check(
        &trace,
        "ops",
        &by(&["stack"]),
        "name calls host_self_ns stack",
        "mm 2 15000 train;main
         mm 1 3000 -
         mm 1 2000 a.py(1): f;b.py(2): g
         mm 1 1000 main",
    );
}

#[test]
fn an_only_child_of_the_same_name_is_the_same_call_by_walk_too() {
    let trace = TraceBuilder::new().op("f", 1, "0", "10").op("f", 1, "1", "8").op("f", 1, "2", "6");
    let trace = trace.op("f", 1, "20", "10").op("f", 1, "21", "3").op("f", 1, "25", "3");
    for question in [Question::default(), between(0, 100), by(&["stack"])] {
        check(&trace, "ops", &question, "name calls spans host_self_ns host_total_ns", "f 4 6 20000 20000");
    }
}

#[test]
fn sums_that_were_left_out_are_made_by_walk() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "trace.json", &operators().finish());
    let store = folder.path().join("store");
    let settings = Settings {
        store: Some(store.clone()),
        extras: Extras { rollups: false, ..Extras::default() },
        ..Settings::default()
    };
    Workspace::ingest(&[trace], &settings, &Silent).unwrap();
    let workspace = Workspace::open(&[store], &Settings::default(), &Silent).unwrap();
    let report = ask(&workspace, "ops", &Question::default());
    assert_eq!(
        cells(table(&report, "rows"), COLUMNS),
        lines("f 3 3 83000 100000 2 10000 15000\ng 1 1 14000 30000 1 5000 10000")
    );
}

#[test]
fn a_call_that_autocast_repeats_counts_its_flops_once() {
    let dims = |trace: TraceBuilder, dims: &str| trace.arg("Input Dims", dims);
    let linear = "[[2, 3], [5, 3], [5]]";
    let mut trace = dims(TraceBuilder::new().op("aten::linear", 1, "0", "50"), linear);
    trace = trace.op("aten::to", 1, "5", "5");
    trace = dims(trace.op("aten::linear", 1, "12", "30"), linear);
    trace = dims(trace.op("aten::addmm", 1, "15", "20"), "[[5], [2, 3], [3, 5]]");
    // Another one beside it, whose own shapes are not known, but those of the call inside.
    trace = trace.op("aten::linear", 1, "100", "50");
    trace = dims(trace.op("aten::linear", 1, "110", "30"), linear);
    let workspace = open_text(&trace.finish());
    // From sums and by walk.
    for question in [Question::default(), Question { from_ns: Some(0), ..Question::default() }, by(&["stack"])] {
        let report = ask(&workspace, "ops", &question);
        let rows = cells(table(&report, "rows"), "name flops outermost_flops");
        let mut rows: Vec<&str> = rows.lines().collect();
        rows.sort_unstable();
        assert_eq!(rows, ["aten::addmm 60 -", "aten::linear 120 120", "aten::to - -"], "{question:?}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn real_traces_have_the_operators_of_their_metrics() {
    let traces = [
        "kineto/resnet50_num_workers_0",
        "hta/ns_resolution_trace",
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    ];
    each_real(&traces, |trace, workspace, metrics| {
        let question = |question: Question| Question { window: Some(0), ..question };
        let summary = &metrics["operators"]["summary"];
        let whole = objects(table(&ask(workspace, "ops", &question(Question::default())), "rows"));
        let figures = ["calls", "spans", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns"];
        for operator in metrics["operators"]["rows"].as_array().unwrap() {
            same(named(&whole, &operator["name"]), operator, &figures, trace);
        }
        let flops = metrics["flops"]["total_flops"].as_i64().unwrap_or(0);
        assert_eq!(sum(&whole, "outermost_flops"), flops, "{trace}: the FLOPs of all rows add up");
        assert_eq!(
            sum(&whole, "device_self_ns") + summary["no_operator"]["device_time_ns"].as_i64().unwrap(),
            metrics["kernels"]["total_ns"].as_i64().unwrap() + sum(metrics["copies"].as_array().unwrap(), "total_ns"),
            "{trace}"
        );
        // However they are grouped, and whether from sums or by walk.
        let from_start = Question { from_ns: Some(0), ..Question::default() };
        for asked in [by(&["input_shape"]), by(&["stack"]), by(&["step"]), from_start] {
            let rows = objects(table(&ask(workspace, "ops", &question(asked.clone())), "rows"));
            for figure in figures {
                assert_eq!(sum(&rows, figure), sum(&whole, figure), "{trace}: {figure} by {:?}", asked.group_by);
            }
        }
    });
}
