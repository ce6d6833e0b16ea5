//! A part of a trace, written and read again, gives the same figures as the part itself.

use stepscope_simulate::{Job, write_traces};
use stepscope_testkit::corpus;
use stepscope_workspace::{Question, Workspace};

use super::{ask, between, cells, in_step, table};
use crate::harness::open;

fn trimmed(workspace: &Workspace, question: &Question) -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.pt.trace.json.gz");
    let written = workspace.trim(question, &path, &[]).unwrap();
    assert!(written[0].events > 0);
    open(&[path]).unwrap()
}

fn rows(workspace: &Workspace, analysis: &str, question: &Question, columns: &str) -> String {
    cells(table(&ask(workspace, analysis, question), "rows"), columns)
}

/// What can be asked of a part and of the trace that it became.
const QUESTIONS: [(&str, &str); 4] = [
    ("ops", "name calls device_self_ns device_total_ns host_self_ns host_total_ns flops"),
    ("kernels", "name count total_ns p50_ns occupancy_ratio"),
    ("transfers", "name count bytes total_ns"),
    ("steps", "name dur_ns kernel_ns communication_ns dataloader_ns"),
];

#[test]
fn a_step_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_traces(&Job::demo(), folder.path()).unwrap();
    let workspace = open(&paths[..1]).unwrap();
    let step = trimmed(&workspace, &in_step(2));
    for (analysis, columns) in QUESTIONS {
        let (of_part, of_trace) =
            (rows(&workspace, analysis, &in_step(2), columns), rows(&step, analysis, &Question::default(), columns));
        assert_eq!(of_trace, of_part, "{analysis}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn a_whole_trace_stays_what_it_was() {
    let corpus = corpus();
    for name in [
        "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "aorta/mi350_200691.1758927066581847260.pt.trace.json",
    ] {
        let workspace = open(&[corpus.trace(name)]).unwrap();
        let again = trimmed(&workspace, &Question::default());
        let figures = |workspace: &Workspace| {
            let mut metrics = workspace.metrics(None, None).unwrap();
            // Metadata is written anew, and broken events are gone.
            for member in ["format", "health", "nulls"] {
                metrics.as_object_mut().unwrap().remove(member);
            }
            metrics
        };
        assert_eq!(figures(&again), figures(&workspace), "{name}");
    }
}

#[test]
fn a_stretch_of_time_is_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_traces(&Job::demo(), folder.path()).unwrap();
    let workspace = open(&paths[..1]).unwrap();
    let part = trimmed(&workspace, &between(20_000, 40_000));
    let count = |workspace: &Workspace| rows(workspace, "kernels", &Question::default(), "count");
    let total = |text: String| text.lines().filter_map(|line| line.parse::<i64>().ok()).sum::<i64>();
    let (all, some) = (total(count(&workspace)), total(count(&part)));
    assert!(some > 0 && some < all, "{some} of {all}");
}

#[test]
fn a_step_that_was_cut_is_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_traces(&Job::demo(), folder.path()).unwrap();
    let workspace = open(&paths[..1]).unwrap();
    let names = |workspace: &Workspace| rows(workspace, "steps", &Question::default(), "name");
    let all = names(&workspace);
    // Steps take about 20 ms: the second and the fourth are cut, the third is whole.
    let part = trimmed(&workspace, &between(25_000, 65_000));
    assert_eq!(names(&part), all.lines().nth(2).unwrap());
    let within_one = trimmed(&workspace, &between(25_000, 35_000));
    assert_eq!(names(&within_one), "whole trace");
}
