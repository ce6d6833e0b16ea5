//! The façade: a run that is open for questions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use stepscope_engine::{CancelFlag, QueryOptions, QueryResult};
use stepscope_ingest::Progress;
use stepscope_model::warning::is_loss;
use stepscope_model::{
    Cell, Part, Report, Role, Sentence, SkippedFile, SourceId, SourceRecord, SourceSummary, Target, Text, say,
    skipped_sentences,
};
use stepscope_runs::{AnalysisError, Cache, Frame, OpenRun, RunInput, Settings, report_of};

use crate::analyses::{Analysis, Asking, Question, StepNumbers};
use crate::timeline::{CurveCache, NameCache, ReaderCache, SearchCache, ShapeCache};
use crate::trim::Trimmed;
use crate::{metrics, views};

/// A run that is open for questions.
pub struct Workspace {
    pub(crate) run: OpenRun,
    /// Lanes of timelines that were worked out before.
    pub(crate) shapes: ShapeCache,
    /// Tables that timelines read.
    pub(crate) readers: ReaderCache,
    /// Curves of the timeline that was looked at last.
    pub(crate) curves: CurveCache,
    /// Spans that searches found.
    pub(crate) searches: SearchCache,
    /// Names of the recording that was searched last.
    pub(crate) names: NameCache,
}

impl From<OpenRun> for Workspace {
    fn from(run: OpenRun) -> Self {
        Self {
            run,
            shapes: ShapeCache::default(),
            readers: ReaderCache::default(),
            curves: CurveCache::default(),
            searches: SearchCache::default(),
            names: NameCache::default(),
        }
    }
}

impl Workspace {
    /// Ingests traces and folders into the store of the settings; one row a source.
    pub fn ingest(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Report, AnalysisError> {
        Ok(views::ingest::report(&stepscope_runs::ingest(paths, settings, progress)?))
    }

    /// Looks for runs: the ones of a store, the files that are named together, each folder that holds files.
    pub fn find_runs(paths: &[PathBuf], settings: &Settings) -> Result<Vec<RunInput>, AnalysisError> {
        stepscope_runs::find_runs(paths, settings)
    }

    /// Opens a store, a run of a store, or traces; traces are ingested first unless the user's cache has them.
    pub fn open(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Self, AnalysisError> {
        OpenRun::open(paths, settings, progress).map(Self::from)
    }

    /// Like [`Self::open`], with a cache of one's own.
    pub fn open_with(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, AnalysisError> {
        OpenRun::open_with(paths, settings, cache, progress).map(Self::from)
    }

    /// Opens what [`Self::find_runs`] found: one run, or several where the traces of a folder are of several jobs.
    pub fn open_found(
        input: &RunInput,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, AnalysisError> {
        Ok(OpenRun::open_found(input, settings, progress)?.into_iter().map(Self::from).collect())
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
        report_of("sql", rows)
    }

    /// Answers a query with columns, for who works on with them.
    pub fn query(
        &self,
        statement: &str,
        max_rows: Option<usize>,
        cancel: &CancelFlag,
    ) -> Result<QueryResult, AnalysisError> {
        let options = QueryOptions { max_rows, ..self.run.query_options(cancel) };
        Ok(self.run.engine().query(statement, &options)?)
    }

    /// Names of the columns that a query answers with.
    pub fn column_names(&self, statement: &str, cancel: &CancelFlag) -> Result<Vec<String>, AnalysisError> {
        Ok(self.run.engine().column_names(statement, &self.run.query_options(cancel))?)
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
        if asking.sources.iter().all(|source| source.is_profile() && !analysis.reads.contains(&source.content)) {
            let text = say!(
                "This is a profile of Python functions, with nothing in it for `{}`: see `{}`.",
                analysis.name,
                Target::of("functions")
            );
            report.parts.insert(0, Part::Text(text.into()));
        }
        if let Some(note) = steps_left_out(&asking) {
            report.data.push(("notes", Cell::Sentences(vec![note.clone()])));
            report.parts.push(Part::Text(Text::labelled(Role::Steps, vec![note])));
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

    /// The name of the run in its store.
    #[must_use]
    pub fn run_name(&self) -> &str {
        self.run.name()
    }

    fn asking<'a>(&'a self, question: &'a Question) -> Result<Asking<'a>, AnalysisError> {
        let sources = self.run.sources_of(&question.ranks, question.window)?;
        let all_sources = self.run.sources().len();
        let (engine, run) = (self.run.engine(), self.run.name());
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
        let mut report = views::tracks::report(self.run.engine())?;
        if self.is_profile() {
            let text = "A profile of Python functions has sums and no times of day, so there are no tracks.";
            report.parts.insert(0, Part::Text(text.into()));
        }
        Ok(report)
    }

    /// Trace health of these recordings.
    pub fn health(&self, rank: Option<u32>, window: Option<u32>) -> Result<Report, AnalysisError> {
        let mut report = views::health::report(self.run.engine(), &self.run.sources_of(rank.as_slice(), window)?)?;
        let sentences = skipped_sentences(self.run.skipped_files())
            .into_iter()
            .map(|sentence| Part::Text(format!("{sentence}.").into()));
        report.parts.splice(1..1, sentences);
        Ok(report)
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
        metrics::measure(self.run.engine(), self.run.source(rank, window)?, cancel)
    }

    /// Every recording of the run, in short.
    pub fn source_summaries(&self) -> Result<Vec<SourceSummary>, AnalysisError> {
        let grades = views::health::grades(self.run.engine(), self.run.sources())?;
        let steps = "SELECT rank, \"window\", count(*) AS steps FROM steps WHERE is_complete GROUP BY rank, \"window\"";
        let steps = Frame::new(self.run.ask(steps, &CancelFlag::default())?);
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
                health: grades.get(&source.id).and_then(|standing| standing.grade),
                devices: names.filter(|name| !name.is_empty()).collect(),
                complete_steps: row.map_or(0, |row| counts[row] as u64),
                rows: source.rows.clone(),
            }
        };
        Ok(self.run.sources().iter().map(summary).collect())
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

/// What to say about steps that were asked for and are not in the trace, if there are such.
fn steps_left_out(asking: &Asking<'_>) -> Option<Sentence> {
    let (asked, steps) = (asking.question.steps?, asking.steps.as_ref()?);
    let range = |first: i64, last: i64| match last - first {
        0 => format!("step {first}"),
        _ => format!("steps {first} to {last}"),
    };
    let ((first, last), (asked_first, asked_last)) = (steps.numbers, (asked.first.into(), asked.last.into()));
    let before = (asked_first < first).then(|| range(asked_first, first - 1));
    let after = (asked_last > last).then(|| range(last + 1, asked_last));
    let is_one = (first - asked_first).max(0) + (asked_last - last).max(0) == 1;
    let left_out: Vec<String> = before.into_iter().chain(after).collect();
    let verb = if is_one { "is" } else { "are" };
    let noun = if steps.all.parse::<i64>().is_ok() { "step" } else { "steps" };
    let note = || format!("{} {verb} not in the trace: it has {noun} {}", left_out.join(" and "), steps.all).into();
    (!left_out.is_empty()).then(note)
}
