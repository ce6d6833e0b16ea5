//! What streams wait for (metrics, section 8).

use serde_json::json;
use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

#[test]
fn a_gap_is_classed_by_the_launch_of_the_event_behind_it() {
    let trace = ["0", "5", "40", "6", "7", "110"]
        .into_iter()
        .enumerate()
        .fold(TraceBuilder::new(), |trace, (at, ts)| trace.runtime("cudaLaunchKernel", 1, ts, "1", at as i64 + 1));
    let trace = trace
        .kernel("first", 0, 7, "10", "10", 1)
        .kernel("launched in time", 0, 7, "30", "5", 2)
        .kernel("launched in the gap", 0, 7, "50", "10", 3)
        .kernel("without a launch", 0, 7, "70", "5", 0)
        .kernel("inside the one before", 0, 7, "71", "1", 4)
        // 30 µs behind the latest end, not behind the event before: too long for the start of a kernel.
        .kernel("late", 0, 7, "105", "5", 5)
        .kernel("launched as the gap begins", 0, 7, "115", "1", 6);
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let want = json!({ "events": 7, "host_wait_ns": 15_000, "kernel_wait_ns": 15_000, "other_ns": 30_000, "unknown_ns": 10_000 });
    assert_eq!(metrics["idle_by_stream"], json!({ "0/7": want }));
}

#[test]
fn streams_and_devices_stand_apart() {
    let trace = TraceBuilder::new()
        .kernel("k", 0, 7, "0", "1", 0)
        .kernel("k", 0, 8, "10", "1", 0)
        .kernel("k", 1, 7, "20", "1", 0)
        .kernel("touches", 1, 7, "21", "0", 0)
        .memcpy("Memcpy HtoD (Host -> Device)", 1, 7, "25", "1", 0);
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let want = |events: i64, unknown_ns: i64| json!({ "events": events, "host_wait_ns": 0, "kernel_wait_ns": 0, "other_ns": 0, "unknown_ns": unknown_ns });
    assert_eq!(metrics["idle_by_stream"], json!({ "0/7": want(1, 0), "0/8": want(1, 0), "1/7": want(3, 4_000) }));
}

#[test]
fn without_device_events_there_is_no_stream() {
    let trace = TraceBuilder::new().op("a", 1, "0", "5").finish();
    let metrics = open_text(&trace).metrics(None, None).unwrap();
    assert_eq!(metrics["idle_by_stream"], json!({}));
    assert_eq!(metrics["nulls"]["idle_by_stream"], "no device events");
}
