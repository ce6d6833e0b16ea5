//! A job with faults: what it is made for, and which of its faults are switched on.

use std::path::{Path, PathBuf};

use crate::error::SimulateError;

use super::fault::Fault;
use super::machine;
use super::recording::RankRecording;
use super::script;
use super::setup::Setup;
use super::trace;

/// A training job with faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyJob {
    seed: u64,
    /// What the job is made for: how many ranks it has, and whether it is compiled, follows from it.
    faults: Vec<Fault>,
    /// What of it is switched on.
    on: Vec<Fault>,
}

impl FaultyJob {
    /// The job of a seed with these faults, or a healthy one without any.
    #[must_use]
    pub fn new(seed: u64, faults: &[Fault]) -> Self {
        Self { seed, faults: faults.to_vec(), on: faults.to_vec() }
    }

    /// The same job with one fault removed.
    #[must_use]
    pub fn without(&self, fault: Fault) -> Self {
        Self { on: self.on.iter().copied().filter(|&on| on != fault).collect(), ..self.clone() }
    }

    /// The same job with all of its faults removed.
    #[must_use]
    pub fn without_all(&self) -> Self {
        Self { on: Vec::new(), ..self.clone() }
    }

    /// The faults that it is made for.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// A name that no other job has: its faults and its seed.
    #[must_use]
    pub fn name(&self) -> String {
        let faults: Vec<&str> = self.faults.iter().map(|fault| fault.name()).collect();
        let faults = if faults.is_empty() { "healthy".to_owned() } else { faults.join("+") };
        format!("{faults}-{}", self.seed)
    }

    /// Plays the job; gives what happened on each rank.
    #[must_use]
    pub fn play(&self) -> Vec<RankRecording> {
        let setup = self.setup();
        let programs: Vec<_> = (0..setup.ranks).map(|rank| script::program(&setup, rank)).collect();
        machine::play(&setup, &programs)
    }

    /// Writes the trace of every rank into `folder`, which is made if it is not there; gives their paths, by rank.
    pub fn write_traces(&self, folder: &Path) -> Result<Vec<PathBuf>, SimulateError> {
        trace::write(&self.setup(), &self.play(), folder)
    }

    /// Rows of a batch: what a step does more or less of if the batch changes.
    pub(crate) fn rows(&self) -> i64 {
        self.setup().network.rows
    }

    fn setup(&self) -> Setup {
        Setup::draw(self.seed, &self.faults, &self.on)
    }
}
