//! Readings of the process and the machine, latencies, and FLOPs of operators.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stepscope_figures::Sketch;
use stepscope_record::sensors::Group;

/// Reads groups of sensors from now on, each every so many seconds; gives what ends it.
#[pyfunction]
pub(crate) fn watch_system(py: Python<'_>, groups: BTreeMap<String, f64>) -> PyResult<u64> {
    let groups = groups.into_iter().map(|(name, every)| Ok((group(&name)?, interval(every)?)));
    let groups = groups.collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| stepscope_record::watch(&groups)))
}

/// Ends a watch.
#[pyfunction]
pub(crate) fn unwatch_system(handle: u64) {
    stepscope_record::unwatch(handle);
}

/// What groups of sensors say now: a figure, or why there is none.
#[pyfunction]
pub(crate) fn system_now(py: Python<'_>, groups: Vec<String>) -> PyResult<HashMap<String, Py<PyAny>>> {
    let groups = groups.into_iter().map(|name| group(&name)).collect::<PyResult<Vec<_>>>()?;
    let readings = py.detach(|| stepscope_record::read_now(&groups));
    let entry = |reading: stepscope_record::sensors::Reading| {
        let value = match reading.value {
            Ok(value) => value.into_py_any(py)?,
            Err(reason) => reason.to_string().into_py_any(py)?,
        };
        Ok((reading.series.into_owned(), value))
    };
    readings.into_iter().map(entry).collect()
}

/// The readings of each series around a time.
#[pyfunction]
pub(crate) fn system_between(py: Python<'_>, start_ns: i64, end_ns: i64) -> HashMap<String, Vec<(i64, f64)>> {
    let readings = py.detach(|| stepscope_record::readings_between(start_ns, end_ns));
    readings.into_iter().map(|(series, readings)| (series.to_string(), readings)).collect()
}

fn group(name: &str) -> PyResult<Group> {
    Group::from_name(name).ok_or_else(|| PyValueError::new_err(format!("found no group of sensors: {name}")))
}

fn interval(seconds: f64) -> PyResult<Duration> {
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|interval| !interval.is_zero());
    interval.ok_or_else(|| {
        PyValueError::new_err(format!("an interval must be a number of seconds above 0, found: {seconds}"))
    })
}

/// How many latencies fell where: mergeable, percentiles within one part in 128.
#[pyclass(frozen, module = "stepscope._native")]
#[derive(Default)]
pub(crate) struct LatencyHistogram {
    nanoseconds: Mutex<Sketch>,
}

#[pymethods]
impl LatencyHistogram {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add(&self, seconds: f64) {
        self.with(|sketch| sketch.add((seconds * 1e9) as i64));
    }

    fn merge(&self, other: &Self) {
        let other = other.with(|sketch| sketch.clone());
        self.with(|sketch| sketch.merge(&other));
    }

    fn percentile(&self, percent: f64) -> f64 {
        self.with(|sketch| sketch.percentile(percent)).map_or(f64::NAN, |ns| ns as f64 / 1e9)
    }

    fn count(&self) -> u64 {
        self.with(|sketch| sketch.count())
    }

    fn to_text(&self) -> String {
        self.with(|sketch| sketch.to_string())
    }

    #[staticmethod]
    fn from_text(text: &str) -> PyResult<Self> {
        let sketch = Sketch::parse(text);
        let sketch = sketch.ok_or_else(|| PyValueError::new_err("this is not a saved latency histogram"))?;
        Ok(Self { nanoseconds: Mutex::new(sketch) })
    }
}

impl LatencyHistogram {
    fn with<T>(&self, act: impl FnOnce(&mut Sketch) -> T) -> T {
        act(&mut self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// FLOPs of one call; shapes and values of its arguments as JSON lists.
#[pyfunction]
#[pyo3(signature = (operator, input_dims, concrete_inputs))]
pub(crate) fn op_flops(operator: &str, input_dims: &str, concrete_inputs: Option<&str>) -> Option<i64> {
    stepscope_figures::op_flops::op_flops(operator, input_dims, concrete_inputs)
}

/// The operators that have a formula.
#[pyfunction]
pub(crate) fn op_flops_operators() -> Vec<&'static str> {
    stepscope_figures::op_flops::operators().collect()
}
