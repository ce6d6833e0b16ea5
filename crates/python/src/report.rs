//! An answer in the forms that Python shows and hands on.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;
use stepscope_model::Report;
use stepscope_report::html::notebook;
use stepscope_report::shape::{self, Shape};
use stepscope_report::{ColorMode, Document, TextOptions, Ways, batch, json, text};
use stepscope_workspace::shorten_diff;

use crate::errors;
use crate::table::NativeTable;

/// What Python can do about what is not shown.
const WAYS: Ways = Ways {
    rows: "pick(limit=0) shows all",
    columns: "pick([…]) chooses, to_dict() has all",
    columns_beside: "to_dict() has all",
};

/// Rows of each table of a comparison that people see.
const SHOWN_DIFFERENCES: usize = 12;

/// An answer.
#[pyclass(frozen)]
pub(crate) struct NativeReport {
    report: Report,
    /// Rows that people see; all when missing.
    shown_rows: Option<usize>,
    run: Value,
    health: Value,
}

impl NativeReport {
    pub(crate) fn new(report: Report, shown_rows: Option<usize>, run: Value, health: Value) -> Self {
        Self { report, shown_rows, run, health }
    }

    /// What a screen has room for.
    fn for_people(&self) -> Report {
        let mut report = self.report.clone();
        // A limit alone names no column, so it fits every table.
        let _ = shape::apply(&mut report, &Shape { limit: self.shown_rows, is_usual_limit: true, ..Shape::default() });
        if report.name == "diff" {
            shorten_diff(&mut report, SHOWN_DIFFERENCES, false);
        }
        report
    }
}

#[pymethods]
impl NativeReport {
    #[getter]
    fn name(&self) -> &str {
        &self.report.name
    }

    /// The same with other columns, another order or fewer rows. A limit is also what people see; 0 is all.
    #[pyo3(signature = (columns, sort, limit))]
    fn shaped(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        sort: Option<String>,
        limit: Option<usize>,
    ) -> PyResult<Self> {
        let mut report = self.report.clone();
        let shown_rows = if limit.is_none() { self.shown_rows } else { None };
        let limit = limit.filter(|limit| *limit > 0);
        let shape = Shape { columns, sort, limit, ..Shape::default() };
        shape::apply(&mut report, &shape).map_err(|error| errors::of_shape(py, &error))?;
        Ok(Self::new(report, shown_rows, self.run.clone(), self.health.clone()))
    }

    /// As a terminal shows it.
    fn text(&self, width: usize, has_color: bool) -> String {
        let color = ColorMode::from(has_color);
        text::render(&self.for_people(), TextOptions { width, color, ways: WAYS, ..TextOptions::default() })
    }

    /// As a notebook shows it.
    fn html(&self) -> String {
        notebook::report(&self.for_people())
    }

    /// The document that `-f json` writes.
    fn json(&self) -> String {
        let before = if self.run.is_null() {
            Vec::new()
        } else {
            let run = if self.run.is_array() { "runs" } else { "run" };
            vec![(run, self.run.clone()), ("health", self.health.clone())]
        };
        let version = env!("CARGO_PKG_VERSION");
        json::render(&Document { report: Some(&self.report), version, before, ..Document::default() })
    }

    /// The main table as columns.
    fn table(&self) -> PyResult<NativeTable> {
        let batch = batch(&self.report).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(NativeTable::new(batch.schema(), vec![batch]))
    }
}
