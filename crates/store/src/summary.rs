//! `run.json`: a run at a glance. It repeats what the names in `sources/` say and can be rebuilt from them.
//!
//! It is made from names alone, without reading a record: the hosts of a large job commit at the same time, and each
//! would otherwise read the records of all others. Two commits at once may leave a count that lags by a few sources;
//! whoever needs the truth lists `sources/`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};

use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::source;

/// What `run.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Version of the tables.
    pub schema_version: u32,
    /// Version of the rules that derived the columns.
    pub derivation_version: u32,
    /// Name of the run.
    pub run: String,
    /// Number of sources.
    pub sources: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Largest number of windows that a rank has.
    pub windows: u64,
}

/// Looks at the names in `sources/`.
pub(crate) fn summarize(root: &Path, run: &str) -> Result<RunSummary, StoreError> {
    let ids = source::list_ids(root, run)?;
    let by_rank = || ids.chunk_by(|a, b| a.rank == b.rank);
    Ok(RunSummary {
        schema_version: SCHEMA_VERSION,
        derivation_version: DERIVATION_VERSION,
        run: layout::run_folder_name(run),
        sources: ids.len() as u64,
        ranks: by_rank().count() as u64,
        windows: by_rank().map(<[_]>::len).max().unwrap_or(0) as u64,
    })
}

/// Writes `run.json` anew. `temporary_dir` lies on the store's file system.
pub(crate) fn write(root: &Path, run: &str, temporary_dir: &Path) -> Result<RunSummary, StoreError> {
    let summary = summarize(root, run)?;
    let target = layout::summary_file(root, run);
    let bytes = source::json_bytes(&summary, &target)?;
    disk::write_atomically(&temporary_dir.join("run.json"), &target, &bytes)?;
    Ok(summary)
}
