//! Real pairs of runs against values of an independent implementation, whose classes add up to the difference.

use std::fs;

use serde_json::Value;
use stepscope_testkit::corpus;
use stepscope_workspace::{Question, Workspace};

use crate::compare::compare;
use crate::harness::open;

fn document(a: &Workspace, b: &Workspace) -> Value {
    a.diff_document(b, &Question::default()).unwrap().unwrap()
}

#[test]
#[ignore = "needs the corpus"]
fn every_difference_is_the_oracles() {
    let corpus = corpus();
    let pairs = corpus.answers("diff");
    assert_eq!(pairs.len(), 6);
    for (values, traces) in pairs {
        let expected: Value = serde_json::from_str(&fs::read_to_string(&values).unwrap()).unwrap();
        let [a, b] = [0, 1].map(|place: usize| open(&[traces[place].clone()]).unwrap());
        let found = document(&a, &b);
        let mut differences = Vec::new();
        compare("", &found, &expected, &mut differences);
        assert!(
            differences.is_empty(),
            "{}:\n{}",
            values.display(),
            differences[..differences.len().min(12)].join("\n")
        );
        let classes = found["classes"].as_object().unwrap().values();
        let sum: i64 = classes.map(|class| class["numerator"].as_i64().unwrap()).sum();
        assert_eq!(Some(sum), found["difference_numerator"].as_i64(), "{}", values.display());
    }
}
