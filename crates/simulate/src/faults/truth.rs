//! What removing a fault saves: the same job, played without it.

use serde_json::{Value, json};

use super::fault::Fault;
use super::job::FaultyJob;
use super::recording::RankRecording;

/// What is true of a job with faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Length of each step of the job: from the end of the step before on the last rank to its own.
    pub steps_ns: Vec<i64>,
    /// Ranks.
    pub ranks: usize,
    /// What removing each fault alone saves.
    pub savings: Vec<Saving>,
    /// What removing all of them saves.
    pub of_all: Saving,
}

/// The job without a fault, or without all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// The fault; `None` for all of them.
    pub fault: Option<Fault>,
    /// Length of each step without it.
    pub steps_ns: Vec<i64>,
    /// Steps without it that do the work of one step with it: less than 1 if the batch was too small.
    pub steps_per_step: f64,
    /// Time that a step takes less, for the same work, on average.
    pub saving_ns: i64,
}

impl Truth {
    /// Plays the job with all of its faults, without each of them, and without all.
    #[must_use]
    pub fn of(job: &FaultyJob) -> Self {
        let played = job.play();
        let steps_ns = job_steps_ns(&played);
        let saving = |fault: Option<Fault>| {
            let without = fault.map_or_else(|| job.without_all(), |fault| job.without(fault));
            let steps_without_ns = job_steps_ns(&without.play());
            let steps_per_step = job.rows() as f64 / without.rows() as f64;
            let saving_ns = mean(&steps_ns) - mean(&steps_without_ns) * steps_per_step;
            Saving { fault, steps_ns: steps_without_ns, steps_per_step, saving_ns: saving_ns.round() as i64 }
        };
        Self {
            ranks: played.len(),
            savings: job.faults().iter().map(|&fault| saving(Some(fault))).collect(),
            of_all: saving(None),
            steps_ns: steps_ns.clone(),
        }
    }

    /// Mean length of a step.
    #[must_use]
    pub fn step_ns(&self) -> f64 {
        mean(&self.steps_ns)
    }

    /// As JSON, for whoever compares predictions with it.
    #[must_use]
    pub fn json(&self) -> Value {
        let saving = |saving: &Saving| {
            json!({
                "fault": saving.fault.map(Fault::name),
                "rules": saving.fault.map(Fault::rules),
                "saving_ns": saving.saving_ns,
                "steps_per_step": saving.steps_per_step,
                "steps_ns": saving.steps_ns,
            })
        };
        let faults: Vec<&str> = self.savings.iter().filter_map(|saving| saving.fault).map(Fault::name).collect();
        json!({
            "faults": faults,
            "ranks": self.ranks,
            "steps_ns": self.steps_ns,
            "without": self.savings.iter().map(saving).collect::<Vec<_>>(),
            "without_all": saving(&self.of_all),
        })
    }
}

/// Steps of a job: all ranks have ended them. They add up to the time from the first start to the last end.
fn job_steps_ns(ranks: &[RankRecording]) -> Vec<i64> {
    let starts = ranks.iter().filter_map(|rank| rank.steps().next().map(|(_, mark)| mark.start_ns));
    let mut before_ns = starts.min().unwrap_or(0);
    let ends: Vec<Vec<i64>> = ranks.iter().map(RankRecording::step_ends_ns).collect();
    let steps = ends.iter().map(Vec::len).min().unwrap_or(0);
    let durations = (0..steps).map(|step| {
        let end_ns = ends.iter().map(|of_rank| of_rank[step]).max().unwrap_or(before_ns);
        let dur_ns = end_ns - before_ns;
        before_ns = end_ns;
        dur_ns
    });
    durations.collect()
}

fn mean(steps_ns: &[i64]) -> f64 {
    steps_ns.iter().sum::<i64>() as f64 / steps_ns.len().max(1) as f64
}
