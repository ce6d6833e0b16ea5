//! The runs that are open, as answers see them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use axum::http::StatusCode;
use stepscope_model::{Problem, RunState, RunStatus, Session, SkippedFile, SourceSummary};
use stepscope_workspace::Workspace;

use crate::failure::Failure;
use crate::meter::Meter;

/// The runs that are open. The keeper changes them, answers look at them.
#[derive(Default)]
pub struct App {
    runs: RwLock<Vec<Arc<OpenRun>>>,
    /// The last revision that was given; no two states of any run share one.
    revisions: AtomicU64,
    /// Files that were not read, by what the user named or the folder they were found in.
    skipped: RwLock<BTreeMap<String, Vec<SkippedFile>>>,
}

/// One run, and how far it is.
pub(crate) struct OpenRun {
    name: String,
    now: RwLock<Now>,
    meter: Mutex<Meter>,
}

/// How far a run is.
#[derive(Default)]
struct Now {
    /// What can be asked, also while a newer state of the traces is read.
    ready: Option<Ready>,
    is_reading: bool,
    error: Option<Problem>,
}

struct Ready {
    revision: u64,
    workspace: Arc<Workspace>,
    sources: Vec<SourceSummary>,
}

impl App {
    /// Adds a run that is ready, behind the others.
    pub fn add(&self, name: &str, workspace: Workspace) -> Result<(), stepscope_workspace::RunError> {
        let sources = workspace.source_summaries()?;
        self.finish(name, workspace, sources);
        Ok(())
    }

    /// Puts a state of a run in place of the one before.
    pub(crate) fn finish(&self, name: &str, workspace: Workspace, sources: Vec<SourceSummary>) {
        let revision = self.revisions.fetch_add(1, Ordering::Relaxed) + 1;
        self.run(name).finish(Ready { revision, workspace: Arc::new(workspace), sources });
    }

    /// What is open, and how far it is.
    #[must_use]
    pub fn session(&self) -> Session {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let skipped = self.skipped.read().unwrap_or_else(PoisonError::into_inner);
        Session {
            version: env!("CARGO_PKG_VERSION"),
            pages: stepscope_workspace::pages(),
            runs: runs.iter().map(|run| run.status()).collect(),
            skipped_files: skipped.values().flatten().cloned().collect(),
        }
    }

    /// Notes which files of a place were not read.
    pub(crate) fn skip(&self, place: &str, files: &[SkippedFile]) {
        self.skipped.write().unwrap_or_else(PoisonError::into_inner).insert(place.to_owned(), files.to_vec());
    }

    /// The run of a name; made if it is not there.
    pub(crate) fn run(&self, name: &str) -> Arc<OpenRun> {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.iter().find(|run| run.name == name) {
            return Arc::clone(run);
        }
        let run = Arc::new(OpenRun { name: name.to_owned(), now: RwLock::default(), meter: Mutex::default() });
        runs.push(Arc::clone(&run));
        run
    }

    /// Forgets a run.
    pub(crate) fn remove(&self, name: &str) {
        self.runs.write().unwrap_or_else(PoisonError::into_inner).retain(|run| run.name != name);
    }

    /// What answers questions about a run, and its revision.
    pub(crate) fn workspace(&self, name: &str) -> Result<(Arc<Workspace>, u64), Failure> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = runs.iter().find(|run| run.name == name) else {
            let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).take(20).collect();
            let failure = Failure::new(StatusCode::NOT_FOUND, format!("found no run: {name}"));
            return Err(failure.with_hint(format!("runs: {}", names.join(", "))));
        };
        let now = run.now.read().unwrap_or_else(PoisonError::into_inner);
        match (&now.ready, &now.error) {
            (Some(ready), _) => Ok((Arc::clone(&ready.workspace), ready.revision)),
            (None, Some(problem)) => {
                Err(Failure { status: StatusCode::UNPROCESSABLE_ENTITY, problem: problem.clone() })
            }
            (None, None) => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, format!("{name} is still being read"))
                .with_hint("read `api/session` for the progress")),
        }
    }
}

impl OpenRun {
    /// Its traces are being read, for the first time or again.
    pub(crate) fn begin(&self) {
        self.follow(|meter| *meter = Meter::default());
        self.now.write().unwrap_or_else(PoisonError::into_inner).is_reading = true;
    }

    /// Notes how far the reading is.
    pub(crate) fn follow(&self, note: impl FnOnce(&mut Meter)) {
        note(&mut self.meter.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn finish(&self, ready: Ready) {
        let before = std::mem::replace(
            &mut *self.now.write().unwrap_or_else(PoisonError::into_inner),
            Now { ready: Some(ready), ..Now::default() },
        );
        // Closing takes a moment, and nobody should wait for it.
        drop(before);
    }

    pub(crate) fn fail(&self, error: Problem) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        now.is_reading = false;
        now.error = Some(error);
    }

    fn status(&self) -> RunStatus {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        let state = match (&now.ready, &now.error) {
            (Some(_), _) => RunState::Ready,
            (None, Some(_)) if !now.is_reading => RunState::Failed,
            _ => RunState::Reading,
        };
        let progress =
            now.is_reading.then(|| self.meter.lock().unwrap_or_else(PoisonError::into_inner).shown().clone());
        let ready = now.ready.as_ref();
        RunStatus {
            run: self.name.clone(),
            state,
            progress,
            error: now.error.clone(),
            revision: ready.map_or(0, |ready| ready.revision),
            sources: ready.map(|ready| ready.sources.clone()).unwrap_or_default(),
            apart_because: ready.and_then(|ready| ready.workspace.apart_because()).map(str::to_owned),
        }
    }
}
