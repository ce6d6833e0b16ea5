//! What the gate says about one metric, and about a run.

use serde_json::{Value as Json, json};
use stepscope_figures::gate::Better;
use stepscope_figures::statistics::Comparison;
use stepscope_model::{Exit, Sentence, Unit, say};

/// What a check ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No metric got worse.
    Passed,
    /// A metric got worse.
    Regressed,
    /// A metric may have got worse.
    Inconclusive,
}

impl Outcome {
    /// The exit code of a command.
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Self::Passed => Exit::Done,
            Self::Regressed => Exit::Failed,
            Self::Inconclusive => Exit::Inconclusive,
        }
    }
}

/// A metric with its verdict.
pub struct JudgedMetric {
    /// Its name.
    pub name: String,
    /// regression, improvement, pass or inconclusive.
    pub verdict: &'static str,
    /// What the gate says about it, in one sentence.
    pub said: Sentence,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) comparison: Option<Comparison>,
    pub(super) medians: [Option<f64>; 2],
    pub(super) counts: [usize; 2],
    /// After the correction for several metrics.
    pub(super) p: Option<f64>,
    pub(super) between_runs: Option<f64>,
    pub(super) values_needed: Option<u64>,
    /// Why it is inconclusive.
    pub reason: Option<Sentence>,
    pub(super) outcome: Outcome,
}

impl JudgedMetric {
    /// Its figures for programs, with what the check ends with.
    #[must_use]
    pub fn to_json(&self, outcome: Outcome) -> Json {
        let ratio = |value: Option<f64>| {
            let found = self.comparison.as_ref()?;
            value.and_then(|value| found.ratio(value))
        };
        let found = self.comparison.as_ref();
        let interval = found.and_then(|found| found.interval);
        json!({
            "verdict": self.verdict,
            "exit_code": outcome.exit() as u8,
            "baseline_median": self.medians[0],
            "candidate_median": self.medians[1],
            "baseline_values": self.counts[0],
            "candidate_values": self.counts[1],
            "shift_ratio": ratio(found.map(|found| found.shift)),
            "low_ratio": ratio(interval.map(|(low, _)| low)),
            "high_ratio": ratio(interval.map(|(_, high)| high)),
            "p": self.p,
            "inflation": found.map(|found| found.inflation),
            "between_runs_ratio": self.between_runs,
            "values_needed": self.values_needed,
        })
    }

    /// Says the verdict with its figures, in one sentence; `few` names a baseline that decides nothing.
    pub(super) fn say(&mut self, few: Option<&'static str>) {
        let word = match self.verdict {
            "regression" => " got worse",
            "improvement" => " got better",
            "pass" => " passes",
            _ => "",
        };
        let change = self.comparison.and_then(|found| {
            let shift = found.ratio(found.shift)?;
            let range = found.interval.and_then(|(low, high)| Some((found.ratio(low)?, found.ratio(high)?)));
            let sign = if shift > 0.0 { "+" } else { "" };
            let shift = say!("{}{}", sign, say::ratio(shift));
            Some(if let Some((low, high)) = range {
                say!("{} ({} to {})", shift, say::ratio(low), say::ratio(high))
            } else {
                shift
            })
        });
        let facts = [change, self.reason.clone(), few.map(|runs| say!("baseline of {}", runs))];
        let facts: Vec<Sentence> = facts.into_iter().flatten().collect();
        self.said = say!("{}{}: {}", self.name.clone(), word, Sentence::joined(facts, ", "));
    }
}
