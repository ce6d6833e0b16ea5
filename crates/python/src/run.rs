//! A run that is open for questions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::Value;
use stepscope_cli::command;
use stepscope_model::{Report, SourceId, StepRange};
use stepscope_report::html::{notebook, timeline};
use stepscope_workspace::{
    ANALYSES, AskedChange, CancelFlag, Pick, Progress, Question, Rows, RunChoice, RunError, Settings, Stretch,
    Thresholds, Workspace, diff,
};

use crate::batches::NativeBatches;
use crate::report::NativeReport;
use crate::table::NativeTable;
use crate::words::of_python;
use crate::{errors, waiting};

/// Tracks that people see unless they say otherwise.
const SHOWN_TRACKS: usize = 100;

/// A run.
#[pyclass(frozen)]
pub(crate) struct NativeRun {
    workspace: Arc<Workspace>,
    /// What it was opened with.
    inputs: Vec<PathBuf>,
    /// The traces among them.
    paths: Vec<PathBuf>,
}

/// Which part of a run is asked about; see `Question`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Part {
    ranks: Vec<u32>,
    window: Option<u32>,
    steps: Option<(u32, u32)>,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
    group_by: Vec<String>,
    samples_per_step: Option<f64>,
}

impl Part {
    fn question(self) -> Question {
        Question {
            ranks: self.ranks,
            window: self.window,
            steps: self.steps.map(|(first, last)| StepRange { first, last }),
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            group_by: self.group_by,
            thresholds: Thresholds::default(),
            samples_per_step: self.samples_per_step,
            cancel: CancelFlag::default(),
        }
    }
}

#[pymethods]
impl NativeRun {
    /// Opens traces, folders or a store. `progress` is called now and then with a sentence about what goes on, and with
    /// notices at the end.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "Python has keywords")]
    #[pyo3(signature = (paths, run, store, no_cache, strict, memory_limit_bytes, threads, progress))]
    fn open(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        run: Option<String>,
        store: Option<PathBuf>,
        no_cache: bool,
        strict: bool,
        memory_limit_bytes: Option<u64>,
        threads: Option<usize>,
        progress: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let run = RunChoice::named(run);
        let settings = Settings { run, store, no_cache, strict, memory_limit_bytes, threads, ..Settings::default() };
        let cancel = CancelFlag::default();
        let told = Told { state: Mutex::default(), cancel: cancel.clone() };
        let opened = waiting::wait(
            py,
            &cancel,
            || Workspace::open(&paths, &settings, &told),
            || {
                let going_on = told.state.lock().unwrap_or_else(PoisonError::into_inner).going_on.clone();
                match going_on {
                    Some((file, done, total)) => progress.call_method1("update", (file, done, total)).map(drop),
                    None => Ok(()),
                }
            },
        )?;
        let notices = std::mem::take(&mut told.state.lock().unwrap_or_else(PoisonError::into_inner).notices);
        progress.call_method1("finished", (notices,))?;
        let workspace = opened.map_err(|error| errors::of(py, &error))?;
        let inputs = paths.iter().cloned().chain(settings.store).collect();
        Ok(Self { workspace: Arc::new(workspace), inputs, paths })
    }

    #[getter]
    fn name(&self) -> String {
        self.workspace.run_info()["name"].as_str().unwrap_or_default().to_owned()
    }

    /// The recordings as JSON.
    fn sources(&self, py: Python<'_>) -> PyResult<String> {
        let sources = py.detach(|| self.workspace.source_summaries()).map_err(|error| errors::of(py, &error))?;
        Ok(serde_json::to_string(&sources).unwrap_or_default())
    }

    /// Answers an analysis.
    fn analyze(&self, py: Python<'_>, name: &str, part: Part) -> PyResult<NativeReport> {
        let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) else {
            return Err(errors::usage(py, &format!("found no analysis: {name}"), None));
        };
        let question = part.question();
        self.report(py, &question.cancel, analysis.usual_rows, || self.workspace.analyze(analysis, &question))
    }

    /// Replays the steps with changes, each a name and a value.
    fn whatif(&self, py: Python<'_>, changes: Vec<(String, Option<String>)>, part: Part) -> PyResult<NativeReport> {
        let read = |(name, value): (String, Option<String>)| {
            AskedChange::new(&name, value.as_deref()).map_err(|error| {
                let found = value.map(|value| format!(", found {value}")).unwrap_or_default();
                errors::usage(py, &format!("{name}: {error}{found}"), None)
            })
        };
        let changes = changes.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
        if changes.is_empty() {
            return Err(errors::usage(py, "no change given", Some("pass one, for example `no_sync=True`")));
        }
        let question = part.question();
        self.report(py, &question.cancel, None, || self.workspace.whatif(&changes, &question))
    }

    /// Compares it with a later run.
    fn diff(&self, py: Python<'_>, later: &Self, part: Part) -> PyResult<NativeReport> {
        let question = part.question();
        let answer = || Ok(diff(&self.workspace.diff_side(&question)?, &later.workspace.diff_side(&question)?));
        let report = asked(py, &question.cancel, answer)?;
        let of_both = |info: fn(&Workspace) -> Value| Value::Array(vec![info(&self.workspace), info(&later.workspace)]);
        Ok(NativeReport::new(report, None, of_both(Workspace::run_info), of_both(Workspace::health_info)))
    }

    fn tracks(&self, py: Python<'_>) -> PyResult<NativeReport> {
        self.report(py, &CancelFlag::default(), Some(SHOWN_TRACKS), || self.workspace.tracks())
    }

    fn health(&self, py: Python<'_>, rank: Option<u32>, window: Option<u32>) -> PyResult<NativeReport> {
        self.report(py, &CancelFlag::default(), None, || self.workspace.health(rank, window))
    }

    /// Every figure of one recording, as JSON.
    fn metrics(&self, py: Python<'_>, rank: Option<u32>, window: Option<u32>) -> PyResult<String> {
        let cancel = CancelFlag::default();
        let metrics = asked(py, &cancel, || self.workspace.metrics_with(rank, window, &cancel))?;
        Ok(metrics.to_string())
    }

    /// Answers a query with columns.
    fn sql(&self, py: Python<'_>, statement: &str, max_rows: Option<usize>) -> PyResult<NativeTable> {
        let cancel = CancelFlag::default();
        let result = asked(py, &cancel, || self.workspace.query(statement, max_rows, &cancel))?;
        Ok(NativeTable::new(result.schema, result.batches))
    }

    /// Begins a query whose rows come batch by batch.
    fn sql_batches(&self, py: Python<'_>, statement: &str, max_rows: Option<usize>) -> PyResult<NativeBatches> {
        let cancel = CancelFlag::default();
        let begin = || Rows::of(Arc::clone(&self.workspace), statement, Pick::default(), max_rows, &cancel);
        let rows = asked(py, &cancel, begin)?;
        Ok(NativeBatches::new(rows, cancel))
    }

    /// What the run was opened with: nothing may be written there.
    #[getter]
    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    /// A picture of the timeline between two times, as markup; the whole recording without them.
    fn picture(
        &self,
        py: Python<'_>,
        source: (u32, u32),
        from_ns: Option<i64>,
        to_ns: Option<i64>,
    ) -> PyResult<String> {
        let (rank, window) = source;
        let cancel = CancelFlag::default();
        let picture = asked(py, &cancel, || {
            let frame = self.workspace.timeline(Some(rank), Some(window), &cancel)?;
            let (from_ns, to_ns) = (from_ns.unwrap_or(frame.start_ns), to_ns.unwrap_or(frame.end_ns));
            let stretch = Stretch { from_ns, to_ns, columns: timeline::columns() };
            self.workspace.picture(SourceId { rank, window }, stretch, &cancel)
        })?;
        Ok(notebook::picture(&picture))
    }
}

impl NativeRun {
    fn report(
        &self,
        py: Python<'_>,
        cancel: &CancelFlag,
        shown_rows: Option<usize>,
        answer: impl FnOnce() -> Result<Report, RunError> + Send,
    ) -> PyResult<NativeReport> {
        let mut report = asked(py, cancel, answer)?;
        report.spell(&|target| command::of_paths(target, &self.paths));
        Ok(NativeReport::new(report, shown_rows, self.workspace.run_info(), self.workspace.health_info()))
    }
}

/// An answer, waited for.
fn asked<T: Send>(
    py: Python<'_>,
    cancel: &CancelFlag,
    answer: impl FnOnce() -> Result<T, RunError> + Send,
) -> PyResult<T> {
    waiting::wait(py, cancel, answer, || Ok(()))?.map_err(|error| errors::of(py, &error))
}

/// What an ingest tells.
struct Told {
    state: Mutex<State>,
    cancel: CancelFlag,
}

#[derive(Default)]
struct State {
    /// The file, and how much of it is done of how much.
    going_on: Option<(String, u64, Option<u64>)>,
    notices: Vec<String>,
}

impl Told {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Told {
    fn update(&self, file: &str, bytes_done: u64, bytes_total: Option<u64>) {
        self.change(|state| state.going_on = Some((file.to_owned(), bytes_done, bytes_total)));
    }

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        self.cancel.is_canceled()
    }

    fn notice(&self, message: &str) {
        self.change(|state| state.notices.push(of_python(message)));
    }
}
