//! The tables of kernels and of copies (metrics, sections 11 and 12).

use serde_json::{Value as Json, json};
use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

fn metrics(trace: &TraceBuilder) -> Json {
    open_text(&trace.finish()).metrics(None, None).unwrap()
}

#[test]
fn kernels_by_name() {
    let trace = TraceBuilder::new()
        .op("aten::mm", 1, "0", "5")
        .runtime("cudaLaunchKernel", 1, "1", "1", 1)
        .kernel("gemm", 0, 7, "10", "10", 1)
        .arg("blocks per SM", "1.5")
        .arg("est. achieved occupancy %", "100")
        .kernel("gemm", 0, 7, "20", "30", 0)
        .arg("est. achieved occupancy %", "50")
        .kernel("ncclDevKernel_AllReduce", 0, 8, "20", "5", 0)
        .kernel("empty", 0, 7, "60", "0", 0)
        .arg("blocks per SM", "2");
    let metrics = metrics(&trace);
    let kernels = &metrics["kernels"];
    assert_eq!((&kernels["distinct"], &kernels["count"], &kernels["total_ns"]), (&json!(3), &json!(4), &json!(45_000)));
    let gemm = json!({
        "name": "gemm", "count": 2, "total_ns": 40_000, "mean_ns": 20_000.0, "min_ns": 10_000, "p50_ns": 10_000,
        "p90_ns": 30_000, "p99_ns": 30_000, "max_ns": 30_000, "communication": 0, "blocks_per_sm": 1.5,
        "occupancy_ratio": 0.625, "linked_to_op": 1, "kernel_time_ratio": 40.0 / 45.0,
    });
    assert_eq!(kernels["rows"][0], gemm);
    assert_eq!(kernels["rows"][1]["communication"], 1);
    assert!(kernels["rows"][2]["blocks_per_sm"].is_null());
    let nulls = &metrics["nulls"];
    assert_eq!(nulls["kernels.rows[1].blocks_per_sm"], "argument not recorded: blocks per SM");
    assert_eq!(nulls["kernels.rows[2].blocks_per_sm"], "zero duration");
    assert_eq!(nulls["kernels.rows[2].occupancy_ratio"], "argument not recorded: est. achieved occupancy %");
}

#[test]
fn the_fifty_kernels_with_the_most_time_are_listed() {
    let trace = (0..60).fold(TraceBuilder::new(), |trace, kernel| {
        trace.kernel(&format!("k{kernel:02}"), 0, 7, &(kernel * 10).to_string(), &(kernel / 2).to_string(), 0)
    });
    let kernels = metrics(&trace)["kernels"].take();
    assert_eq!((&kernels["distinct"], &kernels["count"]), (&json!(60), &json!(60)));
    let rows = kernels["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 50);
    // Equal times are ordered by name.
    assert_eq!([&rows[0]["name"], &rows[1]["name"], &rows[49]["name"]], ["k58", "k59", "k11"]);
}

#[test]
fn copies_by_name() {
    let trace = TraceBuilder::new()
        .memcpy("Memcpy HtoD (Pageable -> Device)", 0, 7, "0", "1", 0)
        .arg("bytes", "1000")
        .arg("memory bandwidth (GB/s)", "2.0")
        .memcpy("Memcpy HtoD (Pageable -> Device)", 0, 7, "10", "3", 0)
        .memcpy("Memcpy HtoD (Pageable -> Device)", 0, 7, "20", "2", 0)
        .arg("bytes", "3000")
        .complete("gpu_memset", "Memset (Device)", 0, 7, "30", "0")
        .arg("bytes", "8")
        .memcpy("CopyDeviceToHost", 0, 7, "40", "1", 0);
    let metrics = metrics(&trace);
    let copy = json!({
        "name": "Memcpy HtoD (Pageable -> Device)", "kind": "HtoD", "source": "Pageable", "target": "Device",
        "bytes": 4_000, "bytes_missing": 1, "bandwidth_gb_per_s": 4.0 / 3.0, "bandwidth_recorded_gb_per_s": 2.0,
        "count": 3, "total_ns": 6_000, "mean_ns": 2_000.0, "min_ns": 1_000, "p50_ns": 2_000, "p90_ns": 3_000,
        "p99_ns": 3_000, "max_ns": 3_000,
    });
    let copies = &metrics["copies"];
    assert_eq!(copies[0], copy);
    assert_eq!(copies[1]["name"], "CopyDeviceToHost");
    assert!(copies[1]["kind"].is_null() && copies[1]["bytes"].is_null());
    assert_eq!(
        (&copies[2]["kind"], &copies[2]["target"], &copies[2]["bytes"]),
        (&json!("set"), &json!("Device"), &json!(8))
    );
    let nulls = &metrics["nulls"];
    assert_eq!(nulls["copies[1].bytes"], "argument not recorded: bytes");
    assert_eq!(nulls["copies[1].bandwidth_gb_per_s"], "argument not recorded: bytes");
    assert_eq!(nulls["copies[2].bandwidth_gb_per_s"], "zero duration");
    assert_eq!(nulls["copies[2].bandwidth_recorded_gb_per_s"], "argument not recorded: memory bandwidth (GB/s)");
}

#[test]
fn without_device_events_the_tables_are_empty() {
    let metrics = metrics(&TraceBuilder::new().op("a", 1, "0", "5"));
    assert_eq!(metrics["kernels"], json!({ "distinct": 0, "count": 0, "total_ns": 0, "rows": [] }));
    assert_eq!(metrics["copies"], json!([]));
}
