//! The façade: a run that is open for questions.

mod timelines;
mod upkeep;
mod uploads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stepscope_analyses::{Analysis, AskedChange, Asking, DiffSide, GateMetric, GateRun, PathPart, Question, listings};
use stepscope_engine::{CancelFlag, QueryOptions, QueryResult};
use stepscope_ingest::Progress;
use stepscope_model::warning::is_loss;
use stepscope_model::{MemoryPicture, Report, SkippedFile, SourceRecord, SourceSummary, WorstInstance};
use stepscope_rules::Thresholds;
use stepscope_runs::{Cache, OpenRun, RunError, RunInput, Settings, report_of};
use stepscope_timeline::Timelines;

pub use self::upkeep::Kept;
use crate::trim::Trimmed;

/// A run that is open for questions.
pub struct Workspace {
    pub(crate) run: Arc<OpenRun>,
    timelines: Timelines,
}

impl Workspace {
    fn of(run: OpenRun) -> Self {
        let run = Arc::new(run);
        Self { timelines: Timelines::of(Arc::clone(&run)), run }
    }

    /// Ingests traces and folders into the store of the settings; one row a source.
    pub fn ingest(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Report, RunError> {
        Ok(listings::ingest::report(&stepscope_runs::ingest(paths, settings, progress)?))
    }

    /// Looks for runs: the ones of a store, the files that are named together, each folder that holds files.
    pub fn find_runs(paths: &[PathBuf], settings: &Settings) -> Result<Vec<RunInput>, RunError> {
        stepscope_runs::find_runs(paths, settings)
    }

    /// Opens a store, a run of a store, or traces; traces are ingested first unless the user's cache has them.
    pub fn open(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Self, RunError> {
        OpenRun::open(paths, settings, progress).map(Self::of)
    }

    /// Like [`Self::open`], with a cache of one's own.
    pub fn open_with(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        OpenRun::open_with(paths, settings, cache, progress).map(Self::of)
    }

    /// Opens what [`Self::find_runs`] found: one run, or several where the traces of a folder are of several jobs.
    pub fn open_found(input: &RunInput, settings: &Settings, progress: &dyn Progress) -> Result<Vec<Self>, RunError> {
        Ok(OpenRun::open_found(input, settings, progress)?.into_iter().map(Self::of).collect())
    }

    /// Tables, views and columns.
    pub fn schema() -> Result<Report, RunError> {
        listings::schema::report()
    }

    /// The rules of findings, with thresholds.
    #[must_use]
    pub fn rules(thresholds: &Thresholds) -> Report {
        listings::rules::report(thresholds)
    }

    /// Answers a query.
    pub fn sql(&self, statement: &str, max_rows: Option<usize>, cancel: &CancelFlag) -> Result<Report, RunError> {
        Self::rows_report(&self.query(statement, max_rows, cancel)?)
    }

    /// Rows of a query as a report, to show them.
    pub fn rows_report(rows: &QueryResult) -> Result<Report, RunError> {
        report_of("sql", rows)
    }

    /// Answers a query with columns, for who works on with them.
    pub fn query(
        &self,
        statement: &str,
        max_rows: Option<usize>,
        cancel: &CancelFlag,
    ) -> Result<QueryResult, RunError> {
        let options = QueryOptions { max_rows, ..self.run.query_options(cancel) };
        Ok(self.run.engine().query(statement, &options)?)
    }

    /// Names of the columns that a query answers with.
    pub fn column_names(&self, statement: &str, cancel: &CancelFlag) -> Result<Vec<String>, RunError> {
        Ok(self.run.engine().column_names(statement, &self.run.query_options(cancel))?)
    }

    /// Answers one of [`crate::ANALYSES`].
    pub fn analyze(&self, analysis: &Analysis, question: &Question) -> Result<Report, RunError> {
        stepscope_analyses::analyze(&self.run, analysis, question)
    }

    /// What changes would save, each alone and all together.
    pub fn whatif(&self, changes: &[AskedChange], question: &Question) -> Result<Report, RunError> {
        stepscope_analyses::whatif(&self.run, changes, question)
    }

    /// What the gate needs of this run.
    pub fn measure(&self, name: &str, metrics: &[GateMetric], question: &Question) -> Result<GateRun, RunError> {
        stepscope_analyses::measure_for_gate(&self.run, name, metrics, question)
    }

    /// What a comparison needs of this run.
    pub fn diff_side(&self, question: &Question) -> Result<DiffSide, RunError> {
        DiffSide::of(&self.run, question)
    }

    /// What its memory snapshots hold more than those of an earlier run.
    pub fn memory_growth(&self, earlier: &Self, question: &Question) -> Result<Report, RunError> {
        stepscope_analyses::memory_growth(&self.run, &earlier.run, question)
    }

    /// What a page draws of its memory snapshot; nothing if it has none.
    pub fn memory_picture(&self, question: &Question) -> Result<MemoryPicture, RunError> {
        stepscope_analyses::memory_picture(&self.run, question)
    }

    /// The longest piece of the critical path that is part of something; `None` if there is none.
    pub fn longest_piece(&self, of: &PathPart, question: &Question) -> Result<Option<WorstInstance>, RunError> {
        stepscope_analyses::longest_piece(&self.run, of, question)
    }

    /// The changes that [`Self::whatif`] knows.
    #[must_use]
    pub fn transformations() -> Report {
        stepscope_analyses::transformations()
    }

    /// Writes a part of the run as traces that any viewer opens; `inputs` are the paths that it was opened with.
    pub fn trim(&self, question: &Question, output: &Path, inputs: &[PathBuf]) -> Result<Vec<Trimmed>, RunError> {
        if self.is_profile() {
            return Err(RunError::NoTimes);
        }
        crate::trim::trim(&Asking::of(&self.run, question)?, output, inputs)
    }

    /// The name of the run in its store.
    #[must_use]
    pub fn run_name(&self) -> &str {
        self.run.name()
    }

    /// Threads, streams and lanes.
    pub fn tracks(&self) -> Result<Report, RunError> {
        listings::tracks::report(&self.run)
    }

    /// Trace health of these recordings.
    pub fn health(&self, rank: Option<u32>, window: Option<u32>) -> Result<Report, RunError> {
        listings::health::report(&self.run, rank, window)
    }

    /// Why it is a run of its own though its traces lie beside others.
    #[must_use]
    pub fn apart_because(&self) -> Option<&str> {
        self.run.sources().iter().find_map(|source| source.apart_because.as_deref())
    }

    /// Files beside the traces that were not read.
    #[must_use]
    pub fn skipped_files(&self) -> &[SkippedFile] {
        self.run.skipped_files()
    }

    /// Whether it is nothing but profiles of functions, without events, steps and tracks.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        self.run.is_profile()
    }

    /// Show every metric of one trace, as JSON.
    pub fn metrics(&self, rank: Option<u32>, window: Option<u32>) -> Result<Json, RunError> {
        self.metrics_with(rank, window, &CancelFlag::default())
    }

    /// Like [`Self::metrics`], with a flag that ends it.
    pub fn metrics_with(&self, rank: Option<u32>, window: Option<u32>, cancel: &CancelFlag) -> Result<Json, RunError> {
        stepscope_analyses::measure(self.run.engine(), self.run.source(rank, window)?, cancel)
    }

    /// Every recording of the run, in short.
    pub fn source_summaries(&self) -> Result<Vec<SourceSummary>, RunError> {
        listings::sources::summaries(&self.run)
    }

    /// The member `health` of JSON documents: how far the figures beside it can be trusted.
    #[must_use]
    pub fn health_info(&self) -> Json {
        let mut lost = BTreeMap::new();
        let mut absorbed = BTreeMap::new();
        for (code, count) in self.run.sources().iter().flat_map(|source| &source.dropped) {
            *(if is_loss(code) { &mut lost } else { &mut absorbed }).entry(code).or_insert(0) += count;
        }
        let all = self.run.sources().iter().flat_map(|source| &source.notes);
        let mut notes: Vec<&str> = all.map(|note| note.as_text()).collect();
        notes.sort_unstable();
        notes.dedup();
        json!({
            "events_in": self.run.sources().iter().map(|source| source.events_in).sum::<u64>(),
            "rows": self.run.sources().iter().map(SourceRecord::event_rows).sum::<u64>(),
            "lost": lost,
            "absorbed": absorbed,
            "notes": notes,
            "skipped_files": self.run.skipped_files(),
        })
    }

    /// The member `run` of JSON documents.
    #[must_use]
    pub fn run_info(&self) -> Json {
        let sources: Vec<Json> = self.run.sources().iter().map(source_info).collect();
        json!({ "name": self.run.name(), "sources": sources })
    }
}

fn source_info(source: &SourceRecord) -> Json {
    json!({
        "rank": source.id.rank,
        "rank_from": source.rank_from.as_text(),
        "window": source.id.window,
        "path": source.path,
        "format": source.format,
        "digest": source.digest,
        "events_in": source.events_in,
    })
}
