//! Whether a metric got worse: the verdict on one series against another.

use crate::statistics::{Comparison, median, t_exceeded};

/// Independent values that each side needs.
pub const VALUES_LEAST: f64 = 5.0;

/// Baseline runs from which on the spread between runs is known.
pub const RUNS_LEAST: usize = 3;

/// Share of shifts between equal runs that exceed the limit between runs.
const BEYOND_RUNS: f64 = 0.01;

/// From when on a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest chance of a difference that is reported.
    pub alpha: f64,
    /// The smallest relative change that is reported.
    pub report_ratio: f64,
    /// The relative change that a pass excludes.
    pub exclude_ratio: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { alpha: 0.02, report_ratio: 0.02, exclude_ratio: 0.05 }
    }
}

/// Which way a metric should go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// Durations, bytes.
    #[default]
    Lower,
    /// Throughput.
    Higher,
}

/// What the gate says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Worse, by more than noise explains.
    Regression,
    /// Better, by more than noise explains.
    Improvement,
    /// No change that matters.
    Pass,
    /// A change that matters is neither shown nor excluded.
    Inconclusive(Doubt),
}

/// Why the gate cannot say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Fewer than five independent values on a side.
    TooFewValues,
    /// The median of the baseline is 0, so no change is relative to it.
    NoBaseline,
    /// The change may be larger than the limit; so many values of the candidate would decide.
    Wide(Option<u64>),
}

impl Verdict {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::Pass => "pass",
            Self::Inconclusive(_) => "inconclusive",
        }
    }
}

/// The verdict on a comparison. `p` is its chance after the tests beside it, `between_runs` the change that runs of equal
/// code show.
#[must_use]
pub fn judge(comparison: &Comparison, p: f64, better: Better, between_runs: Option<f64>, limits: &Limits) -> Verdict {
    let Some(shift) = comparison.ratio(comparison.shift) else {
        return Verdict::Inconclusive(Doubt::NoBaseline);
    };
    let bounds = comparison.interval.and_then(|(low, high)| Some((comparison.ratio(low)?, comparison.ratio(high)?)));
    let (Some((low, high)), false) = (bounds, comparison.effective_count() < VALUES_LEAST) else {
        return Verdict::Inconclusive(Doubt::TooFewValues);
    };
    let (shift, low, high) = match better {
        Better::Lower => (shift, low, high),
        Better::Higher => (-shift, -high, -low),
    };
    let least = limits.report_ratio.max(between_runs.unwrap_or(0.0));
    if p <= limits.alpha && low > 0.0 && shift >= least {
        return Verdict::Regression;
    }
    if p <= limits.alpha && high < 0.0 && shift <= -least {
        return Verdict::Improvement;
    }
    if high < limits.exclude_ratio {
        return Verdict::Pass;
    }
    let needed = (shift < limits.exclude_ratio).then(|| {
        let times = (high - shift) / (limits.exclude_ratio - shift.max(0.0));
        (comparison.count_b as f64 * times.powi(2)).ceil() as u64
    });
    Verdict::Inconclusive(Doubt::Wide(needed))
}

/// The relative change of a median that runs of equal code rarely exceed, from the series of at least three runs; `None`
/// if there are fewer, or a median is not known.
#[must_use]
pub fn between_runs<'a>(runs: impl IntoIterator<Item = &'a [f64]>) -> Option<f64> {
    let medians = runs.into_iter().map(median).collect::<Option<Vec<f64>>>()?;
    if medians.len() < RUNS_LEAST {
        return None;
    }
    let count = medians.len() as f64;
    let mean = medians.iter().sum::<f64>() / count;
    let variance = medians.iter().map(|median| (median - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let spread = variance.sqrt() / mean;
    Some(t_exceeded(BEYOND_RUNS, medians.len() - 1)? * spread * (1.0 + 1.0 / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{Better, Doubt, Limits, Verdict, between_runs, judge};
    use crate::statistics::{Comparison, Method};

    /// Twenty independent values on each side around 100, whose shift is in per cent.
    fn comparison(low: f64, shift: f64, high: f64) -> Comparison {
        Comparison {
            count_a: 20,
            count_b: 20,
            inflation: 1.0,
            u: 0.0,
            p_larger: 0.0,
            p_smaller: 0.0,
            p: 0.0,
            method: Method::Exact,
            median_a: 100.0,
            shift,
            interval: Some((low, high)),
        }
    }

    #[track_caller]
    fn check(comparison: &Comparison, p: f64, better: Better, runs: Option<f64>, expected: Verdict) {
        assert_eq!(judge(comparison, p, better, runs, &Limits::default()), expected, "{comparison:?}");
    }

    #[test]
    fn the_first_case_that_holds_decides() {
        let wide = |needed| Verdict::Inconclusive(Doubt::Wide(needed));
        let lower = Better::Lower;
        check(&comparison(1.0, 6.0, 9.0), 0.02, lower, None, Verdict::Regression);
        check(&comparison(1.0, 6.0, 9.0), 0.021, lower, None, wide(None));
        check(&comparison(0.0, 6.0, 9.0), 0.01, lower, None, wide(None));
        // Shown, but smaller than what is reported; a slowdown of 5 % is excluded.
        check(&comparison(1.0, 1.9, 4.0), 0.01, lower, None, Verdict::Pass);
        check(&comparison(1.0, 2.0, 4.0), 0.01, lower, None, Verdict::Regression);
        check(&comparison(-9.0, -6.0, -1.0), 0.01, lower, None, Verdict::Improvement);
        check(&comparison(-9.0, -6.0, 0.0), 0.01, lower, None, Verdict::Pass);
        check(&comparison(-9.0, -1.9, -1.0), 0.01, lower, None, Verdict::Pass);
        // Twenty values times ((7 − 1) / (5 − 1))².
        check(&comparison(-5.0, 1.0, 7.0), 0.5, lower, None, wide(Some(45)));
        // Below 0 the distance is that from 0: twenty times ((6 + 1) / 5)² = 39.2.
        check(&comparison(-8.0, -1.0, 6.0), 0.5, lower, None, wide(Some(40)));
        check(&comparison(-5.0, 1.0, 5.0), 0.5, lower, None, wide(Some(20)));
    }

    #[test]
    fn what_should_rise_is_judged_the_other_way_round() {
        check(&comparison(-9.0, -6.0, -1.0), 0.01, Better::Higher, None, Verdict::Regression);
        check(&comparison(1.0, 6.0, 9.0), 0.01, Better::Higher, None, Verdict::Improvement);
        check(&comparison(-5.1, 0.0, 1.0), 0.5, Better::Higher, None, Verdict::Inconclusive(Doubt::Wide(Some(21))));
    }

    #[test]
    fn a_shift_must_exceed_what_runs_differ_by() {
        check(&comparison(2.0, 4.0, 6.0), 0.01, Better::Lower, Some(0.04), Verdict::Regression);
        check(&comparison(2.0, 3.9, 4.9), 0.01, Better::Lower, Some(0.04), Verdict::Pass);
        check(
            &comparison(2.0, 3.0, 6.0),
            0.01,
            Better::Lower,
            Some(0.04),
            Verdict::Inconclusive(Doubt::Wide(Some(45))),
        );
        check(&comparison(-6.0, -3.0, -2.0), 0.01, Better::Lower, Some(0.04), Verdict::Pass);
    }

    #[test]
    fn few_values_decide_nothing() {
        let few = Verdict::Inconclusive(Doubt::TooFewValues);
        let shifted = comparison(1.0, 6.0, 9.0);
        check(&Comparison { count_b: 4, ..shifted }, 0.01, Better::Lower, None, few);
        check(&Comparison { inflation: 4.1, ..shifted }, 0.01, Better::Lower, None, few);
        check(&Comparison { inflation: 4.0, ..shifted }, 0.01, Better::Lower, None, Verdict::Regression);
        check(&Comparison { interval: None, ..shifted }, 0.01, Better::Lower, None, few);
        check(
            &Comparison { median_a: 0.0, ..shifted },
            0.01,
            Better::Lower,
            None,
            Verdict::Inconclusive(Doubt::NoBaseline),
        );
    }

    #[test]
    fn the_limit_between_runs_is_that_of_their_medians() {
        // Medians 99, 100, 101: s = 1 %, t = 6.9646 for two degrees.
        let runs: [&[f64]; 3] = [&[98.0, 99.0, 200.0], &[100.0], &[100.0, 102.0]];
        let expected = 6.964_556_734_283_268 * 0.01 * (4.0_f64 / 3.0).sqrt();
        assert!((between_runs(runs).unwrap() - expected).abs() < 1e-9);
        assert_eq!(between_runs([&[1.0][..], &[2.0]]), None);
        assert_eq!(between_runs([&[1.0][..], &[2.0], &[]]), None);
    }
}
