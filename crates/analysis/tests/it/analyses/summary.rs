//! The summary: what it says of what was not recorded, and the figures that programs get.

use stepscope_analysis::Question;
use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::TraceBuilder;

use super::{ask, cells, reason, table};
use crate::harness::open_text;

fn summary(trace: &TraceBuilder) -> Report {
    ask(&open_text(&trace.finish()), "summary", &Question::default())
}

fn texts(report: &Report) -> String {
    let texts =
        report.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(&text.text[..]) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

fn figure(report: &Report, name: &str) -> (Cell, Option<String>) {
    let metrics =
        report.parts.iter().filter_map(|part| if let Part::Metric(metric) = part { Some(metric) } else { None });
    let found = metrics.into_iter().find(|metric| metric.name == name).unwrap();
    (found.value.clone(), found.reason.clone())
}

/// One step of 100 µs with a kernel of 50 µs that an operator of 10 × 20 by 20 × 30 launches.
fn product(device: &str) -> TraceBuilder {
    TraceBuilder::new()
        .header("deviceProperties", &format!("[{{\"id\": 0, \"name\": \"{device}\"}}]"))
        .annotation("ProfilerStep#1", 1, "0", "100")
        .op("aten::mm", 1, "10", "20")
        .arg("Input Dims", "[[10, 20], [20, 30]]")
        .runtime("cudaLaunchKernel", 1, "15", "1", 1)
        .kernel("gemm", 0, 7, "40", "50", 1)
}

#[test]
fn programs_get_what_the_compute_line_says() {
    // 2 × 10 × 20 × 30 operations in a step of 100 µs are 120 million a second; the peak of an A100 is 312e12.
    let report = summary(&product("NVIDIA A100-SXM4-80GB"));
    assert_eq!(figure(&report, "step_flops"), (Cell::Float(12_000.0), None));
    assert_eq!(figure(&report, "achieved_flops_per_s"), (Cell::Float(1.2e8), None));
    assert_eq!(figure(&report, "mfu_ratio"), (Cell::Float(1.2e8 / 312e12), None));
    assert_eq!(figure(&report, "flops_coverage_ratio"), (Cell::Float(1.0), None));
    let unknown = summary(&product("Abacus"));
    assert_eq!(figure(&unknown, "mfu_ratio"), (Cell::Null, Some("unknown device peak".to_owned())));
    let without = summary(&TraceBuilder::new().op("f", 1, "0", "10"));
    assert_eq!(figure(&without, "step_flops"), (Cell::Null, Some("shapes not recorded".to_owned())));
}

#[test]
fn a_trace_without_marks_is_one_step_and_says_so() {
    let said = "No steps are marked, so the whole trace counts as one.";
    assert!(texts(&summary(&TraceBuilder::new().op("f", 1, "0", "10"))).contains(said));
    assert!(!texts(&summary(&product("A100"))).contains(said));
}

#[test]
fn health_that_is_not_good_has_a_reason() {
    let unlinked = product("A100").kernel("lonely", 0, 7, "90", "50", 9);
    let health = texts(&summary(&unlinked));
    assert!(health.contains("partial: 50.0 % of device time has no operator or graph"), "{health}");
    let lost = texts(&summary(&product("A100").op("g", 1, "soon", "10")));
    assert!(lost.contains("partial: 1 event is lost"), "{lost}");
}

#[test]
fn memory_that_is_not_there_has_a_reason() {
    let path = "devices[].memory_growth_bytes";
    assert_eq!(reason(&summary(&product("A100")), path), Some("no memory events"));
    // The kernels are on device 0; the memory event says 3.
    let elsewhere = product("A100").memory(1, "20", 512, 512).arg("Device Type", "1").arg("Device Id", "3");
    assert_eq!(reason(&summary(&elsewhere), path), Some("device ids disagree"));
}

#[test]
fn commands_to_type_next_carry_path_and_part() {
    // The device is busy for 50 of 1,000 µs, which is a finding.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "1000")
        .runtime("cudaLaunchKernel", 1, "15", "1", 1)
        .kernel("gemm", 0, 7, "40", "50", 1);
    let question = Question { rest_of_command: "run/ --rank 3".to_owned(), ..Question::default() };
    let workspace = open_text(&trace.finish());
    let next = ["diagnose", "ops", "steps"].map(|command| format!("stepscope {command} run/ --rank 3"));
    assert!(texts(&ask(&workspace, "summary", &question)).ends_with(&next.join("\n")));
    let findings = ask(&workspace, "diagnose", &question);
    assert_eq!(cells(table(&findings, "rows"), "rule show"), "low_utilization stepscope steps run/ --rank 3");
}

#[test]
fn without_a_device_shapes_cover_time_of_operators() {
    // The product takes 20 of 80 µs; what lies inside it is its own.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "100")
        .op("aten::mm", 1, "10", "20")
        .arg("Input Dims", "[[10, 20], [20, 30]]")
        .op("aten::resolve_conj", 1, "12", "5")
        .op("Torch-Compiled Region: 0/0", 1, "40", "60")
        .annotation("## Call CompiledFxGraph ##", 1, "42", "50");
    let report = summary(&trace);
    assert!(texts(&report).contains("shapes cover 25.0 % of operator time"), "{}", texts(&report));
    assert_eq!(figure(&report, "flops_coverage_ratio"), (Cell::Float(0.25), None));
    assert_eq!(figure(&report, "mfu_ratio"), (Cell::Null, Some("no device events".to_owned())));
}
