//! The breakdown of step time (metrics, section 6).

use stepscope_model::tables::STEP_BREAKDOWN;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

const CLASSES: &str =
    "step kernel_ns memcpy_ns memset_ns communication_ns runtime_ns dataloader_ns cpu_exec_ns other_ns";
const BUSY: &str = "step all_communication_ns overlap_ns kernel_busy_ns device_busy_ns";
/// For traces in which only operators work.
const OPERATORS: &str = "step cpu_exec_ns other_ns";

#[test]
fn every_instant_belongs_to_the_first_active_class() {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "100")
        .annotation("ProfilerStep#2", 1, "100", "100")
        .annotation("## forward ##", 1, "0", "100")
        .op("aten::mm", 1, "10", "50")
        .runtime("cudaLaunchKernel", 2, "20", "10", 1)
        .runtime("cudaLaunchKernel", 2, "30", "5", 2)
        .kernel("gemm", 0, 7, "40", "30", 1)
        .kernel("ncclDevKernel_AllReduce", 1, 9, "60", "30", 2)
        .memcpy("Memcpy DtoH (Device -> Pageable)", 0, 8, "85", "10", 0)
        // Half of it lies behind the last step.
        .op("aten::item", 1, "150", "100");
    let tables = tables(&trace);
    tables.rows(&STEP_BREAKDOWN).check(
        CLASSES,
        "0 30000 10000 0 15000 15000 0 15000 15000
         1 0 0 0 0 0 0 50000 50000
         - 30000 10000 0 15000 15000 0 115000 65000",
    );
    tables.rows(&STEP_BREAKDOWN).check(
        BUSY,
        "0 30000 10000 50000 55000
         1 0 0 0 0
         - 30000 10000 50000 55000",
    );
}

#[test]
fn work_that_reaches_over_steps_counts_in_each() {
    // Marks of two threads overlap, and one operator covers everything.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "60")
        .annotation("ProfilerStep#2", 2, "40", "60")
        .annotation("ProfilerStep#3", 1, "120", "0")
        .op("all", 3, "-10", "70");
    tables(&trace).rows(&STEP_BREAKDOWN).check(OPERATORS, "0 60000 0\n1 20000 40000\n2 0 0\n- 70000 60000");
}

#[test]
fn threads_count_together_and_gaps_stay_gaps() {
    // Two operators with a gap of 20, two that touch, and an earlier one on another thread.
    let trace = TraceBuilder::new()
        .op("a", 1, "100", "100")
        .op("b", 1, "220", "10")
        .op("c", 1, "230", "5")
        .op("d", 2, "0", "10")
        .op("e", 2, "150", "55");
    tables(&trace).rows(&STEP_BREAKDOWN).check(OPERATORS, "0 130000 105000\n- 130000 105000");
}

#[test]
fn only_complete_events_of_host_and_device_count() {
    let trace = TraceBuilder::new()
        .op("op", 1, "0", "10")
        .complete("python_function", "frame", 1, 1, "0", "500")
        .complete("overhead", "flush", 1, 1, "20", "500")
        .complete("gpu_user_annotation", "ProfilerStep#1", 0, 7, "0", "500")
        .complete("cuda_sync", "Stream Synchronize", 0, 7, "0", "500")
        .event(r#"{"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 4, "ts": 0}"#)
        .event(r#"{"ph": "E", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 4, "ts": 90}"#);
    tables(&trace).rows(&STEP_BREAKDOWN).only("step", "-").check(CLASSES, "- 0 0 0 0 0 0 10000 0");
}

#[test]
fn without_host_and_device_there_is_nothing_to_break_down() {
    let trace = TraceBuilder::new().complete("python_function", "f", 1, 1, "0", "500");
    tables(&trace).rows(&STEP_BREAKDOWN).check(CLASSES, "");
}
