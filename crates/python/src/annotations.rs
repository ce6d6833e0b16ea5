//! Regions as annotations in the traces of torch, while one of its profilers records.
//!
//! `stepscope.performance.annotations` says when that is, so that a region pays for one look at a flag.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use stepscope_record::NameId;

/// Whether one of torch's profilers records.
static IS_RECORDING: AtomicBool = AtomicBool::new(false);

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

/// Says whether regions are annotations as well.
#[pyfunction]
pub(crate) fn annotate_regions(is_recording: bool) {
    IS_RECORDING.store(is_recording, Ordering::Relaxed);
}

/// Begins an annotation if torch records. What torch objects to is no concern of the program.
#[inline]
pub(crate) fn begin(py: Python<'_>, text: &Py<PyString>, name: NameId, task: usize) {
    if IS_RECORDING.load(Ordering::Relaxed) {
        let _ = begin_with(py, text, name, task);
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

#[cold]
fn begin_with(py: Python<'_>, text: &Py<PyString>, name: NameId, task: usize) -> PyResult<()> {
    let torch = py.import(intern!(py, "torch.autograd.profiler"))?;
    let annotation = torch.getattr(intern!(py, "record_function"))?.call1((text,))?;
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
