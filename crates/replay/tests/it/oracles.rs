//! Real traces against values of an independent implementation.

use std::fs;

use serde_json::Value;
use stepscope_ingest::Options;
use stepscope_testkit::corpus;

use crate::compare::compare;
use crate::document::document;
use crate::stores::OneTrace;

/// How many tests share the traces, so that they run side by side.
const PARTS: usize = 4;

/// Compares the traces of one part.
fn check(part: usize) {
    let corpus = corpus();
    let pairs = corpus.critical_paths();
    assert_eq!(pairs.len(), 32);
    let mut problems = Vec::new();
    for (values, trace) in pairs.into_iter().skip(part).step_by(PARTS) {
        let want: Value = serde_json::from_str(&fs::read_to_string(&values).unwrap()).unwrap();
        let model = OneTrace::of_file(&trace, &Options::default()).model();
        assert!(model.is_identity_exact(), "{}", trace.display());
        let mut differences = Vec::new();
        compare("", &document(&model), &want, &mut differences);
        if !differences.is_empty() {
            let first = differences[..differences.len().min(12)].join("\n  ");
            problems.push(format!("{}: {} differ\n  {first}", values.display(), differences.len()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "needs the corpus"]
fn every_value_of_the_first_part_is_the_oracles() {
    check(0);
}

#[test]
#[ignore = "needs the corpus"]
fn every_value_of_the_second_part_is_the_oracles() {
    check(1);
}

#[test]
#[ignore = "needs the corpus"]
fn every_value_of_the_third_part_is_the_oracles() {
    check(2);
}

#[test]
#[ignore = "needs the corpus"]
fn every_value_of_the_fourth_part_is_the_oracles() {
    check(3);
}
