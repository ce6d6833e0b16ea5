//! The summary: what it says of what was not recorded, and the figures that programs get.

use stepscope_model::{Cell, Part, Report, Sentence};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{ANALYSES, Question};

use super::{ask, between, reason, table};
use crate::harness::open_text;

fn summary(trace: &TraceBuilder) -> Report {
    ask(&open_text(&trace.finish()), "summary", &Question::default())
}

fn texts(report: &Report) -> String {
    super::texts(report).join("\n")
}

fn figure(report: &Report, name: &str) -> (Cell, Option<Sentence>) {
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
    assert_eq!(figure(&unknown, "mfu_ratio"), (Cell::Null, Some("unknown device peak".into())));
    let without = summary(&TraceBuilder::new().op("f", 1, "0", "10"));
    assert_eq!(figure(&without, "step_flops"), (Cell::Null, Some("shapes not recorded".into())));
}

/// One step of 1 ms on an A100, in which a kernel of 500 µs computes attention over 1,024 by 1,024 scores.
fn attention(is_causal: &str) -> TraceBuilder {
    let shape = "[1, 16, 1024, 64]";
    TraceBuilder::new()
        .header("deviceProperties", r#"[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]"#)
        .annotation("ProfilerStep#1", 1, "0", "1000")
        .op("aten::scaled_dot_product_attention", 1, "10", "20")
        .arg("Input Dims", &format!("[{shape}, {shape}, {shape}, [], [], [], [], []]"))
        .arg("Concrete Inputs", &format!(r#"["", "", "", "", "0.", "{is_causal}", "", "False"]"#))
        .runtime("cudaLaunchKernel", 1, "15", "1", 1)
        .kernel("flash_fwd_kernel", 0, 7, "40", "500", 1)
}

#[test]
fn what_is_said_to_be_at_least_is_a_lower_bound() {
    let check = |report: &Report, name: &str, want: f64| match figure(report, name) {
        (Cell::Float(value), None) => assert!((value - want).abs() <= 1e-12 * want, "{name} is {value}, not {want}"),
        other => panic!("{name}: {other:?}"),
    };
    // 16 heads, 1,024² scores, 2 · (64 + 64) operations for each; of those, 1,024 · 1,025 / 2 are certain.
    let (all, causal) = (16.0 * 1024.0 * 1024.0 * 256.0, 16.0 * 1024.0 * 1025.0 / 2.0 * 256.0);
    for (is_causal, least, said) in [
        // 4.295e12 and 2.149e12 of 312e12 a second; nothing is rounded up.
        ("False", all, "MFU ≥ 1.3 % of 312.0 TFLOP/s"),
        ("True", causal, "MFU ≥ 0.6 % of 312.0 TFLOP/s"),
        ("", causal, "MFU ≥ 0.6 % of 312.0 TFLOP/s"),
    ] {
        let trace = attention(is_causal);
        let workspace = open_text(&trace.finish());
        // The sums of steps and the spans of a stretch of time agree.
        for question in [Question::default(), between(0, 1000)] {
            let report = ask(&workspace, "summary", &question);
            check(&report, "step_flops", all);
            check(&report, "step_least_flops", least);
            check(&report, "mfu_ratio", least / 1e-3 / 312e12);
            assert!(texts(&report).contains(said), "{}", texts(&report));
        }
    }
    // What launches nothing did not run on the device: a product on the host, or one that a graph records.
    let host = attention("False").op("aten::mm", 1, "600", "20").arg("Input Dims", "[[512, 512], [512, 512]]");
    let workspace = open_text(&host.finish());
    for question in [Question::default(), between(0, 1000)] {
        let report = ask(&workspace, "summary", &question);
        check(&report, "step_flops", all + 2.0 * 512.0 * 512.0 * 512.0);
        check(&report, "step_least_flops", all);
    }
    // Two devices can do twice as much.
    let two = attention("False").runtime("cudaLaunchKernel", 1, "40", "1", 2).kernel("copy", 1, 7, "60", "10", 2);
    let report = summary(&two);
    check(&report, "mfu_ratio", all / 1e-3 / (2.0 * 312e12));
    assert!(texts(&report).contains("MFU ≥ 0.6 % of 2 × 312.0 TFLOP/s"), "{}", texts(&report));
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
fn what_to_ask_next_is_named_and_spelled_by_whoever_shows_it() {
    // The device is busy for 50 of 1,000 µs, which is a finding.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "1000")
        .runtime("cudaLaunchKernel", 1, "15", "1", 1)
        .kernel("gemm", 0, 7, "40", "50", 1);
    let workspace = open_text(&trace.finish());
    let next = ["diagnose", "ops", "steps"].map(|target| format!("→ {target}"));
    assert!(texts(&ask(&workspace, "summary", &Question::default())).ends_with(&next.join("\n")));
    let diagnose = ANALYSES.iter().find(|analysis| analysis.name == "diagnose").unwrap();
    let mut findings = workspace.analyze(diagnose, &Question::default()).unwrap();
    findings.spell(&|target| format!("ask {}", target.ask));
    let shown = table(&findings, "rows").rows[0].iter().filter(|cell| **cell == Cell::Sentence("ask launches".into()));
    assert_eq!(shown.count(), 1);
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
    assert_eq!(figure(&report, "mfu_ratio"), (Cell::Null, Some("no device events".into())));
}
