//! Ingests a hand-made trace and compares the rows of its tables with rows written by hand.
//!
//! Answers of views and metrics are tested in `crates/workspace`; here no query stands between a test and what was
//! derived.

use std::collections::BTreeMap;
use std::fs;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use stepscope_ingest::{Options, ingest};
use stepscope_model::Table;
use stepscope_model::tables::{HEALTH, SPANS};
use stepscope_store::Store;
use stepscope_testkit::TraceBuilder;

use crate::invariants::{Silent, read_table};

/// What stands for a missing cell.
const MISSING: &str = "-";

/// The cells of a row as text, by column.
type Row = BTreeMap<String, String>;

/// The tables that a trace became.
pub(crate) struct Tables {
    store: Store,
    run: String,
    /// By their number.
    spans: Vec<Row>,
    _folder: tempfile::TempDir,
}

/// Rows of a table, in the order of its files.
pub(crate) struct Rows<'a> {
    spans: &'a [Row],
    list: Vec<Row>,
}

/// Ingests a trace into a store of its own.
pub(crate) fn tables(trace: &TraceBuilder) -> Tables {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, trace.finish()).unwrap();
    let store = Store::create(&folder.path().join("store")).unwrap();
    let outcome = ingest(&[path], &store, &Options::default(), &Silent).unwrap();
    let run = outcome.sources[0].record.run.clone();
    let spans = read(&store, &run, &SPANS);
    Tables { store, run, spans, _folder: folder }
}

impl Tables {
    /// All rows of a table.
    pub(crate) fn rows(&self, table: &'static Table) -> Rows<'_> {
        Rows { spans: &self.spans, list: read(&self.store, &self.run, table) }
    }

    /// A figure of trace health.
    #[track_caller]
    pub(crate) fn health(&self, figure: &str) -> String {
        let rows = self.rows(&HEALTH).only("name", figure);
        let cells = ["value", "ratio", "text", "reason"].map(|column| rows.list[0][column].clone());
        cells.into_iter().find(|cell| cell != MISSING).unwrap()
    }
}

impl Rows<'_> {
    /// Only rows with one of `values`, which a space divides, in a column.
    pub(crate) fn only(mut self, column: &str, values: &str) -> Self {
        self.list.retain(|row| values.split(' ').any(|value| row[column] == value));
        self
    }

    /// Sorted by columns, which a space divides; what is missing comes first.
    pub(crate) fn sorted_by(mut self, columns: &str) -> Self {
        let key = |row: &Row| -> Vec<(Option<i64>, String)> {
            columns.split(' ').map(|column| (row[column].parse().ok(), row[column].clone())).collect()
        };
        self.list.sort_by_cached_key(key);
        self
    }

    /// Compares the cells of `columns` with `want`: cells are divided by a space, missing ones are `-`, rows are divided
    /// by newlines. A column `parent_id.name` is the name of the span that `parent_id` refers to.
    #[track_caller]
    pub(crate) fn check(&self, columns: &str, want: &str) {
        let line = |row: &Row| columns.split(' ').map(|column| self.cell(row, column)).collect::<Vec<_>>().join(" ");
        let got: Vec<String> = self.list.iter().map(line).collect();
        let want: Vec<&str> = want.trim().lines().map(str::trim).collect();
        assert_eq!(got, want, "{columns}");
    }

    fn cell<'r>(&'r self, row: &'r Row, column: &str) -> &'r str {
        let Some((id, column)) = column.split_once('.') else { return &row[column] };
        row[id].parse().map_or(MISSING, |id: usize| self.spans[id][column].as_str())
    }
}

fn read(store: &Store, run: &str, table: &'static Table) -> Vec<Row> {
    let Some(batch) = read_table(store, run, table) else { return Vec::new() };
    let mut rows = vec![Row::new(); batch.num_rows()];
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let options = FormatOptions::new().with_null(MISSING);
        let cells = ArrayFormatter::try_new(column, &options).unwrap();
        for (place, row) in rows.iter_mut().enumerate() {
            row.insert(field.name().clone(), cells.value(place).to_string());
        }
    }
    rows
}
