//! What part of a run an analysis is asked about, and how its rows are grouped.

use stepscope_engine::CancelFlag;
use stepscope_model::StepRange;
use stepscope_rules::Thresholds;

/// What is asked of an analysis.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Only these ranks; all when empty.
    pub ranks: Vec<u32>,
    /// Only this window of each rank.
    pub window: Option<u32>,
    /// Only these steps.
    pub steps: Option<StepRange>,
    /// Only what starts at or after this time, in nanoseconds from the first event of its recording.
    pub from_ns: Option<i64>,
    /// Only what starts before this time.
    pub to_ns: Option<i64>,
    /// What rows are grouped by, instead of the usual.
    pub group_by: Vec<String>,
    /// From where on rules speak.
    pub thresholds: Thresholds,
    /// Samples that a step works on, for throughput.
    pub samples_per_step: Option<f64>,
    /// Ends the work from elsewhere.
    pub cancel: CancelFlag,
}

impl Question {
    /// Whether it is about a stretch of time, which sums by step cannot answer.
    #[must_use]
    pub fn has_time_range(&self) -> bool {
        self.from_ns.is_some() || self.to_ns.is_some()
    }
}
