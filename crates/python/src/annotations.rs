//! Regions as annotations in the traces of torch, while one of its profilers records.
//!
//! Without torch, or while nothing records, a region pays for one look into a dictionary.

use std::cell::RefCell;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use stepscope_record::NameId;

/// An annotation that has not ended.
struct Open {
    name: NameId,
    /// The asynchronous task it was begun on; 0 for the thread itself.
    task: usize,
    annotation: Py<PyAny>,
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// Begins an annotation if torch records. What torch objects to is no concern of the program.
#[inline]
pub(crate) fn begin(py: Python<'_>, text: &Py<PyString>, name: NameId, task: usize) {
    if let Some(torch) = recording(py) {
        let _ = begin_with(torch, text, name, task);
    }
}

/// Ends the innermost annotation of a region, if there is one.
#[inline]
pub(crate) fn end(py: Python<'_>, name: NameId, task: usize) {
    let is_none = OPEN.try_with(|open| open.borrow().is_empty()).unwrap_or(true);
    if !is_none {
        end_open(py, name, task);
    }
}

/// The module that annotates, if one of torch's profilers records now.
#[inline]
fn recording(py: Python<'_>) -> Option<&Bound<'_, PyDict>> {
    static TORCH: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let torch = TORCH.get(py).or_else(|| {
        let found = find(py)?;
        Some(TORCH.get_or_init(py, || found))
    });
    let torch = torch?.bind(py);
    let is_enabled = torch.get_item(intern!(py, "_is_profiler_enabled")).ok()??;
    is_enabled.is_truthy().unwrap_or(false).then_some(torch)
}

/// A program that has not imported torch has no profiler of it. While it is being imported, names are missing.
fn find(py: Python<'_>) -> Option<Py<PyDict>> {
    static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let modules = MODULES.get_or_try_init(py, || Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.unbind()));
    let modules = modules.ok()?.bind(py).cast::<PyDict>().ok()?;
    let module = modules.get_item(intern!(py, "torch.autograd.profiler")).ok()??;
    let names = module.getattr(intern!(py, "__dict__")).ok()?;
    let names = names.cast::<PyDict>().ok()?;
    names.contains(intern!(py, "record_function")).unwrap_or(false).then(|| names.clone().unbind())
}

#[cold]
fn begin_with(torch: &Bound<'_, PyDict>, text: &Py<PyString>, name: NameId, task: usize) -> PyResult<()> {
    let py = torch.py();
    let Some(annotate) = torch.get_item(intern!(py, "record_function"))? else { return Ok(()) };
    let annotation = annotate.call1((text,))?;
    annotation.call_method0(intern!(py, "__enter__"))?;
    let _ = OPEN.try_with(|open| open.borrow_mut().push(Open { name, task, annotation: annotation.unbind() }));
    Ok(())
}

#[cold]
fn end_open(py: Python<'_>, name: NameId, task: usize) {
    let taken = OPEN.try_with(|open| {
        let mut open = open.borrow_mut();
        let place = open.iter().rposition(|open| (open.name, open.task) == (name, task))?;
        Some(open.remove(place))
    });
    if let Ok(Some(open)) = taken {
        let none = py.None();
        let _ = open.annotation.bind(py).call_method1(intern!(py, "__exit__"), (&none, &none, &none));
    }
}
