//! A run that is open for questions.

mod opening;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use stepscope_engine::{CancelFlag, Engine, QueryOptions, QueryResult};
use stepscope_model::{SkippedFile, SourceRecord};
use stepscope_store::Catalog;
use stepscope_store::owned::OwnedFolder;

pub use self::opening::ingest;
use crate::cache::{CachedStore, Filling};
use crate::error::RunError;
use crate::names::shortened;
use crate::settings::Settings;
use crate::step_models::{JobWindow, Modeled, StepModels};

/// A run that is open for questions.
pub struct OpenRun {
    catalog: Catalog,
    sources: Arc<[SourceRecord]>,
    skipped: Vec<SkippedFile>,
    engine: Engine,
    /// The engine of [`Self::engine_of_what_is_there`], if it is another one.
    lenient_engine: OnceLock<Engine>,
    settings: Settings,
    step_models: Arc<StepModels>,
    /// Keeps the store where it is as long as the run is open, and removes it behind it if it is a temporary one.
    _held: Arc<Held>,
}

/// What keeps a store where it is.
enum Held {
    /// Nothing: it is the user's own.
    Nothing,
    /// A store of the cache, which nobody removes meanwhile.
    Cached { store: CachedStore },
    /// A store that was filled for the cache but not kept there.
    Unkept { _filling: Filling },
    /// A temporary store.
    Temporary { _folder: OwnedFolder },
}

impl OpenRun {
    /// Where the tables are.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The name of the run in its store.
    #[must_use]
    pub fn name(&self) -> &str {
        self.catalog.run()
    }

    /// Its recordings.
    #[must_use]
    pub fn sources(&self) -> &[SourceRecord] {
        &self.sources
    }

    /// Files beside the traces that were not read.
    #[must_use]
    pub fn skipped_files(&self) -> &[SkippedFile] {
        &self.skipped
    }

    /// What answers SQL about it.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether the store has the events of every recording, rather than the sums of some alone.
    #[must_use]
    pub fn has_all_events(&self) -> bool {
        self.sources.iter().all(|source| self.catalog.has_events(source.id))
    }

    /// What answers SQL about it without regard to events that were not uploaded. An answer must say that they are
    /// missing.
    pub fn engine_of_what_is_there(&self) -> Result<&Engine, RunError> {
        if self.has_all_events() {
            return Ok(&self.engine);
        }
        if let Some(engine) = self.lenient_engine.get() {
            return Ok(engine);
        }
        let engine = Engine::open(&self.catalog.of_what_is_there(), &self.settings.for_engine())?;
        Ok(self.lenient_engine.get_or_init(|| engine))
    }

    /// What waited for what in the steps of a recording: in its usual window (A1), or in the one that ends with the last
    /// of the asked steps if the usual one does not reach it; longer than usual if more steps are asked for. They are
    /// asked for by their places.
    pub fn step_model(&self, source: &SourceRecord, asked: Option<&Range<usize>>) -> Result<Modeled, RunError> {
        self.step_models.of(&self.catalog, source, asked)
    }

    /// What waited for what in the same steps of several ranks, which wait for each other in collectives; or the null
    /// reason why that is not known.
    pub fn job_model(&self, sources: &[SourceRecord]) -> Result<Result<JobWindow, &'static str>, RunError> {
        self.step_models.of_job(&self.catalog, sources)
    }

    /// Whether it is nothing but profiles of functions, without events, steps and tracks.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        self.sources.iter().all(SourceRecord::is_profile)
    }

    /// The user's limits.
    #[must_use]
    pub fn query_options(&self, cancel: &CancelFlag) -> QueryOptions {
        QueryOptions { time_limit: self.settings.time_limit, cancel: cancel.clone(), ..QueryOptions::default() }
    }

    /// Asks the engine something of our own, within the user's limits.
    pub fn ask(&self, statement: &str, cancel: &CancelFlag) -> Result<QueryResult, RunError> {
        Ok(self.engine.query(statement, &self.query_options(cancel))?)
    }

    /// The recording that is meant.
    pub fn source(&self, rank: Option<u32>, window: Option<u32>) -> Result<&SourceRecord, RunError> {
        match self.sources_of(rank.as_slice(), window)?[..] {
            [source] => Ok(source),
            ref found => Err(RunError::SeveralSources { count: found.len(), names: source_names(found) }),
        }
    }

    /// The recordings of these ranks, or of all if none is named, and of a window if one is; never none.
    pub fn sources_of(&self, ranks: &[u32], window: Option<u32>) -> Result<Vec<&SourceRecord>, RunError> {
        let is_meant = |source: &&SourceRecord| {
            (ranks.is_empty() || ranks.contains(&source.id.rank))
                && window.is_none_or(|window| source.id.window == window)
        };
        let found: Vec<&SourceRecord> = self.sources.iter().filter(is_meant).collect();
        let has_rank = |rank: &u32| found.iter().any(|source| source.id.rank == *rank);
        let unknown = ranks.iter().find(|rank| !has_rank(rank));
        if found.is_empty() || unknown.is_some() {
            let rank = unknown.map(|rank| format!("rank {rank}"));
            let window = window.map(|window| format!("window {window}"));
            let what = rank.into_iter().chain(window).collect::<Vec<_>>().join(", ");
            return Err(RunError::NoSuchSource { what, names: source_names(&self.sources.iter().collect::<Vec<_>>()) });
        }
        Ok(found)
    }
}

fn source_names(sources: &[&SourceRecord]) -> String {
    let names: Vec<String> =
        sources.iter().map(|source| format!("rank {} window {}", source.id.rank, source.id.window)).collect();
    shortened(&names)
}
