//! Regions of a Python program. Entering and leaving one is the hottest way there is into this library: nothing is
//! allocated, and nothing is called but what tells asynchronous tasks apart.

use std::collections::HashMap;
use std::path::Path;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use stepscope_record::{NameId, Scope, Totals};

use crate::annotations;

/// Regions that are kept for their names; a program that makes up new names for ever makes new ones.
const MAX_KEPT: usize = 1 << 16;

/// Regions of one profiler.
#[pyclass(frozen, module = "stepscope._native")]
pub(crate) struct RegionRecorder {
    scope: Scope,
    /// Region by name.
    regions: Py<PyDict>,
}

#[pymethods]
impl RegionRecorder {
    #[new]
    fn new(py: Python<'_>) -> Self {
        stepscope_record::measure_boundaries();
        Self { scope: Scope::new(), regions: PyDict::new(py).unbind() }
    }

    /// The region of a name, to be entered with `with` or put before a function.
    #[pyo3(signature = (name, samples = None))]
    fn profile(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        samples: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let regions = self.regions.bind(py);
        // A name that cannot be looked up is none: that is said below.
        if samples.is_none()
            && let Ok(Some(region)) = regions.get_item(name)
        {
            return Ok(region.unbind());
        }
        let samples = match samples.map(|samples| (samples, samples.extract())) {
            None => None,
            Some((_, Ok(count))) => Some(count),
            Some((samples, Err(_))) => {
                return Err(PyTypeError::new_err(format!("samples must be a whole number from 0, found: {samples}")));
            }
        };
        let Ok(text) = name.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "the name of a region must be a str, found: {}",
                name.get_type().name()?
            )));
        };
        let id = self.scope.name(text.to_cow()?.as_ref());
        let region = Py::new(py, Region { name: text.clone().unbind(), id, samples })?.into_any();
        if samples.is_none() {
            if regions.len() >= MAX_KEPT {
                regions.clear();
            }
            regions.set_item(name, &region)?;
        }
        Ok(region)
    }

    /// What is known of each name, in the order in which they were first left.
    fn totals(&self, py: Python<'_>) -> Vec<RegionTotals> {
        let totals = py.detach(|| stepscope_record::totals(self.scope));
        totals.into_iter().map(|(name, totals)| RegionTotals { name: name.to_string(), totals }).collect()
    }

    /// The outermost region that was left last.
    fn last_outermost(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| stepscope_record::last_outermost(self.scope)).map(|name| name.to_string())
    }
}

/// A region that can be entered: again, before it is left, by any thread and any task.
#[pyclass(frozen, module = "stepscope._native")]
pub(crate) struct Region {
    #[pyo3(get)]
    name: Py<PyString>,
    id: NameId,
    samples: Option<u64>,
}

#[pymethods]
impl Region {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let (py, region) = (slf.py(), slf.get());
        let task = task(py);
        annotations::begin(py, &region.name, region.id, task);
        if stepscope_record::enter_named(region.id, task) {
            name_thread(py)?;
        }
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        // A thread without open tasks cannot be in one.
        let task = if stepscope_record::has_open_tasks() { task(py) } else { 0 };
        stepscope_record::leave_named(self.id, task, self.samples);
        annotations::end(py, self.id, task);
    }

    /// The function, with the region around each of its calls.
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import(intern!(slf.py(), "stepscope.performance.decorating"))?;
        module.call_method1(intern!(slf.py(), "inside"), (slf, function))
    }

    fn __repr__(&self) -> String {
        format!("Region({:?})", self.name.to_string())
    }
}

/// What all calls of one region add up to.
#[pyclass(frozen, module = "stepscope._native")]
pub(crate) struct RegionTotals {
    #[pyo3(get)]
    name: String,
    totals: Totals,
}

#[pymethods]
impl RegionTotals {
    #[getter]
    fn count(&self) -> u64 {
        self.totals.count
    }

    #[getter]
    fn total_ns(&self) -> i64 {
        self.totals.total_ns
    }

    #[getter]
    fn self_ns(&self) -> i64 {
        self.totals.self_ns
    }

    #[getter]
    fn shortest_ns(&self) -> i64 {
        self.totals.shortest_ns
    }

    #[getter]
    fn longest_ns(&self) -> i64 {
        self.totals.longest_ns
    }

    #[getter]
    fn samples(&self) -> Option<u64> {
        self.totals.samples
    }

    #[getter]
    fn samples_ns(&self) -> i64 {
        self.totals.samples_ns
    }

    #[getter]
    fn inner_samples(&self) -> Option<u64> {
        self.totals.inner_samples
    }

    #[getter]
    fn inner_samples_ns(&self) -> i64 {
        self.totals.inner_samples_ns
    }

    #[getter]
    fn has_dropped(&self) -> bool {
        self.totals.has_dropped
    }

    #[getter]
    fn last_start_ns(&self) -> i64 {
        self.totals.last_start_ns
    }

    #[getter]
    fn last_end_ns(&self) -> i64 {
        self.totals.last_end_ns
    }

    #[getter]
    fn is_outermost(&self) -> bool {
        self.totals.last_is_outermost
    }

    fn percentile_ns(&self, percent: f64) -> i64 {
        self.totals.durations.percentile(percent).unwrap_or(0)
    }
}

/// The asynchronous task that runs on this thread; 0 if none does, or asyncio does not say.
fn task(py: Python<'_>) -> usize {
    static ASYNCIO: PyOnceLock<Asyncio> = PyOnceLock::new();
    let asyncio = ASYNCIO.get(py).or_else(|| {
        let found = Asyncio::find(py)?;
        Some(ASYNCIO.get_or_init(py, || found))
    });
    let Some(asyncio) = asyncio else { return 0 };
    let is_running = asyncio.running_loop.bind(py).call0().is_ok_and(|running| !running.is_none());
    if !is_running {
        return 0;
    }
    let task = asyncio.current_task.bind(py).call0();
    task.map_or(0, |task| if task.is_none() { 0 } else { task.as_ptr() as usize })
}

/// What asyncio is asked.
struct Asyncio {
    running_loop: Py<PyAny>,
    current_task: Py<PyAny>,
}

impl Asyncio {
    /// Importing asyncio takes longer than many a program; one that has not done so cannot run a loop. While it is being
    /// imported, it does not have the names yet.
    fn find(py: Python<'_>) -> Option<Self> {
        static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let modules = MODULES.get_or_try_init(py, || Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.unbind()));
        let module = modules.ok()?.bind(py).cast::<PyDict>().ok()?.get_item(intern!(py, "asyncio")).ok()??;
        let running_loop = module.getattr("_get_running_loop").ok()?.unbind();
        Some(Self { running_loop, current_task: module.getattr("current_task").ok()?.unbind() })
    }
}

#[cold]
fn name_thread(py: Python<'_>) -> PyResult<()> {
    let thread = py.import("threading")?.call_method0("current_thread")?;
    stepscope_record::name_thread(thread.getattr("name")?.cast::<PyString>()?.to_cow()?.as_ref());
    Ok(())
}

/// Records into a new file in a folder as well; gives its path.
#[pyfunction]
pub(crate) fn start_recording(py: Python<'_>, folder: &str, limit_bytes: u64) -> PyResult<String> {
    let path = py.detach(|| stepscope_record::recording::start(Path::new(folder), limit_bytes));
    path.map(|path| path.to_string_lossy().into_owned()).map_err(|error| refused(&error))
}

/// Records into the file of the program that started this one.
#[pyfunction]
pub(crate) fn join_recording(py: Python<'_>, path: &str, limit_bytes: u64) -> PyResult<()> {
    py.detach(|| stepscope_record::recording::join(Path::new(path), limit_bytes)).map_err(|error| refused(&error))
}

fn refused(error: &stepscope_record::recording::RecordingError) -> PyErr {
    pyo3::exceptions::PyOSError::new_err(error.to_string())
}

/// Where the recording goes.
#[pyfunction]
pub(crate) fn recording_path() -> Option<String> {
    stepscope_record::recording::path().map(|path| path.to_string_lossy().into_owned())
}

/// Writes the rest and closes the file.
#[pyfunction]
pub(crate) fn stop_recording(py: Python<'_>) {
    py.detach(stepscope_record::recording::stop);
}

/// Writes what was recorded so far.
#[pyfunction]
pub(crate) fn flush_recording(py: Python<'_>) {
    py.detach(stepscope_record::recording::flush);
}

/// Why nothing more is written to the file, if something went wrong with it.
#[pyfunction]
pub(crate) fn recording_failure(py: Python<'_>) -> Option<String> {
    py.detach(stepscope_record::recording::counts).failed
}

/// What was recorded, and what was not.
#[pyfunction]
pub(crate) fn recording_counts(py: Python<'_>) -> HashMap<&'static str, u64> {
    let counts = py.detach(stepscope_record::recording::counts);
    HashMap::from([
        ("regions", counts.regions),
        ("dropped_ring_full", counts.lost_ring_full),
        ("dropped_no_ring", counts.lost_no_ring),
        ("dropped_left_elsewhere", counts.lost_elsewhere),
        ("dropped_past_limit", counts.lost_no_room),
        ("bytes_written", counts.bytes_written),
    ])
}
