//! What is open in the browser: runs, and how far they are.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::health::Grade;
use crate::page::PageEntry;
use crate::problem::Problem;
use crate::skipped::SkippedFile;

/// Everything that is open.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Session {
    /// Version of Stepscope.
    pub version: &'static str,
    /// Pages that are an analysis, in the order of the rail.
    pub pages: Vec<PageEntry>,
    /// Runs, in the order in which they were named or found.
    pub runs: Vec<RunStatus>,
    /// Files beside the traces that were not read.
    pub skipped_files: Vec<SkippedFile>,
}

/// A run, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunStatus {
    /// Name of the run, as in the address of its answers.
    pub run: String,
    /// Whether questions can be asked.
    pub state: RunState,
    /// How far its traces are read; also while a run that changed is read again.
    pub progress: Option<RunReading>,
    /// Why it cannot be read.
    pub error: Option<Problem>,
    /// Which state of its traces is asked; another one after each change, and 0 before the first.
    pub revision: u64,
    /// Its recordings, once it is ready.
    pub sources: Vec<SourceSummary>,
    /// Why it is a run of its own though its traces lie beside others.
    pub apart_because: Option<String>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It can be asked.
    Ready,
    /// Its traces are being read.
    Reading,
    /// Its traces cannot be read.
    Failed,
}

/// How far the traces of a run are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunReading {
    /// Bytes that were read of all its files.
    pub done_bytes: u64,
    /// Their bytes in all; 0 as long as they are not known.
    pub total_bytes: u64,
    /// Files that are read.
    pub done_files: u64,
    /// Files in all; 0 as long as they are not known.
    pub total_files: u64,
    /// The name of the file that is being read.
    pub file: Option<String>,
}

/// One recording of a run, in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SourceSummary {
    /// Rank of the process that recorded it.
    pub rank: u32,
    /// Which of the rank's recordings, from 0.
    pub window: u32,
    /// Elements of the event list.
    pub events: u64,
    /// Start of the first event, by the clock of the recording.
    #[cfg_attr(test, ts(type = "number | bigint | null"))]
    pub first_ns: Option<i64>,
    /// End of the last event.
    #[cfg_attr(test, ts(type = "number | bigint | null"))]
    pub last_ns: Option<i64>,
    /// Grade of its health; null where it is not known.
    pub health: Option<Grade>,
    /// Names of its devices.
    pub devices: Vec<String>,
    /// Steps whose device work was recorded to the end.
    pub complete_steps: u64,
    /// Rows of each table.
    pub rows: BTreeMap<String, u64>,
}
