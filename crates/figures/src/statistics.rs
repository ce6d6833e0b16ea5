//! Whether two series of measurements differ, by how much, and where a history changed.
//!
//! Step times are skewed and have outliers, so series are compared by ranks rather than by means. Everything is worked
//! out exactly or from closed formulas: no random numbers, so two runs of a test agree.

mod change_points;
mod comparison;
mod corrections;
mod correlation;
mod differences;
mod mann_whitney;
mod student;

pub use change_points::{ChangePoint, HISTORY_LEAST, change_points};
pub use comparison::{Comparison, Method};
pub use corrections::{benjamini_hochberg, holm};
pub use student::t_exceeded;

/// The value in the middle; of an even number, the mean of the two in the middle. `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// The mean; NaN without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
