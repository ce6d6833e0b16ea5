//! The gate: whether metrics of a run got worse than those of baseline runs, by more than noise (metrics, section 27).

mod baseline;
mod check;
mod fingerprint;
mod history;
mod measured;
mod metric;
mod tables;
mod verdict;

pub use self::baseline::{Baseline, BaselineError};
pub use self::check::{Checked, GateOptions, check};
pub use self::measured::{GateRun, measure};
pub use self::metric::{GateMetric, MetricError, read_metrics};
pub use self::tables::shorten as shorten_check;
pub use self::verdict::{JudgedMetric, Outcome};
