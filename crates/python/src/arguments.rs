//! Sizes, ranks and steps that are given as text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stepscope_model::{Expected, arguments};

/// The bytes of a size that something has to fit in, such as `2GB`.
#[pyfunction]
pub(crate) fn limit_bytes(text: &str) -> PyResult<u64> {
    arguments::limit_bytes(text).map_err(refused)
}

/// The ranks of a list such as `0,2-4`.
#[pyfunction]
pub(crate) fn ranks(text: &str) -> PyResult<Vec<u32>> {
    arguments::ranks(text).map_err(refused)
}

/// First and last step of a text such as `3` or `2-5`.
#[pyfunction]
pub(crate) fn steps(text: &str) -> PyResult<(u32, u32)> {
    let steps = arguments::steps(text).map_err(refused)?;
    Ok((steps.first, steps.last))
}

/// The package knows the name of the argument, and adds it.
fn refused(expected: Expected) -> PyErr {
    PyValueError::new_err(expected.to_string())
}
