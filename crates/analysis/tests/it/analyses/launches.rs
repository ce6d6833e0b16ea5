//! Launches, runtime calls and queues.

use serde_json::json;
use stepscope_analysis::{Extras, Question, Settings, Workspace};
use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::TraceBuilder;

use super::{ask, between, by, cells, each_real, in_step, named, objects, reason, same, sentence, table};
use crate::harness::{Silent, lines, open_text, write};

fn launches() -> TraceBuilder {
    TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "40")
        .annotation("ProfilerStep#2", 1, "40", "60")
        .runtime("cudaLaunchKernel", 1, "0", "4", 1)
        .kernel("short", 0, 7, "10", "2", 1)
        .runtime("cudaGraphLaunch", 1, "20", "2", 2)
        .kernel("later node", 0, 7, "30", "1", 2)
        .kernel("earlier node", 0, 7, "25", "20", 2)
        // Starts while the call still runs.
        .runtime("cudaLaunchKernel", 1, "50", "10", 3)
        .kernel("k", 0, 8, "55", "15", 3)
        // Starts before the call: clocks that disagree.
        .runtime("cudaLaunchKernel", 1, "80", "1", 4)
        .kernel("k", 0, 7, "79", "11", 4)
        .runtime("cudaStreamSynchronize", 1, "90", "10", 5)
}

fn metric(report: &Report, name: &str) -> Cell {
    let metric = report.parts.iter().find_map(|part| match part {
        Part::Metric(metric) if metric.name == name => Some(metric.value.clone()),
        _ => None,
    });
    metric.unwrap()
}

#[track_caller]
fn check(trace: &TraceBuilder, question: &Question, name: &str, columns: &str, want: &str) {
    let report = ask(&open_text(&trace.finish()), "launches", question);
    assert_eq!(cells(table(&report, name), columns), lines(want), "{name}: {columns}");
}

#[test]
fn what_needs_sums_that_were_left_out_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "trace.json", &launches().annotation("region", 1, "0", "30").finish());
    let store = folder.path().join("store");
    let settings = Settings {
        store: Some(store.clone()),
        extras: Extras { rollups: false, ..Extras::default() },
        ..Settings::default()
    };
    Workspace::ingest(&[trace], &settings, &Silent).unwrap();
    let workspace = Workspace::open(&[store], &Settings::default(), &Silent).unwrap();
    let left_out = "sums were left out at ingest";
    let report = ask(&workspace, "launches", &Question::default());
    assert_eq!((metric(&report, "launches"), reason(&report, "distributions")), (Cell::Null, Some(left_out)));
    let report = ask(&workspace, "regions", &Question::default());
    assert_eq!(reason(&report, "rows[].device_total_ns"), Some(left_out));
    for analysis in ["diagnose", "summary"] {
        assert_eq!(reason(&ask(&workspace, analysis, &Question::default()), "findings"), Some(left_out), "{analysis}");
    }
    let metrics = workspace.metrics(None, None).unwrap();
    assert_eq!(
        (&metrics["launch"]["launches"], &metrics["nulls"]["launch.launches"]),
        (&json!(null), &json!(left_out))
    );
}

#[test]
fn a_launch_is_measured_to_its_earliest_device_event() {
    let report = ask(&open_text(&launches().finish()), "launches", &Question::default());
    for (name, want) in [("launches", 4), ("graph_launches", 1), ("device_before_launch", 1), ("shorter_than_call", 1)]
    {
        assert_eq!(metric(&report, name), Cell::Int(want), "{name}");
    }
    assert_eq!(
        sentence(&report),
        "4 launches, 1 of them (25.0 %) shorter on the device than their call; half start on the device within \
         5.000 µs. 1 starts before its call: the clocks disagree."
    );
    assert_eq!(
        cells(table(&report, "distributions"), "name count total_ns mean_ns min_ns p50_ns p99_ns max_ns"),
        "call_duration 4 17000 4250 1000 2000 10000 10000\n\
         launch_latency 3 20000 6666.666666666667 5000 5000 10000 10000\n\
         launch_delay 3 9000 3000 0 3000 6000 6000"
    );
    assert_eq!(
        cells(table(&report, "rows"), "name count total_ns p50_ns max_ns"),
        "cudaLaunchKernel 3 15000 4000 10000\ncudaStreamSynchronize 1 10000 10000 10000\ncudaGraphLaunch 1 2000 2000 2000"
    );
    // Stream 7 waits 10 + 5 of 25 µs, stream 8 all 5 of its own.
    assert_eq!(
        cells(table(&report, "queue_lengths"), "device_id stream_id max time_weighted_mean"),
        "0 7 1 0.6\n0 8 1 1"
    );
}

#[test]
fn a_step_and_a_stretch_of_time_are_by_the_start_of_the_call() {
    check(&launches(), &in_step(0), "rows", "name count", "cudaLaunchKernel 1\ncudaGraphLaunch 1");
    check(&launches(), &in_step(1), "distributions", "name count", "call_duration 2\nlaunch_latency 1\nlaunch_delay 1");
    check(&launches(), &between(20, 50), "rows", "name count", "cudaGraphLaunch 1");
    check(&launches(), &between(20, 51), "queue_lengths", "stream_id max time_weighted_mean", "7 1 1\n8 1 1");
    let report = ask(&open_text(&launches().finish()), "launches", &by(&["step"]));
    assert_eq!(
        cells(table(&report, "distributions"), "step name count"),
        "0 call_duration 2\n0 launch_latency 2\n0 launch_delay 2\n1 call_duration 2\n1 launch_latency 1\n1 launch_delay 1"
    );
}

#[test]
fn without_launches_there_is_a_reason() {
    for (trace, want) in [
        (TraceBuilder::new().kernel("k", 0, 7, "0", "1", 3), "no launch calls"),
        (TraceBuilder::new().runtime("cudaMalloc", 1, "0", "1", 3), "no device events"),
    ] {
        let report = ask(&open_text(&trace.finish()), "launches", &Question::default());
        assert_eq!(reason(&report, "distributions"), Some(want));
        assert_eq!((sentence(&report), metric(&report, "launches")), ("No launches.", Cell::Int(0)));
    }
    // A launch that never waits has no time to take a mean over.
    let trace = TraceBuilder::new().runtime("cudaLaunchKernel", 1, "5", "1", 1).kernel("k", 0, 7, "5", "1", 1);
    let report = ask(&open_text(&trace.finish()), "launches", &Question::default());
    assert_eq!(reason(&report, "queue_lengths[].time_weighted_mean"), Some("zero duration"));
}

#[test]
fn real_traces_have_the_launches_of_their_metrics() {
    let traces = [
        "kineto/resnet50_num_workers_0",
        "hta/ns_resolution_trace",
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    ];
    each_real(&traces, |trace, workspace, metrics| {
        let report = ask(workspace, "launches", &Question { window: Some(0), ..Question::default() });
        let want = &metrics["launch"];
        for figure in ["launches", "graph_launches", "device_before_launch", "shorter_than_call"] {
            assert_eq!(metric(&report, figure), Cell::Int(want[figure].as_i64().unwrap()), "{trace}: {figure}");
        }
        let figures = ["count", "total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"];
        let distributions = objects(table(&report, "distributions"));
        for name in ["call_duration", "launch_latency", "launch_delay"] {
            same(named(&distributions, &json!(name)), &want[name], &figures, trace);
        }
        let calls = objects(table(&report, "rows"));
        for call in want["runtime_calls"].as_array().unwrap() {
            same(named(&calls, &call["name"]), call, &figures, trace);
        }
        for queue in objects(table(&report, "queue_lengths")) {
            let name = format!("{}/{}", queue["device_id"], queue["stream_id"]);
            same(&queue, &want["queue_length"][name], &["max", "time_weighted_mean"], trace);
        }
    });
}
