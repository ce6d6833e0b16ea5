//! The analyses: hand-made traces whose answers were worked out by hand, and real ones beside their metrics.

mod claims;
mod comms;
mod critical;
mod findings;
mod functions;
mod host_comms;
mod kernels;
mod launches;
mod memory;
mod modules;
mod ops;
mod ranks;
mod regions;
mod savings;
mod steps;
mod summary;
mod transfers;
mod trim;

use serde_json::{Map, Value as Json};
use stepscope_model::tables::TABLES;
use stepscope_model::{Cell, Part, Piece, Report, ReportTable, RowCount, Sentence, StepRange, Text};
use stepscope_testkit::{TraceBuilder, corpus};
use stepscope_workspace::{ANALYSES, Question, Workspace};

use crate::figure;
use crate::harness::{cell, lines, open, open_text};

/// Asks an analysis.
pub(crate) fn ask(workspace: &Workspace, analysis: &str, question: &Question) -> Report {
    let analysis = ANALYSES.iter().find(|known| known.name == analysis).unwrap();
    written(workspace.analyze(analysis, question).unwrap())
}

/// A sentence as text; a target is told by its name.
pub(crate) fn said(sentence: &Sentence) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Words(words) => words.clone(),
        Piece::Figure(figure) => figure::written(figure),
        Piece::Target(target) => format!("→ {}", target.ask),
        Piece::Separator(()) => " · ".to_owned(),
    };
    sentence.0.iter().map(piece).collect()
}

/// A report whose sentences are text.
fn written(mut report: Report) -> Report {
    let write = |sentence: &mut Sentence| *sentence = said(sentence).into();
    for part in &mut report.parts {
        match part {
            Part::Text(text) => text.lines.iter_mut().for_each(write),
            Part::Metric(metric) => metric.reason.iter_mut().for_each(write),
            Part::Table(table) => {
                table.notes.iter_mut().for_each(write);
                for cell in table.rows.iter_mut().chain(&mut table.total).flatten() {
                    match cell {
                        Cell::Sentence(sentence) => *cell = Cell::Text(said(sentence)),
                        Cell::Sentences(all) => *cell = Cell::Json(all.iter().map(said).collect::<Vec<_>>().into()),
                        _ => {}
                    }
                }
            }
            Part::Series(_) => {}
        }
    }
    report.missing.iter_mut().for_each(|missing| write(&mut missing.reason));
    report
}

/// The texts of a report, each with all of its lines.
pub(crate) fn texts(report: &Report) -> Vec<String> {
    let text = |text: &Text| {
        let grade = text.explains.map(|grade| format!("{}: ", grade.as_text())).unwrap_or_default();
        grade + &text.lines.iter().map(said).collect::<Vec<_>>().join("\n")
    };
    report.texts().map(text).collect()
}

/// The notes below a table.
pub(crate) fn notes(table: &ReportTable) -> Vec<String> {
    table.notes.iter().map(said).collect()
}

/// A question about everything, with rows grouped so.
pub(crate) fn by(groupings: &[&str]) -> Question {
    Question { group_by: groupings.iter().map(|&grouping| grouping.to_owned()).collect(), ..Question::default() }
}

/// A question about one step.
pub(crate) fn in_step(step: u32) -> Question {
    Question { steps: Some(StepRange { first: step, last: step }), ..Question::default() }
}

/// A question about a stretch of time, in microseconds from the first event.
pub(crate) fn between(from_us: i64, to_us: i64) -> Question {
    Question { from_ns: Some(from_us * 1000), to_ns: Some(to_us * 1000), ..Question::default() }
}

/// A table of a report.
pub(crate) fn table<'a>(report: &'a Report, name: &str) -> &'a ReportTable {
    let tables = report.parts.iter().filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None });
    tables.into_iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

/// Some columns of a table: cells divided by a space, missing ones as `-`, rows by newlines.
pub(crate) fn cells(table: &ReportTable, columns: &str) -> String {
    let places: Vec<usize> = columns
        .split_whitespace()
        .map(|name| table.columns.iter().position(|column| column.name == name).unwrap_or_else(|| panic!("{name}")))
        .collect();
    let line = |row: &Vec<Cell>| places.iter().map(|&place| cell(&row[place])).collect::<Vec<_>>().join(" ");
    table.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Checks some columns of the main table.
#[track_caller]
pub(crate) fn check(trace: &TraceBuilder, analysis: &str, question: &Question, columns: &str, want: &str) {
    let report = ask(&open_text(&trace.finish()), analysis, question);
    assert_eq!(cells(table(&report, "rows"), columns), lines(want), "{columns}");
}

/// The first sentence of a report.
pub(crate) fn sentence(report: &Report) -> String {
    texts(report).into_iter().next().unwrap_or_default()
}

/// Why a value is missing.
pub(crate) fn reason<'a>(report: &'a Report, path: &str) -> Option<&'a str> {
    let missing = report.missing.iter().find(|missing| missing.path == path)?;
    if let [Piece::Words(words)] = &missing.reason.0[..] { Some(words) } else { None }
}

/// The member `metrics` of a report.
pub(crate) fn metrics(report: &Report) -> &Json {
    let found = report.data.iter().find(|(name, _)| *name == "metrics").map(|(_, value)| value);
    if let Some(Cell::Json(metrics)) = found { metrics } else { panic!("no metrics") }
}

/// The rows of a table as JSON objects.
pub(crate) fn objects(table: &ReportTable) -> Vec<Json> {
    let value = |cell: &Cell| match cell {
        Cell::Bool(value) => Json::from(*value),
        Cell::Int(value) => Json::from(*value),
        Cell::Float(value) => Json::from(*value),
        Cell::Text(value) => Json::from(value.as_str()),
        _ => Json::Null,
    };
    let object = |row: &Vec<Cell>| {
        let names = table.columns.iter().map(|column| column.name.clone());
        Json::Object(names.zip(row.iter().map(value)).collect::<Map<_, _>>())
    };
    table.rows.iter().map(object).collect()
}

/// Opens real traces, and gives each with its metrics.
pub(crate) fn each_real(traces: &[&str], mut look: impl FnMut(&str, &Workspace, &Json)) {
    let corpus = corpus();
    for trace in traces {
        let workspace = open(&[corpus.trace(trace)]).unwrap();
        let metrics = workspace.metrics(Some(0), Some(0)).or_else(|_| workspace.metrics(None, None)).unwrap();
        look(trace, &workspace, &metrics);
    }
}

/// Checks that figures of two objects are the same, numbers to one part in a billion.
#[track_caller]
pub(crate) fn same(got: &Json, want: &Json, figures: &[&str], context: &str) {
    for figure in figures {
        let (got, want) = (&got[figure], &want[figure]);
        let is_close = match (got.as_f64(), want.as_f64()) {
            (Some(got), Some(want)) => (got - want).abs() <= 1e-9 * want.abs(),
            _ => got == want,
        };
        assert!(is_close, "{context}: {figure} is {got}, metrics say {want}");
    }
}

/// The sum of a figure.
pub(crate) fn sum(rows: &[Json], figure: &str) -> i64 {
    rows.iter().filter_map(|row| row[figure].as_i64()).sum()
}

/// The object of that name.
#[track_caller]
pub(crate) fn named<'a>(rows: &'a [Json], name: &Json) -> &'a Json {
    rows.iter().find(|row| row["name"] == *name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn pages_are_apart_and_name_what_is_there() {
    let pages = stepscope_workspace::pages();
    assert!(pages.len() > 5, "{} pages", pages.len());
    for (place, entry) in pages.iter().enumerate() {
        let before = &pages[..place];
        assert!(before.iter().all(|other| other.page.address != entry.page.address), "{}", entry.page.address);
        assert!(
            entry.page.key.is_none() || before.iter().all(|other| other.page.key != entry.page.key),
            "{}",
            entry.label
        );
        let analysis = ANALYSES.iter().find(|analysis| analysis.name == entry.analysis).unwrap();
        let table = entry.page.table;
        assert!(table.is_none_or(|name| TABLES.iter().any(|table| table.name == name)), "{table:?}");
        assert!(table.is_some() || entry.page.count != RowCount::OfTable, "{}", entry.label);
        // These two are made by the page.
        let groups =
            entry.page.groups.iter().map(|(name, _)| *name).filter(|name| !["flat", "collective"].contains(name));
        for group in groups.chain(entry.page.expand_by) {
            assert!(analysis.groupings.contains(&group), "{} cannot be grouped by {group}", analysis.name);
        }
        assert!(!entry.page.empty.why.is_empty() && !entry.page.statement.is_empty(), "{}", entry.label);
    }
}
