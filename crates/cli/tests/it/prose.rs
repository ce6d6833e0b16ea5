//! Nobody reads prose: with other words in every sentence of every analysis, a page has the same elements and a document
//! the same members and numbers.

use serde_json::Value;
use stepscope_model::{Piece, Report};
use stepscope_report::html::{Page, Section, notebook, page};
use stepscope_report::{Document, json};
use stepscope_simulate::{Job, write_traces};
use stepscope_workspace::{ANALYSES, Question};

use crate::screens::open;

fn answers() -> Vec<Report> {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_traces(&Job::demo(), folder.path()).unwrap();
    let workspace = open(&paths);
    ANALYSES.iter().map(|analysis| workspace.analyze(analysis, &Question::default()).unwrap()).collect()
}

fn reworded(mut report: Report) -> Report {
    for piece in report.sentences().into_iter().flat_map(|sentence| &mut sentence.0) {
        if let Piece::Words(words) = piece {
            *words = words.chars().map(|letter| if letter.is_alphanumeric() { 'Z' } else { '_' }).collect();
        }
    }
    report
}

fn whole_page(answers: &[Report]) -> String {
    let of = |name: &str| answers.iter().find(|report| report.name == name).unwrap();
    let section = |report: &Report| Section { id: "x", title: "x", about: "", report: report.clone() };
    let sections: Vec<Section> = answers.iter().map(section).collect();
    page::render(&Page {
        run: "run",
        version: "0",
        summary: of("summary"),
        steps: of("steps"),
        ranks: None,
        findings: of("diagnose"),
        pictures: &[],
        sections: &sections,
    })
}

/// The elements of a page without what stands between them, and without what the pointer shows.
fn elements(markup: &str) -> Vec<&str> {
    let all = markup.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    all.map(|(element, _)| element.split(" title=").next().unwrap_or(element)).collect()
}

/// A document without its texts.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::Null,
        Value::Array(values) => values.iter().map(shape).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), shape(member))).collect(),
        other => other.clone(),
    }
}

#[test]
fn words_change_nothing_but_themselves() {
    let told = answers();
    let other: Vec<Report> = told.iter().cloned().map(reworded).collect();
    let [told_page, other_page] = [&told, &other].map(|answers| whole_page(answers));
    assert_ne!(told_page, other_page);
    assert_eq!(elements(&told_page), elements(&other_page));
    for (told, other) in told.iter().zip(&other) {
        let [a, b] = [told, other].map(notebook::report);
        assert_eq!(elements(&a), elements(&b), "{}", told.name);
        let document = |report| {
            let text = json::render(&Document { report: Some(report), version: "0", ..Document::default() });
            shape(&serde_json::from_str(&text).unwrap())
        };
        assert_eq!(document(told), document(other), "{}", told.name);
    }
}
