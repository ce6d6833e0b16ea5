//! A job as a folder: its traces, and beside them the truth.

use std::fs;
use std::path::Path;

use crate::error::SimulateError;

use super::job::FaultyJob;
use super::truth::Truth;

/// Writes the trace of every rank into `traces` below `folder`, and `truth.json` beside it.
pub fn write_folder(job: &FaultyJob, folder: &Path) -> Result<(), SimulateError> {
    job.write_traces(&folder.join("traces"))?;
    let path = folder.join("truth.json");
    fs::write(&path, format!("{:#}\n", Truth::of(job).json())).map_err(SimulateError::write(&path))
}
