//! Findings: what the demo is known to suffer from is found, and a healthy trace has none.

use stepscope_model::{Cell, Report, Role, Target};
use stepscope_simulate::{Job, write_traces};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{ANALYSES, Question, RULES, Thresholds, Workspace};

use super::{ask, cells, objects, table, texts};
use crate::harness::{open, open_text};

fn demo() -> (Job, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::demo();
    let paths = write_traces(&job, folder.path()).unwrap();
    (job, open(&paths).unwrap())
}

fn rules(report: &Report) -> Vec<String> {
    cells(table(report, "rows"), "rule").lines().map(str::to_owned).collect()
}

#[test]
fn the_faults_of_the_demo_are_found() {
    let (job, workspace) = demo();
    let found = rules(&ask(&workspace, "diagnose", &Question::default()));
    for rule in ["data_loading", "straggler", "tensor_cores_idle", "many_small_kernels", "pageable_copies"] {
        assert!(found.contains(&rule.to_owned()), "{rule} is not among {found:?}");
    }
    let comms = ask(&workspace, "comms", &Question::default());
    let rows = &table(&comms, "rows").rows;
    assert_eq!(rows[0][0], Cell::Int(job.truth().slow_rank.unwrap().into()), "the slow rank comes first");
}

#[test]
fn fast_loading_leaves_the_other_faults() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&write_traces(&Job::demo_with_fast_loading(), folder.path()).unwrap()).unwrap();
    let found = rules(&ask(&workspace, "diagnose", &Question::default()));
    assert!(!found.contains(&"data_loading".to_owned()), "{found:?}");
    for rule in ["straggler", "tensor_cores_idle", "many_small_kernels", "pageable_copies"] {
        assert!(found.contains(&rule.to_owned()), "{rule} is not among {found:?}");
    }
}

#[test]
fn the_summary_agrees_with_what_is_known() {
    let (job, workspace) = demo();
    let report = ask(&workspace, "summary", &Question::default());
    let breakdown = table(&report, "breakdown");
    let share = |class: &str| {
        let row = breakdown.rows.iter().find(|row| row[0] == Cell::Text(class.to_owned())).unwrap();
        if let Cell::Float(share) = row[3] { share } else { f64::NAN }
    };
    let truth = job.truth();
    let ranks = 0..job.ranks;
    let known = ranks.clone().map(|rank| truth.dataloader_ratio(rank)).sum::<f64>() / f64::from(job.ranks);
    assert!((share("dataloader") - known).abs() < 1e-3, "{} is not {known}", share("dataloader"));
}

#[test]
fn a_busy_device_has_no_findings() {
    let mut trace = TraceBuilder::new();
    for step in 0..3_i64 {
        let start = step * 1000;
        trace = trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &start.to_string(), "1000")
            .op("aten::mm", 1, &start.to_string(), "20")
            .runtime("cudaLaunchKernel", 1, &(start + 5).to_string(), "5", step + 1)
            .kernel("ampere_bf16_s16816gemm", 0, 7, &(start + 10).to_string(), "980", step + 1);
    }
    let workspace = open_text(&trace.finish());
    let report = ask(&workspace, "diagnose", &Question::default());
    assert_eq!(rules(&report), Vec::<String>::new());
    // That is said, and where the time goes.
    let busy = "the GPU is busy 98.0 % of the time; GEMM takes 100.0 % of device time.";
    let nothing = format!("No finding: {busy} Show where it goes: → kernels");
    assert!(texts(&report).contains(&nothing), "{:?}", texts(&report));
    let summary = ask(&workspace, "summary", &Question::default());
    let said = texts(&summary);
    assert!(said.contains(&nothing) && said.contains(&format!("A step takes 1.000 ms: {busy}")), "{said:?}");
}

/// A step that the device bounds: kernels of 20 µs, each 2 µs after the one before, launched long before they run.
fn in_a_row(kernels: &[&str]) -> Workspace {
    let mut trace = TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", &(7 * kernels.len()).to_string());
    for (number, kernel) in kernels.iter().enumerate() {
        let (number, at) = (number as i64, |from: i64, apart: i64| (from + apart * number as i64).to_string());
        trace = trace
            .op("aten::add", 1, &at(0, 7), "6")
            .runtime("cudaLaunchKernel", 1, &at(1, 7), "2", number + 1)
            .kernel(kernel, 0, 7, &at(20, 22), "20", number + 1);
    }
    open_text(&trace.finish())
}

#[test]
fn kernels_that_could_be_fused_are_found() {
    let found = |kernels: &[&str]| {
        let report = ask(&in_a_row(kernels), "diagnose", &Question::default());
        let rows = objects(table(&report, "rows"));
        rows.into_iter().find(|row| row["rule"] == "missed_fusion")
    };
    let add = "void at::native::vectorized_elementwise_kernel<4, Add>(int)";
    let sum = "void at::native::reduce_kernel<512, 1, Sum>(int)";
    // The step begins at 0 and ends with the last kernel, at 238. Fused, two gaps of 2 µs are gone in each run of three.
    let row = found(&[add, add, sum, "gemm", "gemm", sum, add, add, "gemm", "gemm"]).unwrap();
    assert_eq!(row["title"], "Kernels that could be fused take 60.0 % of kernel time");
    assert_eq!((&row["at_stake_ns"], &row["saving_ns"]), (&120_000.0.into(), &8_000.0.into()));
    assert_eq!(
        (&row["bound"], &row["severity"], &row["change"]),
        (&"at least".into(), &"medium".into(), &"fuse".into())
    );
    assert_eq!(row["fix"], "torch.compile(model)");
    // Runs of two; fused by a compiler; of many tensors at once.
    let many = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<T>(T)";
    for kernels in [[add, sum, "gemm", add, sum], ["triton_poi_fused_add_mul_0"; 5], [many; 5]] {
        let found = found(&kernels);
        assert!(found.is_none(), "{kernels:?}: {found:?}");
    }
}

#[test]
fn a_recording_without_devices_is_not_told_about_them() {
    let mut trace = TraceBuilder::new();
    for step in 0..3_i64 {
        let start = step * 1000;
        trace = trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &start.to_string(), "1000")
            .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, &start.to_string(), "400")
            .op("aten::mm", 1, &(start + 400).to_string(), "600");
    }
    let report = ask(&open_text(&trace.finish()), "diagnose", &Question::default());
    assert_eq!(cells(table(&report, "rows"), "rule title"), "data_loading The step waits for the DataLoader");
}

#[test]
fn a_region_named_for_loading_speaks_for_it() {
    let of_regions = |device: bool, loader: bool| {
        let mut trace = TraceBuilder::new();
        for step in 0..3_i64 {
            let start = step * 1000;
            let at = |offset: i64| (start + offset).to_string();
            trace = trace
                .annotation(&format!("ProfilerStep#{step}"), 1, &at(0), "1000")
                // The second lies in the first, and the third reaches out of its step.
                .annotation("Data Loading", 1, &at(0), "300")
                .annotation("get_batch", 1, &at(100), "100")
                .annotation("load_data", 2, &at(900), "200")
                .op("aten::mm", 1, &at(400), "500");
            if device {
                trace = trace.runtime("cudaLaunchKernel", 1, &at(10), "5", step + 1).kernel(
                    "gemm",
                    0,
                    7,
                    &at(20),
                    "230",
                    step + 1,
                );
            }
            if loader {
                let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
                trace = trace.annotation(name, 1, &at(0), "10");
            }
        }
        let report = ask(&open_text(&trace.finish()), "diagnose", &Question::default());
        let found = cells(table(&report, "rows"), "rule at_stake_ns");
        found.lines().filter(|line| line.starts_with("data_loading")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of_regions(false, false), ["data_loading 400000"]);
    // What a kernel hides is not waited for.
    assert_eq!(of_regions(true, false), ["data_loading 170000"]);
    // With a DataLoader, its own annotations count.
    assert!(of_regions(false, true).is_empty());
}

#[test]
fn an_incomplete_step_is_left_out_of_what_a_step_takes() {
    let mut trace = TraceBuilder::new();
    // Two steps with five copies each, and one that was cut off behind its first.
    for (step, copies) in [(0, 5), (1, 5), (2, 1)] {
        let start = step * 1000;
        trace = trace.annotation(&format!("ProfilerStep#{step}"), 1, &start.to_string(), "1000");
        for copy in 0..copies {
            let (id, at) = (step * 10 + copy + 1, start + copy * 150 + 10);
            trace = trace.runtime("cudaMemcpyAsync", 1, &at.to_string(), "112", id).memcpy(
                "Memcpy HtoD (Pageable -> Device)",
                0,
                7,
                &(at + 10).to_string(),
                "100",
                id,
            );
        }
    }
    let report = ask(&open_text(&trace.finish()), "diagnose", &Question::default());
    let found = cells(table(&report, "rows"), "rule at_stake_ns");
    assert!(found.lines().any(|line| line == "pageable_copies 500000"), "{found}");
}

#[test]
fn an_empty_trace_is_no_trouble() {
    let workspace = open_text(r#"{"traceEvents": []}"#);
    assert_eq!(rules(&ask(&workspace, "diagnose", &Question::default())), Vec::<String>::new());
    let summary = ask(&workspace, "summary", &Question::default());
    assert_eq!(summary.missing[0].reason, "no complete step".into());
}

#[test]
fn a_finding_tells_what_its_rule_sees_and_why_that_costs_time() {
    let (_, workspace) = demo();
    let report = ask(&workspace, "diagnose", &Question::default());
    let lines = |role: Role| report.texts().filter(move |text| text.role == role).flat_map(|text| &text.lines);
    let told: Vec<_> = lines(Role::What).zip(lines(Role::Why)).collect();
    let found = rules(&report);
    assert_eq!(told.len(), found.len());
    for (name, (what, why)) in found.iter().zip(told) {
        let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
        let sees = rule.what(&Thresholds::default());
        assert_eq!((what, why), (&sees.clone().into(), &rule.why.into()));
        let row = format!("{name} {sees} {}", rule.why);
        assert!(cells(table(&report, "rows"), "rule what why").lines().any(|line| line == row), "{row}");
    }
}

#[test]
fn every_rule_is_documented_in_four_parts() {
    for rule in RULES {
        let sees = rule.what(&Thresholds::default());
        for text in [rule.label, &sees, rule.why, rule.not_this] {
            assert!(!text.is_empty(), "{}", rule.name);
        }
        let is_known = |target: &Target| ANALYSES.iter().any(|analysis| analysis.name == target.ask);
        assert!(!rule.show.is_empty() && rule.show.iter().all(is_known), "{}", rule.name);
    }
}
