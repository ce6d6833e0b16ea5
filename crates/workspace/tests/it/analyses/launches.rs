//! Launches, runtime calls and queues.

use serde_json::json;
use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Extras, Question, Settings, Workspace};

use super::{ask, between, by, cells, each_real, in_step, named, objects, reason, same, sentence, table};
use crate::harness::{Silent, answer, lines, open_text, write};

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
fn why_streams_were_idle_is_a_table() {
    let columns = "device_id stream_id events idle_ns host_wait_ns kernel_wait_ns other_ns unknown_ns";
    // Stream 7 is busy from 10 to 12, 25 to 45 and 79 to 90. The graph is launched at 20, in the gap before it; the last
    // kernel at 80, after its gap has begun, too. Stream 8 has one event and no gap.
    check(&launches(), &Question::default(), "idle_streams", columns, "0 7 4 47000 47000 0 0 0\n0 8 1 0 0 0 0 0");
    let trace = launches()
        // 10 µs after stream 8 ran empty, launched at 60 before it did; 30 µs after that, launched in time; no call.
        .runtime("cudaLaunchKernel", 1, "60", "1", 6)
        .runtime("cudaLaunchKernel", 1, "62", "1", 7)
        .kernel("next", 0, 8, "80", "5", 6)
        .kernel("late", 0, 8, "115", "5", 7)
        .kernel("lonely", 0, 8, "121", "4", 0);
    check(
        &trace,
        &Question::default(),
        "idle_streams",
        columns,
        "0 7 4 47000 47000 0 0 0\n0 8 4 41000 0 10000 30000 1000",
    );
    // A gap belongs to the step of the event that ends it.
    check(&trace, &in_step(1), "idle_streams", columns, "0 7 3 13000 13000 0 0 0");
    let by_step = by(&["step"]);
    check(&trace, &by_step, "idle_streams", "step stream_id idle_ns", "1 8 40000\n1 7 34000\n0 7 13000\n- 8 1000");
    let gaps = "SELECT stream_id, start_ns, end_ns, gap_ns, waits_for FROM stream_gaps ORDER BY stream_id, start_ns";
    assert_eq!(
        answer(&open_text(&trace.finish()), gaps),
        lines(
            "7 12000 25000 13000 host_wait
             7 45000 79000 34000 host_wait
             8 70000 80000 10000 kernel_wait
             8 85000 115000 30000 other
             8 120000 121000 1000 unknown"
        )
    );
}

#[test]
fn a_step_and_a_stretch_of_time_are_by_the_start_of_the_call() {
    check(&launches(), &in_step(1), "rows", "name count", "cudaLaunchKernel 1\ncudaGraphLaunch 1");
    check(&launches(), &in_step(2), "distributions", "name count", "call_duration 2\nlaunch_latency 1\nlaunch_delay 1");
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
        assert_eq!((sentence(&report).as_str(), metric(&report, "launches")), ("No launches.", Cell::Int(0)));
    }
    // A launch that never waits has no time to take a mean over.
    let trace = TraceBuilder::new().runtime("cudaLaunchKernel", 1, "5", "1", 1).kernel("k", 0, 7, "5", "1", 1);
    let report = ask(&open_text(&trace.finish()), "launches", &Question::default());
    assert_eq!(reason(&report, "queue_lengths[].time_weighted_mean"), Some("zero duration"));
}

#[test]
#[ignore = "needs the corpus"]
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
        let idle = metrics["idle_by_stream"].as_object().unwrap();
        assert_eq!(table(&report, "idle_streams").rows.len(), idle.len(), "{trace}");
        for stream in objects(table(&report, "idle_streams")) {
            let name = format!("{}/{}", stream["device_id"], stream["stream_id"]);
            let figures = ["events", "host_wait_ns", "kernel_wait_ns", "other_ns", "unknown_ns"];
            same(&stream, &idle[&name], &figures, trace);
        }
        for queue in objects(table(&report, "queue_lengths")) {
            let name = format!("{}/{}", queue["device_id"], queue["stream_id"]);
            same(&queue, &want["queue_length"][name], &["max", "time_weighted_mean"], trace);
        }
    });
}
