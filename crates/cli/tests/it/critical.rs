//! `critical` and `whatif` as commands; real traces against values of an independent implementation.

use std::fs;

use serde_json::Value;
use stepscope_testkit::corpus;

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
