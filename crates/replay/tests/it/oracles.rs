//! Real traces against values of an independent implementation.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stepscope_ingest::Options;
use stepscope_testkit::corpus;

use crate::compare::compare;
use crate::document::{document, job_document};
use crate::stores::{ManyRanks, OneTrace};

/// How many tests share the traces, so that they run side by side.
const PARTS: usize = 4;

/// Compares the traces of one part.
fn check(part: usize) {
    let corpus = corpus();
    let values = corpus.answers("critical");
    assert_eq!(values.len(), 32);
    let mut problems = Vec::new();
    for (values, traces) in values.into_iter().skip(part).step_by(PARTS) {
        let model = OneTrace::of_file(&traces[0], &Options::default()).model();
        assert!(model.is_identity_exact(), "{}", traces[0].display());
        problems.extend(problem(&values, &document(&model)));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// In what a document differs from a file of values.
fn problem(values: &Path, document: &Value) -> Option<String> {
    let want: Value = serde_json::from_str(&fs::read_to_string(values).unwrap()).unwrap();
    let mut differences = Vec::new();
    compare("", document, &want, &mut differences);
    let first = differences[..differences.len().min(12)].join("\n  ");
    (!differences.is_empty()).then(|| format!("{}: {} differ\n  {first}", values.display(), differences.len()))
}

#[test]
#[ignore = "needs the corpus"]
fn every_value_of_several_ranks_is_the_oracles() {
    let corpus = corpus();
    let values = corpus.answers("ranks");
    assert_eq!(values.len(), 2);
    let mut problems = Vec::new();
    for (values, traces) in values {
        assert_eq!(traces.len(), 8);
        let model = ManyRanks::of_files(&traces, &Options::default()).model();
        assert!(model.is_identity_exact(), "{}", values.display());
        problems.extend(problem(&values, &job_document(&model)));
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
