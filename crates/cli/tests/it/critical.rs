//! `critical` and `whatif` as commands; real traces against values of an independent implementation.

use std::fs;

use serde_json::Value;
use stepscope_testkit::{TraceBuilder, corpus};

use crate::command::Place;
use crate::compare::compare;

/// How many tests share the traces, so that they run side by side.
const PARTS: usize = 4;

/// Compares the traces of one part.
fn check(part: usize) {
    let corpus = corpus();
    let place = Place::new();
    let mut problems = Vec::new();
    for (values, traces) in corpus.answers("critical").into_iter().skip(part).step_by(PARTS) {
        let want: Value = serde_json::from_str(&fs::read_to_string(&values).unwrap()).unwrap();
        let got = place.json(&["critical", traces[0].to_str().unwrap(), "--no-cache", "--quiet"]);
        let mut differences = Vec::new();
        for (name, want) in want.as_object().unwrap() {
            compare(name, &got[name], want, &mut differences);
        }
        if !differences.is_empty() {
            let first = differences[..differences.len().min(12)].join("\n  ");
            problems.push(format!("{}: {} differ\n  {first}", values.display(), differences.len()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "needs the corpus"]
fn the_first_part_has_the_values_of_the_oracle() {
    check(0);
}

#[test]
#[ignore = "needs the corpus"]
fn the_second_part_has_the_values_of_the_oracle() {
    check(1);
}

#[test]
#[ignore = "needs the corpus"]
fn the_third_part_has_the_values_of_the_oracle() {
    check(2);
}

#[test]
#[ignore = "needs the corpus"]
fn the_fourth_part_has_the_values_of_the_oracle() {
    check(3);
}

#[test]
fn a_window_has_32_steps_unless_more_are_asked_for() {
    let step = |trace: TraceBuilder, number: i64| {
        let start = number * 100;
        let at = |offset: i64| (start + offset).to_string();
        let trace = trace.annotation(&format!("ProfilerStep#{number}"), 1, &at(0), "90");
        let trace = trace.op("aten::mm", 1, &at(10), "30").runtime("cudaLaunchKernel", 1, &at(15), "5", number);
        trace.kernel("gemm", 0, 7, &at(25), "40", number)
    };
    let place = Place::new();
    fs::write(place.path("steps.json"), (1..=40).fold(TraceBuilder::new(), step).finish()).unwrap();
    for (asked, steps) in [(&[][..], 32), (&["--step", "1-40"], 40), (&["--step", "2-36"], 35)] {
        let document = place.json(&[&["critical", "steps.json"], asked].concat());
        assert_eq!(document["path"].as_array().unwrap().len(), steps, "{asked:?}");
    }
}

/// The same job with the loading of its batches fixed: what was predicted, and what came.
#[test]
#[ignore = "needs the corpus"]
fn a_fix_is_predicted_as_it_turned_out() {
    let corpus = corpus();
    let place = Place::new();
    let before = corpus.trace("kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz");
    let after = corpus.trace("kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz");
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());

    let findings = place.json(&["diagnose", before, "--quiet"]);
    let first = &findings["rows"][0];
    assert_eq!((first["rule"].as_str(), first["bound"].as_str()), (Some("data_loading"), Some("at most")), "{first}");
    let whatif = place.json(&["whatif", before, "--input-ready", "--quiet"]);
    let change = &whatif["rows"][0];
    assert_eq!(first["saving_ns"], change["saving_ns"]);
    let predicted_ns = change["then_ns"].as_f64().unwrap();
    assert_eq!(format!("{:.1}", predicted_ns / 1e6), "118.7");

    let steps = place.json(&["steps", after, "--quiet"]);
    let mut steps_ns: Vec<f64> =
        steps["rows"].as_array().unwrap().iter().filter_map(|step| step["dur_ns"].as_f64()).collect();
    steps_ns.sort_by(f64::total_cmp);
    let median_ns = f64::midpoint(steps_ns[2], steps_ns[3]);
    let off = format!("{:.0} %", (predicted_ns / median_ns - 1.0) * 100.0);
    assert_eq!((steps_ns.len(), off.as_str()), (6, "-6 %"), "{steps_ns:?}");
}

#[test]
fn whatif_reads_its_changes() {
    let place = Place::new();
    let document = place.json(&["whatif", "trace.json", "--no-sync", "--scale", "kernel:*=1/2", "--scale", "op:*=0"]);
    let changes: Vec<&str> =
        document["rows"].as_array().unwrap().iter().map(|row| row["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["scale kernel:*=1/2", "scale op:*=0/1000", "no-sync", "together"]);
    // The kernel runs from 40 to 70 while the step goes on to 100.
    assert_eq!(document["rows"][0]["saving_ns"], 0.0);
    assert!(document["whatif"]["together"]["anchored_ns"].is_array());
    let listed = place.stdout(&["whatif", "--list"]);
    assert!(listed.contains("--communication-overlapped") && listed.contains("at most"), "{listed}");
}

#[test]
fn whatif_without_a_change_names_the_next_step() {
    let place = Place::new();
    let ended = place.run(&["whatif", "trace.json"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("no change given") && ended.stderr.contains("--list"), "{}", ended.stderr);
    let ended = place.run(&["whatif", "trace.json", "--scale", "gemm"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("--scale: expected KIND:PATTERN=P/Q"), "{}", ended.stderr);
}
