//! Copies and fills.

use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, by, cells, check, each_real, in_step, named, objects, reason, same, sentence, sum, table};
use crate::harness::open_text;

const TO_DEVICE: &str = "Memcpy HtoD (Pageable -> Device)";

fn copy(trace: TraceBuilder, name: &str, device: i64, stream: i64, ts: &str, dur: &str, bytes: &str) -> TraceBuilder {
    trace.memcpy(name, device, stream, ts, dur, 0).arg("bytes", bytes)
}

#[test]
fn time_is_hidden_while_a_kernel_of_the_same_device_runs() {
    // Copies 0–10 and 5–15 overlap, 20–30 is alone: 25 µs in all. Kernels of device 0 run 8–12 and 25–40, which hides
    // 4 + 5 µs; the kernel of device 1 hides nothing, and neither does the fill.
    let trace = copy(TraceBuilder::new(), TO_DEVICE, 0, 7, "0", "10", "10000");
    let trace = copy(trace, TO_DEVICE, 0, 8, "5", "10", "10000");
    let trace = copy(trace, TO_DEVICE, 0, 7, "20", "10", "5000");
    let trace = trace
        .kernel("k", 0, 9, "8", "4", 0)
        .kernel("k", 0, 9, "25", "15", 0)
        .kernel("k", 1, 9, "0", "50", 0)
        .complete("gpu_memset", "Memset (Device)", 0, 10, "0", "30")
        .arg("device", "0");
    let columns = "name kind source target is_pageable count bytes total_ns union_ns hidden_ns hidden_ratio";
    check(
        &trace,
        "transfers",
        &Question::default(),
        columns,
        "Memcpy HtoD (Pageable -> Device) HtoD Pageable Device true 3 25000 30000 25000 9000 0.36
         Memset (Device) set - Device false 1 - 30000 30000 9000 0.3",
    );
    let report = ask(&open_text(&trace.finish()), "transfers", &Question::default());
    assert_eq!(
        sentence(&report),
        "3 copies from pageable memory move 25.00 kB at 0.83 GB/s; 36.0 % of its time is hidden by kernels."
    );
    assert_eq!(reason(&report, "rows[].bytes"), Some("argument not recorded: bytes"));
}

#[test]
fn each_device_hides_its_own() {
    // The same moment on two devices: half of the time on device 0 is hidden, none of it on device 1.
    let trace = copy(TraceBuilder::new(), "Memcpy DtoH (Device -> Pinned)", 0, 7, "0", "10", "100");
    let trace = copy(trace, "Memcpy DtoH (Device -> Pinned)", 1, 7, "0", "10", "100");
    let trace = trace.kernel("k", 0, 9, "5", "10", 0);
    let columns = "device_id count union_ns hidden_ns is_pageable";
    check(&trace, "transfers", &Question::default(), columns, "- 2 20000 5000 false");
    check(&trace, "transfers", &by(&["device"]), columns, "0 1 10000 5000 false\n1 1 10000 0 false");
}

#[test]
fn a_step_and_a_stretch_of_time_leave_out_copies_but_not_what_hides_them() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "50").annotation("ProfilerStep#2", 1, "50", "50");
    let trace = trace
        .runtime("cudaMemcpyAsync", 1, "10", "1", 1)
        .memcpy(TO_DEVICE, 0, 7, "20", "10", 1)
        .runtime("cudaMemcpyAsync", 1, "60", "1", 2)
        .memcpy(TO_DEVICE, 0, 7, "70", "10", 2)
        // Launched in the first step, running during the copy of the second.
        .runtime("cudaLaunchKernel", 1, "12", "1", 3)
        .kernel("k", 0, 9, "75", "20", 3);
    let columns = "count total_ns hidden_ns";
    check(&trace, "transfers", &Question::default(), columns, "2 20000 5000");
    check(&trace, "transfers", &in_step(2), columns, "1 10000 5000");
    // From inclusive, to exclusive, by the start on the device.
    check(&trace, "transfers", &between(20, 70), columns, "1 10000 0");
    check(&trace, "transfers", &between(21, 70), columns, "");
}

#[test]
fn what_is_not_known_is_missing() {
    let trace = TraceBuilder::new().memcpy("CopyHostToDevice", 0, 7, "0", "0", 0).arg("bytes", "8");
    let report = ask(&open_text(&trace.finish()), "transfers", &Question::default());
    let columns = "kind bytes bandwidth_gb_per_s bandwidth_recorded_gb_per_s hidden_ratio";
    assert_eq!(cells(table(&report, "rows"), columns), "- 8 - - -");
    assert_eq!(reason(&report, "rows[].bandwidth_gb_per_s"), Some("zero duration"));
    assert_eq!(reason(&report, "rows[].hidden_ratio"), Some("zero duration"));
    let nothing =
        ask(&open_text(&TraceBuilder::new().op("a", 1, "0", "5").finish()), "transfers", &Question::default());
    assert_eq!((sentence(&nothing).as_str(), table(&nothing, "rows").rows.len()), ("No copies and no fills.", 0));
}

#[test]
#[ignore = "needs the corpus"]
fn real_traces_have_the_copies_of_their_metrics() {
    let traces = ["kineto/resnet50_num_workers_0", "hta/ns_resolution_trace", "tracelens/b200/eager_trace.json.gz"];
    each_real(&traces, |trace, workspace, metrics| {
        let question = Question { window: Some(0), ..Question::default() };
        let report = ask(workspace, "transfers", &question);
        let rows = objects(table(&report, "rows"));
        let copies = metrics["copies"].as_array().unwrap();
        assert_eq!(rows.len(), copies.len(), "{trace}");
        let figures = [
            "kind",
            "source",
            "target",
            "count",
            "bytes",
            "bytes_missing",
            "total_ns",
            "mean_ns",
            "p50_ns",
            "p99_ns",
            "max_ns",
            "bandwidth_gb_per_s",
            "bandwidth_recorded_gb_per_s",
        ];
        for copy in copies {
            same(named(&rows, &copy["name"]), copy, &figures, trace);
        }
        // By step and outside of steps, they add up to the same.
        let by_step = ask(workspace, "transfers", &Question { window: Some(0), ..by(&["step"]) });
        assert_eq!(sum(&objects(table(&by_step, "rows")), "total_ns"), sum(&rows, "total_ns"), "{trace}");
    });
}
