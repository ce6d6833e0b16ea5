//! Real traces against values of an independent implementation.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_ingest::Options;
use stepscope_testkit::corpus;

use crate::document::{compare, document};
use crate::stores::OneTrace;

/// Traces with values: the file of the values, and the trace. Of archives the members are unpacked to `folder`.
fn pairs(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let root = PathBuf::from(env::var_os("STEPSCOPE_CORPUS").expect("STEPSCOPE_CORPUS is set"));
    let corpus = corpus();
    let answers = root.join("oracles/answers");
    let unpacked = corpus.unpack_dlrm(folder);
    let trace = |name: &str| match name.split_once("::") {
        None => corpus.trace(name),
        Some((_, member)) => {
            let name = Path::new(member).file_name().unwrap();
            unpacked.iter().find(|path| path.file_name() == Some(name)).expect("the member is in the archive").clone()
        }
    };
    let index = fs::read_to_string(answers.join("INDEX.tsv")).unwrap();
    let rows = index.lines().filter_map(|line| line.strip_prefix("critical\t")?.split_once('\t'));
    rows.map(|(values, name)| (answers.join(values), trace(name))).collect()
}

/// How many tests share the traces, so that they run side by side.
const PARTS: usize = 4;

/// Compares the traces of one part.
fn check(part: usize) {
    let folder = tempfile::tempdir().unwrap();
    let pairs = pairs(folder.path());
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
