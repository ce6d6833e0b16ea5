//! What is slow and why, with the measured time at stake and the predicted saving.

use crate::say::{Sentence, Target};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Look at it first.
    High,
    /// Look at it next.
    Medium,
    /// Good to know.
    Low,
}

impl Severity {
    /// The word in JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// The severity of that word.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        [Self::High, Self::Medium, Self::Low].into_iter().find(|severity| severity.as_text() == text)
    }
}

/// What a change saves per step, predicted by a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedSaving {
    /// Saving per step.
    pub saving_ns: f64,
    /// The least that it may be; 0 if it is below what the replay does not explain.
    pub low_ns: f64,
    /// The most that it may be.
    pub high_ns: f64,
    /// How it relates to that of the real change: `estimate`, `at_most` or `at_least`.
    pub bound: &'static str,
    /// How far it can be trusted: `high`, `medium` or `low`.
    pub confidence: &'static str,
}

/// One thing that is slow. Time at stake is a measurement, a saving is a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the rule that found it.
    pub rule: &'static str,
    /// What that rule sees.
    pub what: String,
    /// Why that costs time.
    pub why: &'static str,
    /// What is wrong, with its figure.
    pub title: Sentence,
    /// How bad it is.
    pub severity: Severity,
    /// Time of a step that it takes; null where it is no time.
    pub at_stake_ns: Option<f64>,
    /// Name of the change that was replayed; null where no replay shows what the fix does.
    pub change: Option<&'static str>,
    /// What that change saves, or the reason why that is not known.
    pub saving: Result<PredictedSaving, String>,
    /// What was measured, the shortest first.
    pub evidence: Vec<Sentence>,
    /// The figures of title and evidence, by name.
    pub figures: Vec<(&'static str, f64)>,
    /// The code to change, as far as it applies to what was recorded.
    pub fix: String,
    /// When it is a false alarm.
    pub not_this: &'static str,
    /// What shows more.
    pub show: &'static [Target],
}
