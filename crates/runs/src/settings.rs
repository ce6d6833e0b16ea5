//! What the user may set, whatever the door they come through.

use std::path::PathBuf;
use std::time::Duration;

use stepscope_engine::EngineOptions;
use stepscope_ingest::{Extras, Options};
use stepscope_store::Scope;
use stepscope_store::pack::Depth;

use crate::run_choice::RunChoice;

/// How to open, ingest and query.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of the user, off by default")]
pub struct Settings {
    /// Store to write to; without it, traces go to the cache.
    pub store: Option<PathBuf>,
    /// Name of the run that an ingest makes; without it, that of the file or folder.
    pub run_name: Option<String>,
    /// How much of a recording goes into a bucket.
    pub depth: Depth,
    /// Ingest beside a job that must not wait: one at a time per machine, and the upload is repeated for a day.
    pub background: bool,
    /// Ingest into a temporary store that goes away with the run.
    pub no_cache: bool,
    /// Every file becomes a run of its own.
    pub separate_runs: bool,
    /// Which run, where there are several.
    pub run: RunChoice,
    /// Open this window alone, where recordings are many.
    pub window: Option<u32>,
    /// Leave out recordings that no block has yet.
    pub no_fresh: bool,
    /// Leave out the folders in a folder.
    pub flat_folders: bool,
    /// Refuse traces that are broken or lost events.
    pub strict: bool,
    /// What an ingest makes beside the tables of events; some answers need the sums.
    pub extras: Extras,
    /// Memory that an ingest or a query may take; without it, the smaller of 2 GiB and a quarter of what there is.
    pub memory_limit_bytes: Option<u64>,
    /// Threads that a query may take.
    pub threads: Option<usize>,
    /// Time that a query may take.
    pub time_limit: Option<Duration>,
}

impl Settings {
    /// The same, for one window if it is given.
    #[must_use]
    pub fn of_window(self, window: Option<u32>) -> Self {
        Self { window, ..self }
    }

    /// What they mean for an ingest.
    pub(crate) fn for_ingest(&self) -> Options {
        Options {
            run: self.run_name.clone(),
            separate_runs: self.separate_runs,
            flat_folders: self.flat_folders,
            strict: self.strict,
            memory_limit_bytes: self.memory_limit_bytes(),
            extras: self.extras,
            ..Options::default()
        }
    }

    /// What they mean for queries.
    pub(crate) fn for_engine(&self) -> EngineOptions {
        let default = EngineOptions::default();
        EngineOptions {
            memory_limit_bytes: self.memory_limit_bytes() as usize,
            threads: self.threads.unwrap_or(default.threads),
            ..default
        }
    }

    /// What of a run to look at.
    pub(crate) fn scope(&self) -> Scope {
        Scope { window: self.window, fresh: !self.no_fresh }
    }

    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or_else(stepscope_ingest::default_memory_limit_bytes)
    }
}
