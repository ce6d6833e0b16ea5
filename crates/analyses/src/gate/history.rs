//! Where a metric changed in the history of runs.

use stepscope_figures::statistics::{HISTORY_LEAST, change_points, median};

use super::measured::GateRun;
use super::metric::GateMetric;

/// A run from which on a metric differs.
pub(super) struct Change {
    pub metric: String,
    /// The first run after the change.
    pub run: String,
    /// Relative change of the mean.
    pub ratio: f64,
    pub p: f64,
}

/// What the history says.
pub(super) struct History {
    /// Runs in it, with the candidates.
    pub runs: usize,
    /// `None` if there are too few runs.
    pub changes: Option<Vec<Change>>,
}

/// The changes of each metric over earlier runs and the candidates; `None` without earlier runs.
pub(super) fn changes(earlier: &[GateRun], candidates: &[GateRun], metrics: &[GateMetric]) -> Option<History> {
    if earlier.is_empty() {
        return None;
    }
    let runs: Vec<&GateRun> = earlier.iter().chain(candidates).collect();
    let mut found = Vec::new();
    let mut is_long_enough = false;
    for metric in metrics {
        let known = runs.iter().filter_map(|run| Some((run.name.clone(), median(run.values(&metric.name))?)));
        let (names, values): (Vec<String>, Vec<f64>) = known.unzip();
        is_long_enough |= values.len() >= HISTORY_LEAST;
        for point in change_points(&values, metric.limits.report_ratio).into_iter().flatten() {
            let (metric, run) = (metric.name.clone(), names[point.at].clone());
            found.push(Change { metric, run, ratio: point.ratio, p: point.p });
        }
    }
    Some(History { runs: runs.len(), changes: is_long_enough.then_some(found) })
}
