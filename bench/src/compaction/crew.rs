//! The compactors, processes that are killed and started again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use stepscope_gather::{Compactor, QUIET};
use stepscope_objects::{Bucket, Place};
use stepscope_testkit::Random;

use super::{RUN, Wanted, at_once, none};
use crate::child;
use crate::rows::{Row, Status};

/// Longest time between two kills.
const KILL_EACH_MS: usize = 200;

/// How long the compactors may take to end.
const TIME_LIMIT: Duration = Duration::from_mins(20);

/// What a compactor does until it is told to end.
#[derive(Clone, Debug)]
pub(crate) struct CompactLoop {
    /// The store.
    pub(crate) place: String,
    /// A file that tells it to end, once there is nothing left to do.
    pub(crate) stop: PathBuf,
    /// A folder for files on their way.
    pub(crate) scratch: PathBuf,
}

/// Compacts round after round. May be killed at any point.
pub(crate) fn work(wanted: &CompactLoop) -> Result<()> {
    let bucket = Bucket::open(&Place::parse(&wanted.place)?)?;
    let mut compactor = Compactor::new(&bucket, RUN, &at_once(Some(wanted.scratch.clone())))?;
    loop {
        let is_last = wanted.stop.exists();
        match compactor.round(QUIET) {
            Ok(done) if is_last && done.added == 0 => return Ok(()),
            Ok(_) => {}
            Err(error) if error.is_temporary() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The compactors at work. None outlives this.
pub(super) struct Crew {
    command: CompactLoop,
    environment: BTreeMap<String, String>,
    members: Vec<Option<Child>>,
    kills: u32,
    failures: Vec<String>,
}

impl Crew {
    pub(super) fn start(wanted: Wanted, command: &CompactLoop, environment: BTreeMap<String, String>) -> Result<Self> {
        let (kills, failures) = (0, Vec::new());
        let mut crew = Self { command: command.clone(), environment, members: Vec::new(), kills, failures };
        for _ in 0..wanted.processes {
            let process = crew.spawn()?;
            crew.members.push(Some(process));
        }
        Ok(crew)
    }

    /// Kills one after the other at random times, and starts each again.
    pub(super) fn kill_by_and_by(&mut self, wanted: Wanted) -> Result<()> {
        let mut random = Random::new(wanted.seed ^ 1);
        while self.kills < wanted.kills {
            thread::sleep(Duration::from_millis(random.below(KILL_EACH_MS) as u64));
            self.look()?;
            let victim = random.below(self.members.len());
            if let Some(mut process) = self.members[victim].take() {
                process.kill()?;
                process.wait()?;
                self.kills += 1;
            }
            self.members[victim] = Some(self.spawn()?);
        }
        Ok(())
    }

    /// Tells all to end, and waits for that.
    pub(super) fn end(&mut self, wanted: &CompactLoop) -> Result<()> {
        std::fs::write(&wanted.stop, "")?;
        let deadline = Instant::now() + TIME_LIMIT;
        while self.members.iter().any(Option::is_some) {
            self.look()?;
            if Instant::now() > deadline {
                bail!("compactors took longer than {} minutes", TIME_LIMIT.as_secs() / 60);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub(super) fn rows(&self, wanted: Wanted) -> Vec<Row> {
        let killed = if self.kills >= wanted.kills {
            Row::figure("compactors killed", f64::from(self.kills), "")
        } else {
            Row::without("compactors killed", Status::Failed, format!("only {}", self.kills))
        };
        vec![killed, none("compactors that failed", &self.failures)]
    }

    /// Notes who has ended.
    fn look(&mut self) -> Result<()> {
        for member in &mut self.members {
            let Some(process) = member else { continue };
            if let Some(status) = process.try_wait()? {
                if !status.success() {
                    self.failures.push(format!("one with {status}"));
                }
                *member = None;
            }
        }
        Ok(())
    }

    fn spawn(&self) -> Result<Child> {
        let mut command = child::this()?;
        command.arg("compact-loop").arg(&self.command.place).arg(&self.command.stop).arg(&self.command.scratch);
        Ok(command.envs(&self.environment).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for process in self.members.iter_mut().flatten() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
