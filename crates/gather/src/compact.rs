//! Merges the sums of packs into blocks, so that a query about all ranks reads a few large files.
//!
//! Any number of compactors may work on a run. None knows of the others: what to merge follows from the newest manifest
//! and from what is listed, a block is the same whoever makes it, and of two next manifests one wins. Whoever loses
//! plans again from what the winner said. A compactor may be killed at any point: objects that no manifest names are
//! found again by the next one, or removed by `expire`.

mod building;
mod change;
mod compactor;
mod error;
mod held;
mod hours;
mod job;
mod merge;
mod options;
mod outcome;
mod parts;
mod pass;
mod plan;
mod read;
mod round;
mod worlds;

use std::ops::ControlFlow;
use std::time::Duration;

use stepscope_objects::{Bucket, ObjectError, Watch};
use stepscope_store::{StoreError, marker};

pub(crate) use change::{Change, GRACE, Published, publish};
pub use compactor::Compactor;
pub use error::CompactError;
pub(crate) use held::Held;
pub(crate) use hours::before;
pub use options::{CompactOptions, OnProgress, Progress, QUIET};
pub(crate) use options::{nanoseconds, system_ns};
pub use outcome::{Compaction, RefusedPack};
pub(crate) use plan::in_one_depth;
pub(crate) use read::sort_out;

/// How often another writer may be first before a round gives up.
pub(crate) const ATTEMPTS: u32 = 10;

/// How the names of temporary folders begin.
const SCRATCH_PREFIX: &str = ".stepscope-compact-";

/// Runs one round of compaction with a compactor that knows nothing yet.
pub fn compact(
    bucket: &Bucket,
    run: &str,
    options: &CompactOptions,
    progress: OnProgress<'_>,
) -> Result<Compaction, CompactError> {
    Compactor::new(bucket, run, options)?.round(progress)
}

/// Refuses a store in which two writers cannot agree on who was first.
pub(crate) fn check_conditions(bucket: &Bucket, is_single_writer: bool) -> Result<(), CompactError> {
    if is_single_writer || marker::ensure(bucket)?.is_conditional {
        return Ok(());
    }
    Err(CompactError::Unconditional { place: bucket.place().to_string() })
}

fn step(progress: OnProgress<'_>, at: &Progress) -> Result<(), CompactError> {
    match progress(at) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CompactError::Canceled),
    }
}

/// Says how many bytes were read; whoever listens may end it.
pub(crate) fn go_on(watch: Watch<'_>, bytes: u64) -> Result<(), CompactError> {
    match watch(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CompactError::Canceled),
    }
}

/// A random time to wait, longer after each attempt.
pub(crate) fn jitter(attempt: u32) -> Result<Duration, CompactError> {
    let most = 20_u64 << attempt.min(6);
    let random = getrandom::u64().map_err(|error| CompactError::Random(error.to_string()))?;
    Ok(Duration::from_millis(random % most))
}

impl From<ObjectError> for CompactError {
    fn from(error: ObjectError) -> Self {
        Self::Store(StoreError::Objects(error))
    }
}
