//! The rows of a query, batch by batch, for answers that do not fit into memory.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow::record_batch::RecordBatchReader;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use stepscope_workspace::{CancelFlag, Rows, Workspace};

use crate::table::NativeTable;
use crate::{errors, waiting};

/// Rows that are on their way. They can be taken once.
#[pyclass(frozen)]
pub(crate) struct NativeBatches {
    schema: SchemaRef,
    cancel: CancelFlag,
    rows: Mutex<Option<Rows<Arc<Workspace>>>>,
}

impl NativeBatches {
    pub(crate) fn new(rows: Rows<Arc<Workspace>>, cancel: CancelFlag) -> Self {
        Self { schema: rows.schema().clone(), cancel, rows: Mutex::new(Some(rows)) }
    }

    fn take(&self) -> Option<Rows<Arc<Workspace>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl NativeBatches {
    /// Hands over all that is left; the schema that a caller may ask for is a wish that is not fulfilled.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = Reader { schema: self.schema.clone(), rows: self.take() };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The next rows; `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<NativeTable>> {
        let Some(mut rows) = self.take() else { return Ok(None) };
        let next = waiting::wait(
            py,
            &self.cancel,
            || {
                let next = rows.next();
                (rows, next)
            },
            || Ok(()),
        )?;
        let (rows, next) = next;
        let Some(batch) = next.transpose().map_err(|error| errors::of(py, &error))? else { return Ok(None) };
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
        Ok(Some(NativeTable::new(self.schema.clone(), vec![batch])))
    }

    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn column_types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }
}

/// What other libraries read from.
struct Reader {
    schema: SchemaRef,
    rows: Option<Rows<Arc<Workspace>>>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.rows.as_mut()?.next();
        next.map(|batch| batch.map_err(|error| ArrowError::ExternalError(error.to_string().into())))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
