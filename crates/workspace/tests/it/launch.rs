//! Launches and queues (metrics, section 13).

use serde_json::{Value as Json, json};
use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

fn launch(trace: &TraceBuilder) -> Json {
    open_text(&trace.finish()).metrics(None, None).unwrap()["launch"].take()
}

/// Count, total, min, p50, p90 and max, in microseconds where it is a time.
fn figures(distribution: &Json) -> [i64; 6] {
    let us = |name: &str| distribution[name].as_i64().unwrap() / 1000;
    let count = distribution["count"].as_i64().unwrap();
    [count, us("total_ns"), us("min_ns"), us("p50_ns"), us("p90_ns"), us("max_ns")]
}

#[test]
fn a_launch_is_measured_to_its_earliest_device_event() {
    let trace = TraceBuilder::new()
        .runtime("cudaLaunchKernel", 1, "0", "4", 1)
        .kernel("short", 0, 7, "10", "2", 1)
        .runtime("cudaGraphLaunch", 1, "20", "2", 2)
        .kernel("later node", 0, 7, "30", "1", 2)
        .kernel("earlier node", 0, 7, "25", "20", 2)
        // Starts while the call still runs.
        .runtime("cudaLaunchKernel", 1, "50", "10", 3)
        .kernel("k", 0, 7, "55", "15", 3)
        // Starts before the call: clocks that disagree.
        .runtime("cudaLaunchKernel", 1, "80", "1", 4)
        .kernel("k", 0, 7, "79", "11", 4)
        .runtime("cudaStreamSynchronize", 1, "90", "10", 5);
    let launch = launch(&trace);
    for (figure, want) in
        [("launches", 4), ("graph_launches", 1), ("device_before_launch", 1), ("shorter_than_call", 1)]
    {
        assert_eq!(launch[figure], want, "{figure}");
    }
    assert_eq!(figures(&launch["call_duration"]), [4, 17, 1, 2, 10, 10]);
    assert_eq!(launch["call_duration"]["mean_ns"], 4_250.0);
    assert_eq!(figures(&launch["launch_latency"]), [3, 20, 5, 5, 10, 10]);
    assert_eq!(figures(&launch["launch_delay"]), [3, 9, 0, 3, 6, 6]);
    assert_eq!(launch["queue_length"], json!({ "0/7": { "max": 1, "time_weighted_mean": 20.0 / 55.0 } }));
    let calls = launch["runtime_calls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cudaLaunchKernel", "cudaStreamSynchronize", "cudaGraphLaunch"]);
    assert_eq!(figures(&calls[0]), [3, 15, 1, 4, 10, 10]);
}

#[test]
fn what_starts_leaves_the_queue_before_what_is_launched_enters() {
    let trace = TraceBuilder::new()
        .runtime("cudaLaunchKernel", 1, "0", "1", 1)
        .runtime("cudaLaunchKernel", 1, "1", "1", 2)
        .runtime("cudaLaunchKernel", 1, "2", "1", 3)
        .runtime("cudaLaunchKernel", 1, "10", "1", 4)
        .kernel("k", 0, 7, "10", "1", 1)
        .kernel("k", 0, 7, "10", "1", 2)
        .kernel("k", 0, 7, "10", "1", 3)
        .kernel("k", 0, 7, "20", "1", 4)
        // Never waits.
        .runtime("cudaLaunchKernel", 2, "30", "1", 5)
        .kernel("k", 0, 8, "30", "1", 5);
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let queues = &metrics["launch"]["queue_length"];
    assert_eq!(queues["0/7"], json!({ "max": 3, "time_weighted_mean": 1.85 }));
    assert_eq!(queues["0/8"], json!({ "max": 0, "time_weighted_mean": null }));
    assert_eq!(metrics["nulls"]["launch.queue_length.0/8.time_weighted_mean"], "zero duration");
}

#[test]
fn without_launches_the_distributions_are_null_with_a_reason() {
    for (trace, reason) in [
        (TraceBuilder::new().kernel("k", 0, 7, "0", "1", 3), "no launch calls"),
        (TraceBuilder::new().runtime("cudaMalloc", 1, "0", "1", 3), "no device events"),
    ] {
        let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
        assert_eq!(metrics["launch"]["launches"], 0);
        assert_eq!(metrics["launch"]["queue_length"], json!({}));
        for figure in ["call_duration", "launch_latency", "launch_delay"] {
            assert!(metrics["launch"][figure].is_null());
            assert_eq!(metrics["nulls"][format!("launch.{figure}")], reason);
        }
    }
}

#[test]
fn only_the_calls_with_the_most_time_are_listed() {
    let trace = (0..25).fold(TraceBuilder::new(), |trace, call| {
        trace.runtime(&format!("call{call:02}"), 1, &(call * 100).to_string(), &(call / 2).to_string(), 0)
    });
    let launch = launch(&trace);
    let calls = launch["runtime_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 20);
    // Equal times are ordered by name.
    assert_eq!([&calls[0]["name"], &calls[1]["name"], &calls[2]["name"]], ["call24", "call22", "call23"]);
}
