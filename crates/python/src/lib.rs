//! What the Python package calls: conversions between Python and the façade, and the recorder of lines, which must be
//! fast. The public names are in `python/stepscope`; everything here is private to it.

mod annotations;
mod arguments;
mod batches;
mod errors;
mod gate;
mod line_counts;
mod lines;
mod pages;
mod regions;
mod report;
mod run;
mod system;
mod table;
mod waiting;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use stepscope_workspace::Output;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::annotations::annotate_regions;
    #[pymodule_export]
    use super::arguments::{limit_bytes, ranks, steps};
    #[pymodule_export]
    use super::batches::NativeBatches;
    #[pymodule_export]
    use super::gate::judge_series;
    #[pymodule_export]
    use super::lines::LineRecorder;
    #[pymodule_export]
    use super::pages::NativePages;
    #[pymodule_export]
    use super::regions::{
        Region, RegionRecorder, RegionTotals, flush_recording, join_recording, recording_counts, recording_failure,
        recording_path, start_recording, stop_recording,
    };
    #[pymodule_export]
    use super::report::NativeReport;
    #[pymodule_export]
    use super::run::NativeRun;
    #[pymodule_export]
    use super::system::{
        LatencyHistogram, op_flops, op_flops_operators, system_between, system_now, unwatch_system, watch_system,
    };
    #[pymodule_export]
    use super::table::NativeTable;
    #[pymodule_export]
    use super::{analyses, command, refuse_output, schema, write_output};
}

/// Runs one command line, the name of the program first, and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    // Python has none where the program was started without.
    let is_output_closed = py.import("sys")?.getattr("__stdout__")?.is_none();
    Ok(py.detach(|| stepscope_cli::run(arguments, is_output_closed) as u8))
}

/// Refuses a file to write to that is one of the inputs, or cannot be written.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives values")]
fn refuse_output(py: Python<'_>, path: PathBuf, inputs: Vec<PathBuf>) -> PyResult<()> {
    Output::at(&path, &inputs).map(drop).map_err(|error| errors::of(py, &error))
}

/// Writes a file: whole, or not at all.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives values")]
fn write_output(py: Python<'_>, path: PathBuf, text: &str, inputs: Vec<PathBuf>) -> PyResult<()> {
    let written = Output::at(&path, &inputs).and_then(|output| output.write(text.as_bytes()));
    written.map_err(|error| errors::of(py, &error))
}

/// Names of the analyses, what each is about, and what its rows can be grouped by.
#[pyfunction]
fn analyses() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let all = stepscope_workspace::ANALYSES.iter();
    all.map(|analysis| (analysis.name, analysis.about, analysis.groupings.to_vec())).collect()
}

/// Tables, views and columns.
#[pyfunction]
fn schema(py: Python<'_>) -> PyResult<report::NativeReport> {
    let schema = py.detach(stepscope_workspace::Workspace::schema).map_err(|error| errors::of(py, &error))?;
    Ok(report::NativeReport::new(schema, None, serde_json::Value::Null, serde_json::Value::Null))
}
