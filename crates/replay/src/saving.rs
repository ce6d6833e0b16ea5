//! What a change saves, as a range, and how much to trust it (A8).

use crate::reason;

/// A share of the path, and of the step, beyond which savings are not given.
const MOST_UNEXPLAINED: f64 = 0.1;
const MOST_ERROR: f64 = 0.1;

/// What a change saves per step.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// Lengths of the steps with the change, replayed from recorded lags.
    pub anchored_ns: Vec<i64>,
    /// The same, replayed from typical lags.
    pub strict_ns: Vec<i64>,
    /// Saving per step.
    pub saving_ns: f64,
    /// The least that it may be; 0 if it is below what the model does not explain.
    pub low_ns: f64,
    /// The most that it may be.
    pub high_ns: f64,
}

/// How far savings of a window can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// The model is far off, or nearly nothing is known.
    Low,
    /// The model is close.
    Medium,
    /// The model is very close, over five steps or more.
    High,
}

impl Confidence {
    /// By the model's error and the number of steps.
    #[must_use]
    pub fn of(error_ratio: Option<f64>, steps: usize) -> Self {
        match error_ratio.map(f64::abs) {
            Some(error) if error <= 0.02 && steps >= 5 => Self::High,
            Some(error) if error <= 0.05 => Self::Medium,
            _ => Self::Low,
        }
    }

    /// The word in JSON and tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Lengths of the steps of a window without a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Baseline<'a> {
    pub recorded_ns: &'a [i64],
    pub strict_ns: &'a [i64],
}

impl Saving {
    pub(crate) fn new(baseline: Baseline<'_>, anchored_ns: Vec<i64>, strict_ns: Vec<i64>) -> Self {
        let steps = baseline.recorded_ns.len() as f64;
        let sum = |values: &[i64]| values.iter().sum::<i64>();
        let saved: Vec<i64> = baseline.recorded_ns.iter().zip(&anchored_ns).map(|(was, is)| was - is).collect();
        let saving_ns = sum(&saved) as f64 / steps;
        let other_ns = (sum(baseline.strict_ns) - sum(&strict_ns)) as f64 / steps;
        let misfit_ns = (sum(baseline.strict_ns) - sum(baseline.recorded_ns)).abs() as f64 / steps;
        let spread_ns = spread(&saved, saving_ns);
        let is_resolved = saving_ns >= misfit_ns;
        let low_ns = if is_resolved { (saving_ns.min(other_ns) - spread_ns).max(0.0) } else { 0.0 };
        let high_ns = (saving_ns.max(other_ns) + spread_ns).min(sum(baseline.recorded_ns) as f64 / steps);
        Self { anchored_ns, strict_ns, saving_ns, low_ns, high_ns }
    }
}

/// How far typical lags are off, as a share of what was recorded; `None` if that has no length.
pub(crate) fn error_ratio(recorded_ns: &[i64], strict_ns: &[i64]) -> Option<f64> {
    let (strict, recorded) = (strict_ns.iter().sum::<i64>(), recorded_ns.iter().sum::<i64>());
    (recorded != 0).then(|| strict as f64 / recorded as f64 - 1.0)
}

/// Why a model that leaves so much open gives no savings; `None` if it may.
pub(crate) fn misfit(unexplained_ratio: Option<f64>, error_ratio: Option<f64>) -> Option<&'static str> {
    if unexplained_ratio.is_some_and(|ratio| ratio > MOST_UNEXPLAINED) {
        Some(reason::UNEXPLAINED_TIME)
    } else if error_ratio.is_some_and(|ratio| ratio.abs() > MOST_ERROR) {
        Some(reason::MODEL_ERROR)
    } else {
        None
    }
}

/// Half of the width of the range that steps which save unlike amounts leave; 0 for one step.
fn spread(saved: &[i64], mean: f64) -> f64 {
    let count = saved.len();
    if count < 2 {
        return 0.0;
    }
    let squares: f64 = saved.iter().map(|saved| (*saved as f64 - mean).powi(2)).sum();
    let variance = squares / (count - 1) as f64;
    student_95(count - 1) * (variance / count as f64).sqrt()
}

/// The 95 % quantile of Student's t. The first ones are from a table; beyond it the expansion by Cornish and Fisher is
/// exact to seven digits.
fn student_95(degrees: usize) -> f64 {
    const TABLE: [f64; 31] = [
        6.313_752, 2.919_986, 2.353_363, 2.131_847, 2.015_048, 1.943_180, 1.894_579, 1.859_548, 1.833_113, 1.812_461,
        1.795_885, 1.782_288, 1.770_933, 1.761_310, 1.753_050, 1.745_884, 1.739_607, 1.734_064, 1.729_133, 1.724_718,
        1.720_743, 1.717_144, 1.713_872, 1.710_882, 1.708_141, 1.705_618, 1.703_288, 1.701_131, 1.699_127, 1.697_261,
        1.695_519,
    ];
    const NORMAL: f64 = 1.644_853_626_951_472_2;
    if let Some(quantile) = degrees.checked_sub(1).and_then(|place| TABLE.get(place)) {
        return *quantile;
    }
    let (z, v) = (NORMAL, degrees.max(1) as f64);
    let terms = [
        (z.powi(3) + z) / (4.0 * v),
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v.powi(2)),
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3)),
    ];
    z + terms.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saving(recorded: &[i64], strict: &[i64], anchored: &[i64], strict_changed: &[i64]) -> [f64; 3] {
        let baseline = Baseline { recorded_ns: recorded, strict_ns: strict };
        let saving = Saving::new(baseline, anchored.to_vec(), strict_changed.to_vec());
        [saving.low_ns, saving.saving_ns, saving.high_ns]
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "exact by construction")]
    fn the_range_spans_both_models_and_the_spread_of_the_steps() {
        // One step: the range is that of the two models.
        assert_eq!(saving(&[100], &[95], &[60], &[65]), [30.0, 40.0, 40.0]);
        // Three per step are saved, five are not explained: not resolved.
        assert_eq!(saving(&[100], &[95], &[97], &[92]), [0.0, 3.0, 3.0]);
        // Saved 10 and 14: variance 8, half of the width 6.313752 · √(8/2).
        let [low, middle, high] = saving(&[100, 100], &[100, 100], &[90, 86], &[90, 86]);
        assert_eq!(middle, 12.0);
        assert!(low == 0.0 && (high - (12.0 + 6.313_752 * 2.0)).abs() < 1e-9);
        // Never more than the step.
        assert_eq!(saving(&[10], &[10], &[0], &[-5]), [10.0, 10.0, 10.0]);
    }

    #[test]
    fn the_quantile_goes_on_where_the_table_ends() {
        assert!((student_95(32) - 1.693_889).abs() < 1e-6 && (student_95(100) - 1.660_234).abs() < 1e-6);
        assert!(student_95(31) > student_95(32));
    }

    #[test]
    fn confidence_follows_the_error_and_the_steps() {
        for (error, steps, want) in [
            (Some(0.02), 5, Confidence::High),
            (Some(-0.02), 4, Confidence::Medium),
            (Some(0.05), 9, Confidence::Medium),
            (Some(0.06), 9, Confidence::Low),
            (None, 9, Confidence::Low),
        ] {
            assert_eq!(Confidence::of(error, steps), want, "{error:?} {steps}");
        }
    }
}
