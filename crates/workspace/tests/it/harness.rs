//! Ingests a hand-made trace and compares the answer of a query with rows written by hand.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{CancelFlag, Progress, RunError, Settings, Workspace};

/// Says nothing and never stops.
pub(crate) struct Silent;

impl Progress for Silent {
    fn update(&self, _file: &str, _bytes_done: u64, _bytes_total: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _message: &str) {}
}

/// A host span on thread 1 of process 1.
pub(crate) fn op(trace: TraceBuilder, name: &str, ts: &str, dur: &str) -> TraceBuilder {
    trace.complete("cpu_op", name, 1, 1, ts, dur)
}

/// Opens traces with a store of their own.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Workspace, RunError> {
    let settings = Settings { no_cache: true, ..Settings::default() };
    Workspace::open(paths, &settings, &Silent)
}

/// Opens one trace given as text.
pub(crate) fn open_text(trace: &str) -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "trace.json", trace);
    open(&[path]).unwrap()
}

/// Writes a file.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Checks the rows of a query: cells divided by a space, missing ones as `-`, rows by newlines.
#[track_caller]
pub(crate) fn check(trace: &str, sql: &str, want: &str) {
    assert_eq!(answer(&open_text(trace), sql), lines(want), "{sql}");
}

/// The rows of a query as text.
pub(crate) fn answer(workspace: &Workspace, sql: &str) -> String {
    rows(&workspace.sql(sql, None, &CancelFlag::default()).unwrap())
}

/// The rows of a report as text.
pub(crate) fn rows(report: &Report) -> String {
    let Some(Part::Table(table)) = report.parts.first() else { return String::new() };
    let line = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
    table.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A cell as text.
pub(crate) fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Null => "-".to_owned(),
        Cell::Bool(value) => value.to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Text(value) => value.clone(),
        Cell::Numbers(numbers) => format!("{numbers:?}"),
        Cell::Sentence(sentence) => crate::analyses::said(sentence),
        Cell::Sentences(sentences) => sentences.iter().map(crate::analyses::said).collect::<Vec<_>>().join("\n"),
        Cell::Json(value) => value.to_string(),
    }
}

/// Hand-written rows without the indentation of the source.
pub(crate) fn lines(text: &str) -> String {
    text.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
