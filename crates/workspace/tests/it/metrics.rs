//! The figures of section 7 and 8 on a trace small enough for a calculator.

use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

fn device(trace: TraceBuilder, category: &str, name: &str, stream: i64, ts: &str, dur: &str) -> TraceBuilder {
    trace.complete(category, name, 0, stream, ts, dur).arg("device", "0").arg("stream", &stream.to_string())
}

#[test]
fn utilization_and_estimates() {
    // One step from 0 to 100 µs; kernels 10–30 and 20–40, a copy 50–60.
    let trace = TraceBuilder::new().complete("cpu_op", "a", 1, 1, "0", "100");
    let trace = device(trace, "kernel", "volta_h884gemm", 7, "10", "20")
        .arg("blocks per SM", "0.75")
        .arg("est. achieved occupancy %", "50");
    let trace = device(trace, "kernel", "flash_fwd_kernel", 8, "20", "20").arg("blocks per SM", "0.5");
    let trace = device(trace, "gpu_memcpy", "Memcpy HtoD", 7, "50", "10");
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let gpu = &metrics["gpu"]["0"];
    assert_eq!(gpu["kernel_busy_ns"], 30_000);
    assert_eq!(gpu["gpu_utilization_ratio"], 0.3);
    assert_eq!(gpu["gpu_busy_ratio"], 0.4);
    // 10 µs at 0.75, 10 µs at min(1.25, 1), 10 µs at 0.5.
    assert_eq!(gpu["est_sm_efficiency_ratio"], 0.225);
    assert_eq!(gpu["blocks_per_sm_coverage_ratio"], 1.0);
    assert_eq!(gpu["est_achieved_occupancy_ratio"], 0.5);
    assert_eq!(gpu["occupancy_coverage_ratio"], 0.5);
    assert_eq!(gpu["tensor_core_lower_bound_ratio"], 1.0);
    assert_eq!(gpu["tensor_core_tb_list_ratio"], 0.5);
}

#[test]
fn exposed_parts_and_idle_fill_the_window_exactly() {
    // compute 0–40, communication 30–60, copy 50–80, fill 75–90, idle 90–95, compute 95–100.
    let trace = device(TraceBuilder::new(), "kernel", "gemm", 7, "0", "40");
    let trace = device(trace, "kernel", "ncclDevKernel_AllReduce", 8, "30", "30");
    let trace = device(trace, "gpu_memcpy", "Memcpy DtoH", 9, "50", "30");
    let trace = device(trace, "gpu_memset", "Memset (Device)", 9, "75", "15");
    let trace = device(trace, "kernel", "gemm", 7, "95", "5");
    let all = &open_text(&trace.finish()).metrics(None, None).unwrap()["temporal"]["all"];
    for (figure, want) in [
        ("window_ns", 100_000),
        ("busy_ns", 95_000),
        ("idle_ns", 5_000),
        ("compute_ns", 45_000),
        ("communication_ns", 30_000),
        ("exposed_communication_ns", 20_000),
        ("exposed_memcpy_ns", 20_000),
        ("exposed_memset_ns", 10_000),
        ("comm_compute_overlap_ns", 10_000),
    ] {
        assert_eq!(all[figure], want, "{figure}");
    }
}

#[test]
fn figures_without_their_input_are_null_with_a_reason() {
    let trace = TraceBuilder::new().complete("cpu_op", "a", 1, 1, "0", "100").finish();
    let metrics = open_text(&trace).metrics(None, None).unwrap();
    assert_eq!(metrics["gpu"].to_string(), "{}");
    assert!(metrics["temporal"]["all"].is_null() && metrics["health"]["operator_coverage_ratio"].is_null());
    let nulls = &metrics["nulls"];
    assert_eq!(nulls["gpu"], "no device events");
    assert_eq!(nulls["temporal.all"], "no device events");
    assert_eq!(nulls["health.operator_coverage_ratio"], "no device events");
}
