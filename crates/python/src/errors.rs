//! Errors as the exceptions of `stepscope.errors`, with what they say about the place and the next step.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use stepscope_model::{Exit, Hint};
use stepscope_report::ShapeError;
use stepscope_workspace::RunError;

use crate::words::of_python;

/// The exception for an error of the façade.
pub(crate) fn of(py: Python<'_>, error: &RunError) -> PyErr {
    let class = match error {
        RunError::NotFound { .. } => "NotFoundError",
        RunError::Engine(_) if error.exit() == Exit::Usage => "QueryError",
        _ => match error.exit() {
            Exit::Interrupted => return PyKeyboardInterrupt::new_err(()),
            Exit::Usage => "UsageError",
            Exit::Bug => "BugError",
            Exit::Unwritable => "OutputError",
            Exit::OutOfMemory => "MemoryLimitError",
            _ => "TraceError",
        },
    };
    raise(py, class, &error.to_string(), error.location(), error.hint().as_deref())
}

/// The exception for columns that are not there.
pub(crate) fn of_shape(py: Python<'_>, error: &ShapeError) -> PyErr {
    raise(py, "UsageError", &error.to_string(), None, error.hint().as_deref())
}

/// The exception for wrong use.
pub(crate) fn usage(py: Python<'_>, message: &str, hint: Option<&str>) -> PyErr {
    raise(py, "UsageError", message, None, hint)
}

fn raise(py: Python<'_>, class: &str, message: &str, location: Option<String>, hint: Option<&str>) -> PyErr {
    let made = py
        .import("stepscope.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((of_python(message), location, hint.map(of_python))));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => PyRuntimeError::new_err(format!("{message} (and its exception could not be made: {error})")),
    }
}
