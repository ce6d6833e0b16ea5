//! One series against another: how likely they differ by chance alone, and by how much they differ.

use super::correlation::inflation;
use super::differences::Differences;
use super::mann_whitney::{self, Distribution, EXACT_MOST};

/// The share of intervals that lie wholly below, or wholly above, the true shift.
const BEYOND_INTERVAL: f64 = 0.01;

/// The value that a normal variable exceeds with that chance.
const NORMAL_QUANTILE: f64 = 2.326_347_874_040_840_8;

/// How the chances were worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From all arrangements of the values.
    Exact,
    /// From the normal distribution: values are equal, many, or correlated.
    Asymptotic,
}

impl Method {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Asymptotic => "asymptotic",
        }
    }
}

/// Series b against series a, both in the order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Values of a.
    pub count_a: usize,
    /// Values of b.
    pub count_b: usize,
    /// By how much correlation between neighbors inflates the variance, at least 1.
    pub inflation: f64,
    /// Pairs in which the value of b is larger; equal ones count half.
    pub u: f64,
    /// Chance that b seems so much larger.
    pub p_larger: f64,
    /// Chance that b seems so much smaller.
    pub p_smaller: f64,
    /// Chance that both seem to differ so much.
    pub p: f64,
    /// How the chances were worked out.
    pub method: Method,
    /// Median of a.
    pub median_a: f64,
    /// Median of all differences b − a (Hodges and Lehmann).
    pub shift: f64,
    /// Bounds of the shift, right in 98 of 100 cases. `None` if the values are too few.
    pub interval: Option<(f64, f64)>,
}

impl Comparison {
    /// Compares b with a; `None` if a side is empty, or a value is not finite.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        Self::of_runs(&[a], &[b])
    }

    /// Compares all values of some runs with those of others. Runs have levels of their own, which say nothing about how
    /// much a value resembles the one before it; runs of one value each are a series themselves.
    #[must_use]
    pub fn of_runs(a: &[&[f64]], b: &[&[f64]]) -> Option<Self> {
        let sides = [a.concat(), b.concat()];
        if sides.iter().flatten().any(|value| !value.is_finite()) {
            return None;
        }
        let series = |runs: &[&'_ [f64]]| runs.iter().all(|run| run.len() <= 1);
        let mut pieces: Vec<&[f64]> = Vec::new();
        for (runs, side) in [(a, &sides[0]), (b, &sides[1])] {
            if series(runs) {
                pieces.push(side);
            } else {
                pieces.extend(runs.iter().filter(|run| !run.is_empty()));
            }
        }
        let inflation = inflation(&pieces);
        let [a, b] = sides.each_ref().map(|side| sorted(side));
        let median_a = super::median(&a)?;
        super::median(&b)?;
        let test = mann_whitney::test(&a, &b, inflation);
        let differences = Differences { a: &a, b: &b };
        let rank = interval_rank(a.len(), b.len(), inflation);
        Some(Self {
            count_a: a.len(),
            count_b: b.len(),
            inflation,
            u: test.u,
            p_larger: test.p_larger,
            p_smaller: test.p_smaller,
            p: (2.0 * test.p_larger.min(test.p_smaller)).min(1.0),
            method: if test.is_exact { Method::Exact } else { Method::Asymptotic },
            median_a,
            shift: differences.median(),
            interval: (rank > 0).then(|| (differences.at(rank), differences.at(differences.count() + 1 - rank))),
        })
    }

    /// A value relative to the median of a; `None` if that is 0.
    #[must_use]
    pub fn ratio(&self, value: f64) -> Option<f64> {
        (self.median_a != 0.0).then(|| value / self.median_a)
    }

    /// Independent values that the smaller side is worth.
    #[must_use]
    pub fn effective_count(&self) -> f64 {
        self.count_a.min(self.count_b) as f64 / self.inflation
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The place, from either end, of the differences that bound the shift (Moses); 0 if there is none.
fn interval_rank(m: usize, n: usize, inflation: f64) -> usize {
    if inflation <= 1.0 && m * n <= EXACT_MOST {
        return Distribution::new(m, n).rank(BEYOND_INTERVAL);
    }
    let (m, n) = (m as f64, n as f64);
    let deviation = (inflation * m * n * (m + n + 1.0) / 12.0).sqrt();
    (m * n / 2.0 - NORMAL_QUANTILE * deviation).floor().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Method};

    #[test]
    fn a_shift_is_found_with_its_bounds() {
        let a: Vec<f64> = [100.0, 102.0, 101.0, 99.0, 103.0].to_vec();
        let b: Vec<f64> = a.iter().map(|value| value + 10.5).collect();
        let found = Comparison::new(&a, &b).unwrap();
        assert_eq!((found.count_a, found.count_b, found.method), (5, 5, Method::Exact));
        // All 25 pairs are larger: one of 252 arrangements.
        assert!((found.u - 25.0).abs() < 1e-12 && (found.p - 2.0 / 252.0).abs() < 1e-12);
        // Differences are 10.5 + k, k from −4 to 4; the second from either end, by the tail of 2 / 252.
        assert_eq!((found.shift, found.interval), (10.5, Some((7.5, 13.5))));
        assert_eq!(found.ratio(found.shift), Some(10.5 / 101.0));
    }

    #[test]
    fn few_values_have_no_interval() {
        let found = Comparison::new(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
        assert_eq!((found.interval, found.shift), (None, 2.0));
        assert_eq!(Comparison::new(&[], &[1.0]), None);
        assert_eq!(Comparison::new(&[1.0], &[]), None);
        assert_eq!(Comparison::new(&[0.0], &[1.0]).unwrap().ratio(1.0), None);
    }
}
