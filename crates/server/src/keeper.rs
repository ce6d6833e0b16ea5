//! Reads traces in the background, and notices new and changed ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stepscope_workspace::{CancelFlag, Progress, RunError, RunInput, Settings, Workspace};

use crate::app::{App, OpenRun};
use crate::failure::problem_of;
use crate::meter::Meter;

/// How often folders are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long it may take to stop.
const NAP: Duration = Duration::from_millis(50);

/// Keeps the runs of an [`App`] as they are on disk.
pub struct Keeper {
    /// Where the runs go.
    pub app: Arc<App>,
    /// What the user named.
    pub paths: Vec<PathBuf>,
    /// How to open it.
    pub settings: Settings,
    /// Ends it.
    pub stop: CancelFlag,
    /// Hears about runs that cannot be read.
    pub tell: Box<dyn Fn(&str) + Send>,
}

impl Keeper {
    /// Reads what there is, then looks for what is new, until it is stopped.
    pub fn run(&self) {
        let mut opened: Vec<Opened> = Vec::new();
        let mut before: Option<Vec<RunInput>> = None;
        while !self.stop.is_canceled() {
            // A folder that cannot be read just now may be there again the next time.
            if let Ok(found) = Workspace::find_runs(&self.paths, &self.settings) {
                // A file that is still being written changes from one look to the next.
                let is_settled = |run: &RunInput| before.as_ref().is_none_or(|before| before.contains(run));
                let is_open = |run: &RunInput| opened.iter().any(|known| known.input == *run);
                let new: Vec<&RunInput> = found.iter().filter(|run| !is_open(run) && is_settled(run)).collect();
                for run in &new {
                    self.app.run(&run.name).begin();
                }
                for input in new {
                    let names = self.open(input, found.len() == 1);
                    let known = opened.iter().position(|known| known.input.name == input.name);
                    let former = known.map(|place| opened.swap_remove(place).names).unwrap_or_default();
                    for gone in former.iter().filter(|name| !names.contains(name)) {
                        self.app.remove(gone);
                    }
                    opened.push(Opened { input: input.clone(), names });
                }
                before = Some(found);
            }
            let asleep = Instant::now();
            while asleep.elapsed() < LOOK_EVERY && !self.stop.is_canceled() {
                thread::sleep(NAP);
            }
        }
    }

    /// Opens the runs behind some files; their names.
    fn open(&self, input: &RunInput, is_only_one: bool) -> Vec<String> {
        let run = self.app.run(&input.name);
        let reading = Reading { run: Arc::clone(&run), stop: self.stop.clone() };
        let opened = Workspace::open_found(input, &self.settings, &reading).and_then(|workspaces| {
            let with_sources = |workspace: Workspace| Ok((workspace.source_summaries()?, workspace));
            workspaces.into_iter().map(with_sources).collect::<Result<Vec<_>, RunError>>()
        });
        match opened {
            Ok(workspaces) => {
                let is_alone = workspaces.len() == 1;
                let mut names = Vec::new();
                for (sources, workspace) in workspaces {
                    let name = input.name_of(workspace.run_name(), is_alone);
                    self.app.skip(&input.name, workspace.skipped_files());
                    self.app.finish(&name, workspace, sources);
                    names.push(name);
                }
                if !names.contains(&input.name) {
                    self.app.remove(&input.name);
                }
                return names;
            }
            Err(_) if self.stop.is_canceled() => {}
            // A log folder may hold other things beside its runs.
            Err(error) if error.is_without_traces() && !is_only_one => {
                self.app.skip(&input.name, error.skipped_files());
                self.app.remove(&input.name);
            }
            Err(error) => {
                let problem = problem_of(&error);
                (self.tell)(&problem.to_string());
                run.fail(problem);
            }
        }
        vec![input.name.clone()]
    }
}

/// Files that were opened, and the runs that they are.
struct Opened {
    input: RunInput,
    names: Vec<String>,
}

/// Shows how far a run is.
struct Reading {
    run: Arc<OpenRun>,
    stop: CancelFlag,
}

impl Progress for Reading {
    fn planned(&self, files: u64, bytes: u64) {
        self.run.follow(|meter| meter.plan(files, bytes));
    }

    fn update(&self, file: &str, bytes_done: u64, bytes_total: Option<u64>) {
        self.run.follow(|meter| meter.update(file, bytes_done, bytes_total));
    }

    fn finished_file(&self) {
        self.run.follow(Meter::finish_file);
    }

    fn canceled(&self) -> bool {
        self.stop.is_canceled()
    }

    // What is wrong with a recording stands in its health.
    fn notice(&self, _message: &str) {}
}
