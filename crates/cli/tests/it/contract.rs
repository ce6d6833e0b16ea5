//! What programs rely on, whatever the run: each null has a reason, and every format has the same rows and types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use stepscope_model::Report;
use stepscope_report::{Document, batch, csv, json};
use stepscope_simulate::{Job, write_traces};
use stepscope_workspace::{ANALYSES, Analysis, Question, Workspace};

use crate::screens::open;

/// Runs of different kinds: two ranks, one of them alone, a processor alone, and nothing at all.
fn runs(folder: &Path) -> Vec<(&'static str, Vec<PathBuf>)> {
    let ranks = write_traces(&Job::demo(), &folder.join("demo-run")).unwrap();
    let processor = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch_cpu/trace.json.gz");
    let empty = folder.join("empty.json");
    std::fs::write(&empty, r#"{"traceEvents": []}"#).unwrap();
    let one = ranks[..1].to_vec();
    vec![("two ranks", ranks), ("one rank", one), ("processor", vec![processor]), ("nothing", vec![empty])]
}

/// Every analysis of every run, as it is and grouped by everything it can be grouped by.
fn each_answer(mut check: impl FnMut(&str, &'static Analysis, &Report)) {
    let folder = tempfile::tempdir().unwrap();
    for (name, paths) in runs(folder.path()) {
        let workspace = open(&paths);
        for analysis in ANALYSES {
            let groupings = analysis.groupings.iter().map(|grouping| vec![(*grouping).to_owned()]);
            for group_by in std::iter::once(Vec::new()).chain(groupings) {
                let what = format!("{} of {name} by {group_by:?}", analysis.name);
                check(&what, analysis, &answer(&workspace, analysis, group_by));
            }
        }
    }
}

fn answer(workspace: &Workspace, analysis: &Analysis, group_by: Vec<String>) -> Report {
    workspace.analyze(analysis, &Question { group_by, ..Question::default() }).unwrap()
}

fn document(report: &Report) -> Json {
    let text = json::render(&Document { report: Some(report), version: "0", ..Document::default() });
    serde_json::from_str(&text).unwrap()
}

/// Paths of every null, with `[]` for the place in a list; `rows[].rank` is one path, however many rows there are.
fn nulls(value: &Json, path: &str, found: &mut BTreeMap<String, usize>) {
    match value {
        Json::Null => *found.entry(path.to_owned()).or_default() += 1,
        Json::Array(list) => list.iter().for_each(|item| nulls(item, &format!("{path}[]"), found)),
        Json::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                nulls(member, &path, found);
            }
        }
        _ => {}
    }
}

/// Nulls of a document that neither their own path nor one that they are part of has a reason for.
fn without_reason(document: &Json) -> Vec<String> {
    let is_place = |character: char| character.is_ascii_digit();
    let general = |path: &str| {
        let parts = path.split('[').map(|part| part.trim_start_matches(is_place));
        parts.collect::<Vec<_>>().join("[")
    };
    let reasons: Vec<String> =
        document["nulls"].as_object().into_iter().flat_map(|nulls| nulls.keys().map(|path| general(path))).collect();
    let mut found = BTreeMap::new();
    nulls(document, "", &mut found);
    let has_reason = |path: &String| {
        let is_part = |reason: &String| {
            path.strip_prefix(reason).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        reasons.iter().any(is_part)
    };
    found.into_keys().filter(|path| !has_reason(path)).collect()
}

#[test]
fn each_null_has_a_reason() {
    let mut wrong = Vec::new();
    let mut answers = 0;
    each_answer(|what, _, report| {
        answers += 1;
        wrong.extend(without_reason(&document(report)).into_iter().map(|path| format!("{what}: {path}")));
    });
    assert!(answers > 100, "{answers}");
    assert!(wrong.is_empty(), "null without a reason:\n{}", wrong.join("\n"));
}

#[test]
fn the_check_of_nulls_finds_one() {
    let document = serde_json::json!({
        "a": null, "rows": [{"b": null, "c": 1}, {"b": null, "c": null}], "d": {"e": [null]},
        "nulls": {"rows[].b": "why", "rows[1].c": "why"},
    });
    assert_eq!(without_reason(&document), ["a", "d.e[]"]);
}

#[test]
fn every_format_has_the_same_rows() {
    each_answer(|what, analysis, report| {
        if !analysis.has_rows {
            return;
        }
        let document = document(report);
        let rows = document["rows"].as_array().unwrap();
        let written = csv::render(report);
        let mut lines = records(&written).into_iter();
        let names = lines.next().unwrap();
        let lines: Vec<Vec<String>> = lines.collect();
        assert_eq!(lines.len(), rows.len(), "{what}: rows as CSV and as JSON");
        for (line, row) in lines.iter().zip(rows) {
            let row = row.as_object().unwrap();
            assert_eq!(row.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>(), "{what}");
            for (field, value) in line.iter().zip(row.values()) {
                match value {
                    // Digits of a number inside are those of the parser, so both are parsed.
                    Json::Array(_) | Json::Object(_) => {
                        assert_eq!(serde_json::from_str::<Json>(field).unwrap(), *value, "{what}");
                    }
                    Json::Number(number) if number.is_f64() => {
                        let (written, parsed) = (field.parse::<f64>().unwrap(), number.as_f64().unwrap());
                        assert!((written - parsed).abs() <= f64::EPSILON * parsed.abs(), "{what}: {field} and {value}");
                    }
                    value => assert_eq!(*field, as_field(value), "{what}"),
                }
            }
        }
        let batch = batch(report).unwrap();
        let columns: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!((batch.num_rows(), columns), (rows.len(), names.iter().map(String::as_str).collect()), "{what}");
    });
}

/// The fields of each line: texts in quotes hold commas and line ends.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let mut is_quoted = false;
    for character in text.chars() {
        let record = records.last_mut().unwrap();
        match character {
            '"' => {
                // A quote in quotes is written twice.
                if !is_quoted && text.len() > 1 && record.last().is_some_and(|field| field.ends_with('\u{1}')) {
                    record.last_mut().unwrap().pop();
                    record.last_mut().unwrap().push('"');
                } else if is_quoted {
                    record.last_mut().unwrap().push('\u{1}');
                }
                is_quoted = !is_quoted;
            }
            ',' if !is_quoted => record.push(String::new()),
            '\n' if !is_quoted => records.push(vec![String::new()]),
            other => record.last_mut().unwrap().push(other),
        }
    }
    records.pop();
    let plain = |record: Vec<String>| record.into_iter().map(|field| field.replace('\u{1}', "")).collect();
    records.into_iter().map(plain).collect()
}

fn as_field(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn types_do_not_depend_on_the_run() {
    let mut types: BTreeMap<(&str, String), (String, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    each_answer(|what, analysis, report| {
        if !analysis.has_rows {
            return;
        }
        for field in batch(report).unwrap().schema_ref().fields() {
            let kind = field.data_type().to_string();
            let key = (analysis.name, field.name().clone());
            let (known, first) = types.entry(key).or_insert_with(|| (kind.clone(), what.to_owned()));
            if *known != kind {
                wrong.push(format!("{}: {known} in {first}, {kind} in {what}", field.name()));
            }
        }
    });
    assert!(types.len() > 100, "{}", types.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
