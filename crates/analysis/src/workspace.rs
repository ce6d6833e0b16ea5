//! The façade: a run that is open for questions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stepscope_engine::{CancelFlag, Engine, EngineOptions, QueryOptions, QueryResult};
use stepscope_ingest::{Ingested, Options, Outcome, Progress};
use stepscope_model::warning::is_loss;
use stepscope_model::{Part, Report, SkippedFile, SourceId, SourceRecord, SourceSummary, Text, skipped_sentences};
use stepscope_store::Store;
use stepscope_store::owned::{self, OwnedFolder};

use crate::analyses::{Analysis, Asking, Question, StepNumbers};
use crate::cache::{Cache, CachedStore, Filling, Inputs, Place, Published, Setup};
use crate::error::{AnalysisError, CACHE_FULL, STORE_FULL, TEMPORARY_FULL};
use crate::frame::Frame;
use crate::output::Output;
use crate::run_choice::RunChoice;
use crate::run_input::RunInput;
use crate::settings::Settings;
use crate::timeline::{CurveCache, NameCache, ReaderCache, SearchCache, ShapeCache};
use crate::trim::Trimmed;
use crate::words::shortened;
use crate::{metrics, views};

/// The label of the line about steps that were asked for and are not there.
pub const STEPS_LABEL: &str = "steps";

/// A run that is open for questions.
pub struct Workspace {
    store: Store,
    run: String,
    sources: Vec<SourceRecord>,
    /// Files beside the traces that were not read.
    skipped: Vec<SkippedFile>,
    engine: Engine,
    settings: Settings,
    /// Lanes of timelines that were worked out before.
    shapes: ShapeCache,
    /// Tables that timelines read.
    readers: ReaderCache,
    /// Curves of the timeline that was looked at last.
    curves: CurveCache,
    /// Spans that searches found.
    searches: SearchCache,
    /// Names of the recording that was searched last.
    names: NameCache,
    /// Keeps the store where it is as long as the workspace lives, and removes it behind it if it is a temporary one.
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

/// How the folders of temporary stores begin.
const TEMPORARY_PREFIX: &str = "stepscope-temporary-";

impl Workspace {
    /// Ingests traces and folders into the store of the settings; one row a source.
    pub fn ingest(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Report, AnalysisError> {
        let root = settings.store.as_deref().ok_or(AnalysisError::NoStore)?;
        let outcome = ingest_into_store(paths, root, settings, progress)?;
        let records = || outcome.sources.iter().map(|source| &source.record);
        tell_apart(records(), progress);
        tell_damage(records(), progress);
        tell_skipped(&outcome.skipped, progress);
        Ok(views::ingest::report(&outcome))
    }

    /// Opens a store, a run of a store, or traces; traces are ingested first unless the user's cache has them.
    pub fn open(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Self, AnalysisError> {
        Self::open_from(paths, settings, &Cache::from_environment, progress)
    }

    /// Like [`Self::open`], with a cache of one's own.
    pub fn open_with(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, AnalysisError> {
        Self::open_from(paths, settings, &|| Ok(cache.clone()), progress)
    }

    fn open_from(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &dyn Fn() -> Result<Cache, AnalysisError>,
        progress: &dyn Progress,
    ) -> Result<Self, AnalysisError> {
        let run = if settings.run == RunChoice::All { RunChoice::Only } else { settings.run.clone() };
        let settings = Settings { run, ..settings.clone() };
        let opened = Self::open_anything(paths, &settings, cache, progress)?.pop();
        let workspace = opened.ok_or_else(|| AnalysisError::Shape("no run was opened".to_owned()))?;
        tell_damage(&workspace.sources, progress);
        tell_skipped(&workspace.skipped, progress);
        Ok(workspace)
    }

    /// Opens what [`Self::find_runs`] found: one run, or several where the traces of a folder are of several jobs.
    pub fn open_found(
        run: &RunInput,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, AnalysisError> {
        let choice = if settings.run == RunChoice::Only { RunChoice::All } else { settings.run.clone() };
        let settings = Settings { flat_folders: true, run: choice, ..settings.clone() };
        let workspaces = Self::open_anything(&run.paths, &settings, &Cache::from_environment, progress)?;
        for workspace in &workspaces {
            tell_damage(&workspace.sources, progress);
        }
        Ok(workspaces)
    }

    /// Tables, views and columns.
    pub fn schema() -> Result<Report, AnalysisError> {
        views::schema::report()
    }

    /// Answers a query.
    pub fn sql(&self, statement: &str, max_rows: Option<usize>, cancel: &CancelFlag) -> Result<Report, AnalysisError> {
        Self::rows_report(&self.query(statement, max_rows, cancel)?)
    }

    /// Rows of a query as a report, to show them.
    pub fn rows_report(rows: &QueryResult) -> Result<Report, AnalysisError> {
        views::sql::report("sql", rows)
    }

    /// Answers a query with columns, for who works on with them.
    pub fn query(
        &self,
        statement: &str,
        max_rows: Option<usize>,
        cancel: &CancelFlag,
    ) -> Result<QueryResult, AnalysisError> {
        let options = QueryOptions { max_rows, ..self.query_options(cancel) };
        Ok(self.engine.query(statement, &options)?)
    }

    /// Names of the columns that a query answers with.
    pub fn column_names(&self, statement: &str, cancel: &CancelFlag) -> Result<Vec<String>, AnalysisError> {
        Ok(self.engine.column_names(statement, &self.query_options(cancel))?)
    }

    /// The user's limits.
    pub(crate) fn query_options(&self, cancel: &CancelFlag) -> QueryOptions {
        QueryOptions { time_limit: self.settings.time_limit, cancel: cancel.clone(), ..QueryOptions::default() }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Answers one of [`crate::ANALYSES`].
    pub fn analyse(&self, analysis: &Analysis, question: &Question) -> Result<Report, AnalysisError> {
        if let Some(unknown) = question.group_by.iter().find(|asked| !analysis.groupings.contains(&asked.as_str())) {
            let known = analysis.groupings.iter().map(|&grouping| grouping.to_owned()).collect();
            return Err(AnalysisError::NoSuchGrouping { grouping: unknown.clone(), analysis: analysis.name, known });
        }
        let asking = self.asking(question)?;
        let mut report = (analysis.answer)(&asking)?;
        if StepNumbers::are_needed(&report) {
            StepNumbers::read(&asking)?.label(&mut report);
        }
        if !analysis.reads_profiles() && asking.sources.iter().all(|source| source.is_profile()) {
            let command = question.in_command("stepscope functions");
            let name = analysis.name;
            let text =
                format!("This is a profile of Python functions, with nothing in it for `{name}`: see `{command}`.");
            report.parts.insert(0, Part::Text(text.into()));
        }
        if let Some(note) = steps_left_out(&asking) {
            report.data.push(("notes", serde_json::json!([note])));
            report.parts.push(Part::Text(Text::labelled(STEPS_LABEL, note)));
        }
        Ok(report)
    }

    /// Writes a part of the run as traces that any viewer opens; `inputs` are the paths that it was opened with.
    pub fn trim(&self, question: &Question, output: &Path, inputs: &[PathBuf]) -> Result<Vec<Trimmed>, AnalysisError> {
        if self.is_profile() {
            return Err(AnalysisError::NoTimes);
        }
        crate::trim::trim(&self.asking(question)?, output, inputs)
    }

    /// Asks the engine something of our own, within the user's limits.
    pub(crate) fn ask(&self, statement: &str, cancel: &CancelFlag) -> Result<QueryResult, AnalysisError> {
        Ok(self.engine.query(statement, &self.query_options(cancel))?)
    }

    /// Where the tables are.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The name of the run in its store.
    #[must_use]
    pub fn run_name(&self) -> &str {
        &self.run
    }

    /// Tables that timelines read.
    pub(crate) fn reader_cache(&self) -> &ReaderCache {
        &self.readers
    }

    /// Lanes of timelines that were worked out before.
    pub(crate) fn shape_cache(&self) -> &ShapeCache {
        &self.shapes
    }

    /// Curves of the timeline that was looked at last.
    pub(crate) fn curve_cache(&self) -> &CurveCache {
        &self.curves
    }

    /// Spans that searches found.
    pub(crate) fn search_cache(&self) -> &SearchCache {
        &self.searches
    }

    /// Names of the recording that was searched last.
    pub(crate) fn name_cache(&self) -> &NameCache {
        &self.names
    }

    fn asking<'a>(&'a self, question: &'a Question) -> Result<Asking<'a>, AnalysisError> {
        let is_asked = |source: &&SourceRecord| {
            (question.ranks.is_empty() || question.ranks.contains(&source.id.rank))
                && question.window.is_none_or(|window| source.id.window == window)
        };
        let sources: Vec<&SourceRecord> = self.sources.iter().filter(is_asked).collect();
        let has_rank = |rank: &u32| sources.iter().any(|source| source.id.rank == *rank);
        let unknown = question.ranks.iter().find(|rank| !has_rank(rank));
        if sources.is_empty() || unknown.is_some() {
            let rank = unknown.map(|rank| format!("rank {rank}"));
            let window = question.window.map(|window| format!("window {window}"));
            let what = rank.into_iter().chain(window).collect::<Vec<_>>().join(", ");
            return Err(AnalysisError::NoSuchSource {
                what,
                names: source_names(&self.sources.iter().collect::<Vec<_>>()),
            });
        }
        let all_sources = self.sources.len();
        let (engine, run) = (&self.engine, self.run.as_str());
        let mut asking = Asking { engine, run, sources, all_sources, question, steps: None };
        if let Some(range) = question.steps {
            let numbers = StepNumbers::read(&asking)?;
            let Some(steps) = numbers.asked(range) else {
                return Err(AnalysisError::NoSuchStep { asked: range.to_string(), found: numbers.in_words() });
            };
            let id = |source: &SourceRecord| (i64::from(source.id.rank), i64::from(source.id.window));
            asking.sources.retain(|source| steps.sources.contains(&id(source)));
            asking.steps = Some(steps);
        }
        Ok(asking)
    }

    /// Threads, streams and lanes.
    pub fn tracks(&self) -> Result<Report, AnalysisError> {
        let mut report = views::tracks::report(&self.engine)?;
        if self.is_profile() {
            let text = "A profile of Python functions has sums and no times of day, so there are no tracks.";
            report.parts.insert(0, Part::Text(text.into()));
        }
        Ok(report)
    }

    /// Trace health of these recordings.
    pub fn health(&self, rank: Option<u32>, window: Option<u32>) -> Result<Report, AnalysisError> {
        let mut report = views::health::report(&self.engine, &self.sources_of(rank, window)?)?;
        let sentences =
            skipped_sentences(&self.skipped).into_iter().map(|sentence| Part::Text(format!("{sentence}.").into()));
        report.parts.splice(1..1, sentences);
        Ok(report)
    }

    /// Why it is a run of its own though its traces lie beside others.
    #[must_use]
    pub fn apart_because(&self) -> Option<&str> {
        self.sources.iter().find_map(|source| source.apart_because.as_deref())
    }

    /// Files beside the traces that were not read.
    #[must_use]
    pub fn skipped_files(&self) -> &[SkippedFile] {
        &self.skipped
    }

    /// Whether it is nothing but profiles of functions, without events, steps and tracks.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        self.sources.iter().all(SourceRecord::is_profile)
    }

    /// Every figure of one source, as JSON.
    pub fn metrics(&self, rank: Option<u32>, window: Option<u32>) -> Result<Json, AnalysisError> {
        self.metrics_with(rank, window, &CancelFlag::default())
    }

    /// Like [`Self::metrics`], with a flag that ends it.
    pub fn metrics_with(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        cancel: &CancelFlag,
    ) -> Result<Json, AnalysisError> {
        metrics::measure(&self.engine, self.source(rank, window)?, cancel)
    }

    /// Every recording of the run, in short.
    pub fn source_summaries(&self) -> Result<Vec<SourceSummary>, AnalysisError> {
        let grades = views::health::grades(&self.engine, &self.sources)?;
        let steps = "SELECT rank, \"window\", count(*) AS steps FROM steps WHERE is_complete GROUP BY rank, \"window\"";
        let steps = Frame::new(self.ask(steps, &CancelFlag::default())?);
        let (ranks, windows) = (steps.required_i64("rank")?, steps.required_i64("window")?);
        let counts = steps.required_i64("steps")?;
        let summary = |source: &SourceRecord| {
            let SourceId { rank, window } = source.id;
            let row = (0..counts.len()).find(|&row| (ranks[row], windows[row]) == (rank.into(), window.into()));
            let names = source.devices.iter().flatten().filter_map(|device| device.name.clone());
            SourceSummary {
                rank,
                window,
                events: source.events_in,
                first_ns: source.first_event_ns,
                last_ns: source.last_event_ns,
                health: grades.get(&source.id).map_or_else(|| "unknown".to_owned(), |standing| standing.grade.clone()),
                devices: names.filter(|name| !name.is_empty()).collect(),
                complete_steps: row.map_or(0, |row| counts[row] as u64),
                rows: source.rows.clone(),
            }
        };
        Ok(self.sources.iter().map(summary).collect())
    }

    /// The member `health` of JSON documents: how far the figures beside it can be trusted.
    #[must_use]
    pub fn health_info(&self) -> Json {
        let mut lost = BTreeMap::new();
        let mut absorbed = BTreeMap::new();
        for (code, count) in self.sources.iter().flat_map(|source| &source.dropped) {
            *(if is_loss(code) { &mut lost } else { &mut absorbed }).entry(code).or_insert(0) += count;
        }
        let mut notes: Vec<&String> = self.sources.iter().flat_map(|source| &source.notes).collect();
        notes.sort();
        notes.dedup();
        json!({
            "events_in": self.sources.iter().map(|source| source.events_in).sum::<u64>(),
            "rows": self.sources.iter().map(SourceRecord::event_rows).sum::<u64>(),
            "lost": lost,
            "absorbed": absorbed,
            "notes": notes,
            "skipped_files": self.skipped,
        })
    }

    /// The member `run` of JSON documents.
    #[must_use]
    pub fn run_info(&self) -> Json {
        let sources: Vec<Json> = self.sources.iter().map(source_info).collect();
        json!({ "name": self.run, "sources": sources })
    }

    fn open_anything(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &dyn Fn() -> Result<Cache, AnalysisError>,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, AnalysisError> {
        if let Some(missing) = paths.iter().find(|path| path.as_os_str() != "-" && !path.exists()) {
            return Err(AnalysisError::NotFound { path: missing.clone() });
        }
        if let Some((root, run)) = paths.iter().find_map(|path| as_store(path)) {
            if let [_, _, ..] = paths {
                return Err(AnalysisError::StoreAmongTraces { path: root });
            }
            return Self::open_runs(&Store::open(&root)?, run.map(|run| vec![run]), settings, Held::Nothing);
        }
        if let Some(root) = &settings.store {
            let runs = run_names(&ingest_into_store(paths, root, settings, progress)?.sources);
            return Self::open_runs(&Store::open(root)?, Some(runs), settings, Held::Nothing);
        }
        match inputs(paths, settings)? {
            Some(inputs) if !settings.no_cache => {
                let opened = cache().and_then(|cache| Self::open_cached(paths, &inputs, settings, &cache, progress));
                match opened {
                    Err(error) if error.is_about_cache() => {
                        tell_uncached(&error, progress);
                        Self::open_temporary(paths, Some(&inputs), settings, progress)
                    }
                    opened => opened,
                }
            }
            inputs => Self::open_temporary(paths, inputs.as_ref(), settings, progress),
        }
    }

    /// Ingests into a folder that goes away with the workspace.
    fn open_temporary(
        paths: &[PathBuf],
        inputs: Option<&Inputs>,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, AnalysisError> {
        let parent = std::env::temp_dir();
        owned::sweep(&parent, TEMPORARY_PREFIX);
        let fail = |source| AnalysisError::Cache { path: parent.clone(), source }.at_place(&parent, TEMPORARY_FULL);
        let folder = OwnedFolder::create(&parent, TEMPORARY_PREFIX).map_err(fail)?;
        let ingested = ingest(paths, folder.path(), settings, progress);
        ingested.map_err(|error| error.at_place(&parent, TEMPORARY_FULL))?;
        if let Some(inputs) = inputs {
            tell_change(paths, inputs, settings, progress)?;
        }
        Self::open_runs(&Store::open(folder.path())?, None, settings, Held::Temporary { _folder: folder })
    }

    /// Opens the store that the cache has for the traces, or fills it.
    fn open_cached(
        paths: &[PathBuf],
        inputs: &Inputs,
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, AnalysisError> {
        cache.check_owner()?;
        let setup = Setup::of(settings);
        let filling = match cache.place(inputs, &setup, progress)? {
            Place::ToFill(filling) => filling,
            Place::Ready(store) => match Self::open_kept(store, settings) {
                // A strict user shall hear what is broken, and where, from the trace itself.
                Ok(workspaces) if settings.strict && workspaces.iter().any(Self::is_damaged) => {
                    return Self::open_temporary(paths, Some(inputs), settings, progress);
                }
                Err(error) if error.is_broken_store() => {
                    progress.notice("the cache holds a damaged store of this trace; reading the trace again");
                    cache.discard(inputs, &setup)?;
                    match cache.place(inputs, &setup, progress)? {
                        Place::ToFill(filling) => filling,
                        // Somebody has the damaged store open, so it could not be removed.
                        Place::Ready(_) => return Self::open_temporary(paths, Some(inputs), settings, progress),
                    }
                }
                result => return result,
            },
        };
        let outcome = ingest(paths, filling.path(), settings, progress)
            .map_err(|error| error.at_place(cache.root(), CACHE_FULL))?;
        if tell_change(paths, inputs, settings, progress)? || outcome.is_transient {
            return Self::open_unkept(filling.detach()?, settings);
        }
        let sources: Vec<&SourceRecord> = outcome.sources.iter().map(|source| &source.record).collect();
        match filling.publish(&sources)? {
            Published::Kept(store) => Self::open_kept(store, settings),
            Published::Unkept(filling) => Self::open_unkept(filling, settings),
        }
    }

    fn open_kept(store: CachedStore, settings: &Settings) -> Result<Vec<Self>, AnalysisError> {
        Self::open_runs(&Store::open(store.root())?, None, settings, Held::Cached { store })
    }

    fn open_unkept(filling: Filling, settings: &Settings) -> Result<Vec<Self>, AnalysisError> {
        Self::open_runs(&Store::open(filling.path())?, None, settings, Held::Unkept { _filling: filling })
    }

    /// Opens the runs that are meant, of these or of all that the store has.
    fn open_runs(
        store: &Store,
        runs: Option<Vec<String>>,
        settings: &Settings,
        held: Held,
    ) -> Result<Vec<Self>, AnalysisError> {
        let runs = runs.map_or_else(|| store.runs(), Ok)?;
        let held = Arc::new(held);
        settings.run.of(runs, store)?.into_iter().map(|run| Self::open_run(store, run, settings, &held)).collect()
    }

    fn open_run(store: &Store, run: String, settings: &Settings, held: &Arc<Held>) -> Result<Self, AnalysisError> {
        let mut sources = store.sources(&run)?;
        let mut skipped = store.skipped(&run)?;
        if let Held::Cached { store } = &**held {
            let paths = sources.iter_mut().map(|source| &mut source.path);
            paths.chain(skipped.iter_mut().map(|file| &mut file.path)).for_each(|path| store.rename(path));
        }
        let default = EngineOptions::default();
        let memory_limit_bytes = settings.memory_limit_bytes() as usize;
        let threads = settings.threads.unwrap_or(default.threads);
        let engine = Engine::open(store, &run, &EngineOptions { memory_limit_bytes, threads, ..default })?;
        Ok(Self {
            store: store.clone(),
            run,
            sources,
            skipped,
            engine,
            settings: settings.clone(),
            shapes: ShapeCache::default(),
            readers: ReaderCache::default(),
            curves: CurveCache::default(),
            searches: SearchCache::default(),
            names: NameCache::default(),
            _held: Arc::clone(held),
        })
    }

    fn is_damaged(&self) -> bool {
        self.sources.iter().any(|source| source.damage_notice().is_some())
            || self.skipped.iter().any(|file| file.is_unreadable)
    }

    /// The recording that is meant.
    pub(crate) fn source(&self, rank: Option<u32>, window: Option<u32>) -> Result<&SourceRecord, AnalysisError> {
        match self.sources_of(rank, window)?[..] {
            [source] => Ok(source),
            ref found => Err(AnalysisError::SeveralSources { count: found.len(), names: source_names(found) }),
        }
    }

    /// The recordings of a rank, a window or both; never none.
    fn sources_of(&self, rank: Option<u32>, window: Option<u32>) -> Result<Vec<&SourceRecord>, AnalysisError> {
        let fits = |source: &&SourceRecord| {
            rank.is_none_or(|rank| source.id.rank == rank) && window.is_none_or(|window| source.id.window == window)
        };
        let found: Vec<&SourceRecord> = self.sources.iter().filter(fits).collect();
        if found.is_empty() {
            let part = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {value}"));
            let what: Vec<String> = [part("rank", rank), part("window", window)].into_iter().flatten().collect();
            return Err(AnalysisError::NoSuchSource {
                what: what.join(", "),
                names: source_names(&self.sources.iter().collect::<Vec<_>>()),
            });
        }
        Ok(found)
    }
}

fn ingest(
    paths: &[PathBuf],
    root: &Path,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, AnalysisError> {
    let store = Store::create(root)?;
    Ok(stepscope_ingest::ingest(paths, &store, &ingest_options(settings), progress)?)
}

/// What the settings mean for an ingest.
pub(crate) fn ingest_options(settings: &Settings) -> Options {
    Options {
        separate_runs: settings.separate_runs,
        flat_folders: settings.flat_folders,
        strict: settings.strict,
        memory_limit_bytes: settings.memory_limit_bytes(),
        extras: settings.extras,
        ..Options::default()
    }
}

/// Ingests into a store of the user.
fn ingest_into_store(
    paths: &[PathBuf],
    root: &Path,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, AnalysisError> {
    Output::refuse_folder(root, paths)?;
    let before = inputs(paths, settings).ok().flatten();
    let ingested = ingest(paths, root, settings, progress).map_err(|error| error.at_place(root, STORE_FULL))?;
    if let Some(before) = before {
        tell_change(paths, &before, settings, progress)?;
    }
    Ok(ingested)
}

/// The files behind the paths; `None` if they cannot be read twice.
fn inputs(paths: &[PathBuf], settings: &Settings) -> Result<Option<Inputs>, AnalysisError> {
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Ok(None);
    }
    let fail = |source| {
        let path = paths.first().cloned().unwrap_or_default();
        AnalysisError::Ingest(stepscope_ingest::IngestError::Open { path, source })
    };
    Inputs::look(paths, settings.flat_folders).map_err(fail)
}

/// Whether a file is not what it was when reading began: then what was read is neither the old file nor the new one.
/// A strict user is refused.
fn tell_change(
    paths: &[PathBuf],
    before: &Inputs,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<bool, AnalysisError> {
    let after = inputs(paths, settings).ok().flatten();
    let changed = match &after {
        Some(after) => before.difference(after),
        None => paths.first().cloned(),
    };
    let Some(path) = changed else { return Ok(false) };
    if settings.strict {
        return Err(AnalysisError::Changed { path });
    }
    let path = path.display();
    progress.notice(&format!(
        "{path}: the file changed while it was read; the job may still be writing it, so the answer is not kept"
    ));
    Ok(true)
}

/// Says why nothing is kept of a trace: it is read again the next time.
fn tell_uncached(error: &AnalysisError, progress: &dyn Progress) {
    let place = error.location().map_or_else(String::new, |place| format!(": {place}"));
    let why = error.why_uncached();
    progress.notice(&format!("using a temporary store, the cache cannot be used: {why}{place}"));
}

/// Says what is broken, also when it was found out long ago: a cached answer is no better than a fresh one.
fn tell_damage<'a>(sources: impl IntoIterator<Item = &'a SourceRecord>, progress: &dyn Progress) {
    const TOLD: usize = 4;
    let notices: Vec<String> = sources.into_iter().filter_map(SourceRecord::damage_notice).collect();
    for notice in notices.iter().take(TOLD) {
        progress.notice(notice);
    }
    if notices.len() > TOLD {
        progress
            .notice(&format!("{} more recordings are broken; `stepscope health` has them all", notices.len() - TOLD));
    }
}

/// Says why files that lie together are several runs.
fn tell_apart<'a>(sources: impl Iterator<Item = &'a SourceRecord>, progress: &dyn Progress) {
    const TOLD: usize = 4;
    let apart: Vec<(&str, &str)> =
        sources.filter_map(|source| Some((source.path.as_str(), source.apart_because.as_deref()?))).collect();
    for (path, reason) in apart.iter().take(TOLD) {
        progress.notice(&format!("{path} is a separate run: {reason}"));
    }
    if apart.len() > TOLD {
        progress.notice(&format!("{} more files are separate runs", apart.len() - TOLD));
    }
}

/// Says what lies beside the traces and was not read.
fn tell_skipped(files: &[SkippedFile], progress: &dyn Progress) {
    for sentence in skipped_sentences(files) {
        progress.notice(&sentence);
    }
}

/// The store at `path`, or the store and run that `path` is the folder of.
pub(crate) fn as_store(path: &Path) -> Option<(PathBuf, Option<String>)> {
    if Store::is_store(path) {
        return Some((path.to_owned(), None));
    }
    let runs = path.parent()?;
    let root = runs.parent()?;
    let is_run = runs.file_name()? == "runs" && path.join("sources").is_dir() && Store::is_store(root);
    is_run.then(|| (root.to_owned(), path.file_name().map(|name| name.to_string_lossy().into_owned())))
}

fn run_names(ingested: &[Ingested]) -> Vec<String> {
    let mut names: Vec<String> = ingested.iter().map(|source| source.record.run.clone()).collect();
    names.sort();
    names.dedup();
    names
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

/// What to say about steps that were asked for and are not in the trace, if there are such.
fn steps_left_out(asking: &Asking<'_>) -> Option<String> {
    let (asked, steps) = (asking.question.steps?, asking.steps.as_ref()?);
    let range = |first: i64, last: i64| match last - first {
        0 => format!("step {first}"),
        _ => format!("steps {first} to {last}"),
    };
    let ((first, last), (asked_first, asked_last)) = (steps.numbers, (asked.first.into(), asked.last.into()));
    let before = (asked_first < first).then(|| range(asked_first, first - 1));
    let after = (asked_last > last).then(|| range(last + 1, asked_last));
    let left_out: Vec<String> = before.into_iter().chain(after).collect();
    let verb = if left_out.len() == 1 && left_out[0].starts_with("step ") { "is" } else { "are" };
    let noun = if steps.all.parse::<i64>().is_ok() { "step" } else { "steps" };
    let note = || format!("{} {verb} not in the trace: it has {noun} {}", left_out.join(" and "), steps.all);
    (!left_out.is_empty()).then(note)
}

fn source_names(sources: &[&SourceRecord]) -> String {
    let names: Vec<String> =
        sources.iter().map(|source| format!("rank {} window {}", source.id.rank, source.id.window)).collect();
    shortened(&names)
}
