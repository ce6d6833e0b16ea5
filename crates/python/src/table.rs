//! Columns for other libraries: handed over by Arrow's `PyCapsule` interface, not copied.

use arrow::array::{RecordBatch, RecordBatchIterator};
use arrow::datatypes::SchemaRef;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use stepscope_model::Report;
use stepscope_report::html::notebook;
use stepscope_report::{Document, TextOptions, Ways, json, text};
use stepscope_workspace::{QueryResult, Workspace};

use crate::errors;

/// What Python can do about what is not shown.
const WAYS: Ways = Ways {
    rows: "to_pylist() and to_pandas() have all",
    columns: "to_pylist() and to_pandas() have all",
    columns_beside: "to_pylist() and to_pandas() have all",
};

/// Rows and columns.
#[pyclass(frozen)]
pub(crate) struct NativeTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl NativeTable {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// The first rows.
    fn head(&self, py: Python<'_>, rows: usize) -> PyResult<Report> {
        let mut left = rows;
        let batches = self.batches.iter().map(|batch| {
            let kept = batch.num_rows().min(left);
            left -= kept;
            batch.slice(0, kept)
        });
        let batches: Vec<RecordBatch> = batches.filter(|batch| batch.num_rows() > 0).collect();
        let all: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        let rows_left_out = Some(all.saturating_sub(rows) as u64);
        let result = QueryResult { schema: self.schema.clone(), batches, rows_left_out, truncated: all > rows };
        Workspace::rows_report(&result).map_err(|error| errors::of(py, &error))
    }
}

#[pymethods]
impl NativeTable {
    /// The name that the interface demands; the schema that a caller may ask for is a wish that is not fulfilled.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn column_types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// The first rows as a terminal shows them.
    fn text(&self, py: Python<'_>, rows: usize, width: usize) -> PyResult<String> {
        let options = TextOptions { width, ways: WAYS, ..TextOptions::default() };
        Ok(text::render(&self.head(py, rows)?, options))
    }

    /// The first rows as a notebook shows them.
    fn html(&self, py: Python<'_>, rows: usize) -> PyResult<String> {
        Ok(notebook::report(&self.head(py, rows)?))
    }

    /// All rows as JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let report = self.head(py, usize::MAX)?;
        Ok(json::render(&Document { report: Some(&report), ..Document::default() }))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}
