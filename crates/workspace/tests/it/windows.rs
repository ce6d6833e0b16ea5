//! Windows of a rank: their steps are told apart, and called as the recording calls them.

use std::path::Path;

use stepscope_model::StepRange;
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{ANALYSES, CancelFlag, Question, Workspace};

use crate::analyses::{ask, by, cells, in_step, notes, table};
use crate::harness::{open, write};

/// A window of two steps: each an operator of `host_us`, with a kernel of `kernel_us`.
fn window(first_step: i64, start: i64, kernel_us: i64) -> String {
    let mut trace = TraceBuilder::new();
    for step in 0..2 {
        let at = start + step * 100;
        trace = trace
            .annotation(&format!("ProfilerStep#{}", first_step + step), 1, &at.to_string(), "100")
            .op("f", 1, &(at + 10).to_string(), "40")
            .runtime("cudaLaunchKernel", 1, &(at + 20).to_string(), "5", start + step)
            .kernel("k", 0, 7, &(at + 30).to_string(), &kernel_us.to_string(), start + step);
    }
    trace.finish()
}

/// Two windows of rank 0.
fn two_windows(folder: &Path, second_from: i64) -> Workspace {
    write(folder, "worker0.1.json", &window(5, 1000, 10));
    write(folder, "worker0.2.json", &window(second_from, 9000, 30));
    open(&[folder.to_owned()]).unwrap()
}

#[test]
fn steps_of_two_windows_are_not_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = two_windows(folder.path(), 16);
    let rows = |question: &Question, columns: &str| cells(table(&ask(&workspace, "steps", question), "rows"), columns);
    assert_eq!(
        rows(&Question::default(), "window step step_number name kernel_ns"),
        "0 0 5 ProfilerStep#5 10000\n0 1 6 ProfilerStep#6 10000\n\
         1 0 16 ProfilerStep#16 30000\n1 1 17 ProfilerStep#17 30000"
    );
    assert_eq!(rows(&by(&["window"]), "rank window step steps kernel_ns"), "- 0 - 2 10000\n- 1 - 2 30000");
    assert_eq!(rows(&by(&["rank"]), "rank window steps"), "0 0 2\n0 1 2");
}

#[test]
fn groups_by_step_keep_windows_apart_and_groups_by_window_exist() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = two_windows(folder.path(), 16);
    for (analysis, columns) in
        [("ops", "window step step_number device_self_ns"), ("kernels", "window step step_number total_ns")]
    {
        let of = |question: &Question, columns: &str| {
            let report = ask(&workspace, analysis, question);
            let mut rows: Vec<String> = cells(table(&report, "rows"), columns).lines().map(str::to_owned).collect();
            rows.sort_by_key(|row| row.split(' ').map(|cell| cell.parse().unwrap_or(0)).collect::<Vec<i64>>());
            rows.join(", ")
        };
        assert_eq!(of(&by(&["step"]), columns), "0 0 5 10000, 0 1 6 10000, 1 0 16 30000, 1 1 17 30000", "{analysis}");
        let columns = columns.replace(" step step_number", "");
        assert_eq!(of(&by(&["window"]), &columns), "0 20000, 1 60000", "{analysis}");
    }
    let by_rank = ANALYSES.iter().filter(|analysis| analysis.groupings.contains(&"rank"));
    for analysis in by_rank {
        assert!(analysis.groupings.contains(&"window"), "{}", analysis.name);
        workspace.analyze(analysis, &by(&["window"])).unwrap();
    }
}

#[test]
fn a_number_is_that_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = two_windows(folder.path(), 16);
    let kernels = |question: &Question| cells(table(&ask(&workspace, "kernels", question), "rows"), "total_ns");
    assert_eq!(kernels(&in_step(16)), "30000");
    assert_eq!(kernels(&Question { steps: Some(StepRange { first: 6, last: 16 }), ..Question::default() }), "40000");
    let told = |question: &Question| notes(table(&ask(&workspace, "kernels", question), "rows")).join("; ");
    assert_eq!(told(&in_step(16)), "sums over step 16");
    let many = Question { steps: Some(StepRange { first: 0, last: 99 }), ..Question::default() };
    assert_eq!(told(&many), "sums over steps 5 to 17 of 2 traces");

    let analysis = ANALYSES.iter().find(|analysis| analysis.name == "ops").unwrap();
    let error = workspace.analyze(analysis, &in_step(0)).unwrap_err();
    assert_eq!(error.to_string(), "found no step 0, expected 5 to 6, 16 to 17");
    let outline = workspace.timeline(Some(0), Some(1), &CancelFlag::default()).unwrap();
    assert_eq!(outline.steps.iter().map(|step| (step.step, step.number)).collect::<Vec<_>>(), [(0, 16), (1, 17)]);

    // A part of one window is one file.
    let part = folder.path().join("part.json");
    let written = workspace.trim(&in_step(16), &part, &[]).unwrap();
    assert_eq!(written.len(), 1);
    let part = open(&[part]).unwrap();
    assert_eq!(cells(table(&ask(&part, "steps", &in_step(16)), "rows"), "name kernel_ns"), "ProfilerStep#16 30000");
}

#[test]
fn windows_that_repeat_numbers_are_chosen_by_window() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = two_windows(folder.path(), 5);
    let rows = |question: &Question| cells(table(&ask(&workspace, "steps", question), "rows"), "window name kernel_ns");
    assert_eq!(rows(&in_step(5)), "0 ProfilerStep#5 10000\n1 ProfilerStep#5 30000");
    assert_eq!(rows(&Question { window: Some(1), ..in_step(5) }), "1 ProfilerStep#5 30000");
}
