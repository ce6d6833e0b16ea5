//! Steps: their times, what they go to, percentiles and throughput.

use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, by, cells, in_step, notes, reason, table};
use crate::harness::{open, open_text, write};

/// Three steps of 100 µs; a kernel of 10, 20 and 30 µs in each.
fn three_steps() -> TraceBuilder {
    let mut trace = TraceBuilder::new();
    for step in 0..3_i64 {
        let start = 1000 + step * 100;
        trace = trace
            .annotation(&format!("ProfilerStep#{}", 5 + step), 1, &start.to_string(), "100")
            .op("f", 1, &(start + 10).to_string(), "40")
            .runtime("cudaLaunchKernel", 1, &(start + 20).to_string(), "5", 1 + step)
            .kernel("k", 0, 7, &(start + 30).to_string(), &((step + 1) * 10).to_string(), 1 + step);
    }
    trace
}

#[test]
fn each_step_adds_up() {
    let workspace = open_text(&three_steps().finish());
    let report = ask(&workspace, "steps", &Question::default());
    let rows = cells(table(&report, "rows"), "step name dur_ns kernel_ns runtime_ns cpu_exec_ns other_ns is_complete");
    assert_eq!(
        rows,
        "0 ProfilerStep#5 100000 10000 5000 25000 60000 true\n\
         1 ProfilerStep#6 100000 20000 5000 15000 60000 true\n\
         2 ProfilerStep#7 100000 30000 5000 15000 50000 true"
    );
    let percentiles = cells(table(&report, "percentiles"), "steps p50_ns p99_ns mean_ns min_ns max_ns");
    assert_eq!(percentiles, "3 100000 100000 100000 100000 100000");
}

#[test]
fn parts_are_asked_for() {
    let workspace = open_text(&three_steps().finish());
    let rows = |question: &Question| cells(table(&ask(&workspace, "steps", question), "rows"), "step kernel_ns");
    assert_eq!(rows(&in_step(6)), "1 20000");
    // A step belongs to a stretch of time if it starts there.
    assert_eq!(rows(&between(50, 200)), "1 20000");
    assert_eq!(rows(&between(400, 500)), "");
}

#[test]
fn throughput_follows_from_samples() {
    let workspace = open_text(&three_steps().finish());
    let question = Question { samples_per_step: Some(32.0), ..Question::default() };
    assert_eq!(samples_per_s(&ask(&workspace, "steps", &question)), Some(Cell::Float(320_000.0)));
    assert_eq!(samples_per_s(&ask(&workspace, "steps", &Question::default())), None);
}

fn samples_per_s(report: &Report) -> Option<Cell> {
    report.parts.iter().find_map(|part| match part {
        Part::Metric(metric) if metric.name == "samples_per_s" => Some(metric.value.clone()),
        _ => None,
    })
}

#[test]
fn throughput_follows_from_recorded_samples() {
    let recorded = |samples: &str| open_text(&three_steps().header("stepscope_samples_per_step", samples).finish());
    // 8 + 16 + 12 samples in 300 µs.
    let workspace = recorded(r#"{"5": 8, "6": 16, "7": 12, "8": 99}"#);
    let report = ask(&workspace, "steps", &Question::default());
    assert_eq!(samples_per_s(&report), Some(Cell::Float(120_000.0)));
    assert_eq!(cells(table(&report, "rows"), "step samples"), "0 8\n1 16\n2 12");
    assert!(report.missing.is_empty());
    let summary = ask(&workspace, "summary", &Question::default());
    assert_eq!(cells(table(&summary, "step_time"), "samples_per_s"), "120000");
    // Whoever says a number means it.
    let asked = Question { samples_per_step: Some(32.0), ..Question::default() };
    assert_eq!(samples_per_s(&ask(&workspace, "steps", &asked)), Some(Cell::Float(320_000.0)));
    // A part of the run.
    assert_eq!(samples_per_s(&ask(&workspace, "steps", &in_step(6))), Some(Cell::Float(160_000.0)));
}

#[test]
fn steps_without_samples_are_left_out_of_the_throughput_and_that_is_said() {
    let trace = three_steps().header("stepscope_samples_per_step", r#"{"5": 8, "7": 12}"#);
    let report = ask(&open_text(&trace.finish()), "steps", &Question::default());
    assert_eq!(samples_per_s(&report), Some(Cell::Float(100_000.0)));
    let rows = table(&report, "rows");
    assert_eq!(cells(rows, "step samples"), "0 8\n1 -\n2 12");
    assert!(
        notes(rows).contains(&"samples/s without 1 step whose samples are not known".to_owned()),
        "{:?}",
        notes(rows)
    );
    assert_eq!(reason(&report, "rows[].samples"), Some("samples not recorded"));
}

#[test]
fn samples_that_are_none_are_not_taken_over() {
    for broken in ["[8, 8, 8]", r#"{"5": -1}"#, r#"{"five": 8}"#, r#"{"5": 8, "6": "many"}"#] {
        let trace = three_steps().header("stepscope_samples_per_step", broken);
        let workspace = open_text(&trace.finish());
        assert_eq!(samples_per_s(&ask(&workspace, "steps", &Question::default())), None, "{broken}");
        let warnings = crate::harness::answer(&workspace, "SELECT code FROM ingest_warnings");
        assert_eq!(warnings, "header_broken", "{broken}");
    }
}

#[test]
fn a_step_that_had_not_ended_is_outside_of_means() {
    let trace = three_steps().header("stepscope_incomplete_step", "7");
    let workspace = open_text(&trace.finish());
    let report = ask(&workspace, "steps", &Question::default());
    let rows = table(&report, "rows");
    assert_eq!(cells(rows, "name is_complete"), "ProfilerStep#5 true\nProfilerStep#6 true\nProfilerStep#7 false");
    assert!(notes(rows).contains(&"1 incomplete step left out of percentiles".to_owned()), "{:?}", notes(rows));
    let broken = open_text(&three_steps().header("stepscope_incomplete_step", "\"seven\"").finish());
    assert_eq!(crate::harness::answer(&broken, "SELECT code FROM ingest_warnings"), "header_broken");
}

#[test]
fn ranks_are_compared_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |number: u32, dur: &str| {
        let trace = TraceBuilder::new()
            .header("distributedInfo", &format!("{{\"rank\": {number}}}"))
            .annotation("ProfilerStep#1", 1, "0", dur)
            .op("f", 1, "0", "10")
            .finish();
        write(folder.path(), &format!("rank{number}.json"), &trace)
    };
    let workspace = open(&[rank(0, "100"), rank(1, "140"), rank(2, "120")]).unwrap();
    let rows = |question: &Question, columns: &str| cells(table(&ask(&workspace, "steps", question), "rows"), columns);
    assert_eq!(
        rows(&Question::default(), "rank step steps dur_ns min_ns max_ns slowest_rank"),
        "- 0 3 120000 100000 140000 1"
    );
    assert_eq!(rows(&by(&["rank"]), "rank dur_ns"), "0 100000\n1 140000\n2 120000");
}

#[test]
fn samples_of_ranks_are_not_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |number: u32, dur: &str| {
        let trace = TraceBuilder::new()
            .header("distributedInfo", &format!("{{\"rank\": {number}}}"))
            .header("stepscope_samples_per_step", r#"{"1": 6}"#)
            .annotation("ProfilerStep#1", 1, "0", dur)
            .op("f", 1, "0", "10")
            .finish();
        write(folder.path(), &format!("rank{number}.json"), &trace)
    };
    let workspace = open(&[rank(0, "100"), rank(1, "140")]).unwrap();
    let report = ask(&workspace, "summary", &Question::default());
    let times = table(&report, "step_time");
    // 12 samples in 240 µs.
    assert_eq!(cells(times, "samples_per_s"), "50000");
    assert_eq!(notes(times), ["samples/s are those of one rank, on average"]);
}

#[test]
fn a_recording_without_steps_is_one() {
    let workspace = open_text(&TraceBuilder::new().op("f", 1, "0", "10").finish());
    let report = ask(&workspace, "steps", &Question::default());
    assert_eq!(cells(table(&report, "rows"), "name dur_ns cpu_exec_ns"), "whole trace 10000 10000");
    let empty = open_text(r#"{"traceEvents": []}"#);
    let report = ask(&empty, "steps", &Question::default());
    assert_eq!(report.missing[0].reason, "no complete step".into());
}
