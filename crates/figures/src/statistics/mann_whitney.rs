//! The test of Mann and Whitney: whether values of one side tend to be larger than those of the other.

use libm::erfc;

/// The largest product of both numbers of values for which the exact distribution is worked out.
pub(super) const EXACT_MOST: usize = 10_000;

/// How many values are larger, and how likely that is by chance.
pub(super) struct MannWhitney {
    /// Pairs in which b is larger; equal ones count half.
    pub u: f64,
    /// Chance of a `u` at least as large.
    pub p_larger: f64,
    /// Chance of a `u` at most as large.
    pub p_smaller: f64,
    /// Whether the chances come from the exact distribution.
    pub is_exact: bool,
}

/// Tests `b` against `a`, both sorted, whose variance is larger by `inflation` than that of independent values.
pub(super) fn test(a: &[f64], b: &[f64], inflation: f64) -> MannWhitney {
    let (u, ties) = count(a, b);
    let pairs = (a.len() * b.len()) as f64;
    if inflation <= 1.0 && ties <= 0.0 && a.len() * b.len() <= EXACT_MOST {
        let distribution = Distribution::new(a.len(), b.len());
        let p_larger = distribution.lower_tail((pairs - u) as usize);
        return MannWhitney { u, p_larger, p_smaller: distribution.lower_tail(u as usize), is_exact: true };
    }
    let all = (a.len() + b.len()) as f64;
    let variance = inflation * pairs / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return MannWhitney { u, p_larger: 1.0, p_smaller: 1.0, is_exact: false };
    }
    let tail = |beyond: f64| (0.5 * erfc((beyond - 0.5) / (2.0 * variance).sqrt())).min(1.0);
    MannWhitney { u, p_larger: tail(u - pairs / 2.0), p_smaller: tail(pairs / 2.0 - u), is_exact: false }
}

/// U, and Σ(t³ − t) over groups of t equal values.
fn count(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut u, mut ties) = (0.0, 0.0);
    let (mut below, mut rest_a, mut rest_b) = (0, a, b);
    while let Some(value) = [rest_a.first(), rest_b.first()].into_iter().flatten().copied().reduce(f64::min) {
        let equal_a = rest_a.partition_point(|other| *other <= value);
        let equal_b = rest_b.partition_point(|other| *other <= value);
        u += equal_b as f64 * (below as f64 + equal_a as f64 / 2.0);
        let equal = (equal_a + equal_b) as f64;
        ties += equal.powi(3) - equal;
        below += equal_a;
        (rest_a, rest_b) = (&rest_a[equal_a..], &rest_b[equal_b..]);
    }
    (u, ties)
}

/// How many of the arrangements of m and n values have each U, if all values differ.
///
/// Counts exceed 128 bits. They are sums of positive terms alone, so as floats they stay exact to about m + n roundings.
pub(super) struct Distribution {
    counts: Vec<f64>,
    all: f64,
}

impl Distribution {
    /// The distribution for sides of these sizes, by arrangements whose largest value is of one side or of the other.
    pub(super) fn new(m: usize, n: usize) -> Self {
        let (few, many) = (m.min(n), m.max(n));
        // For each number of values of the smaller side; of the larger side, those added so far.
        let mut counts: Vec<Vec<f64>> = (0..=few).map(|few| vec![0.0; few * many + 1]).collect();
        for of_few in &mut counts {
            of_few[0] = 1.0;
        }
        for added in 1..=many {
            for place in 1..=few {
                let (before, after) = counts.split_at_mut(place);
                // The largest value is one of the smaller side, above all that were added; else it was counted before.
                let fewer = &before[place - 1][..=(place - 1) * added];
                for (count, more) in after[0][added..].iter_mut().zip(fewer) {
                    *count += more;
                }
            }
        }
        let counts = counts.pop().unwrap_or_default();
        let all = counts.iter().sum();
        Self { counts, all }
    }

    /// P(U ≤ u).
    pub(super) fn lower_tail(&self, u: usize) -> f64 {
        let middle = self.counts.len() / 2;
        // From the shorter side, as sums of small terms keep their digits.
        if u < middle {
            return self.counts[..=u].iter().sum::<f64>() / self.all;
        }
        1.0 - self.counts.iter().skip(u + 1).sum::<f64>() / self.all
    }

    /// The largest C with P(U ≤ C − 1) ≤ `tail`, at most half of the pairs; 0 if there is none.
    pub(super) fn rank(&self, tail: f64) -> usize {
        let half = (self.counts.len() - 1) / 2;
        let sums = self.counts.iter().scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        sums.take(half).take_while(|sum| *sum <= tail * self.all).count()
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, count, test};

    #[test]
    fn counts_are_those_of_all_arrangements() {
        // Two and two values: 1, 1, 2, 1, 1 of six arrangements.
        assert_eq!(
            Distribution::new(2, 2).counts.iter().map(|count| *count as u64).collect::<Vec<_>>(),
            [1, 1, 2, 1, 1]
        );
        assert_eq!(Distribution::new(3, 1).counts.iter().map(|count| *count as u64).collect::<Vec<_>>(), [1, 1, 1, 1]);
        for (m, n) in [(1, 1), (4, 7), (7, 4), (5, 5)] {
            let expected = every_u(m, n);
            let found: Vec<u64> = Distribution::new(m, n).counts.iter().map(|count| *count as u64).collect();
            assert_eq!(found, expected, "{m} and {n}");
        }
    }

    /// Counts U of every choice of m places out of m + n.
    fn every_u(m: usize, n: usize) -> Vec<u64> {
        let mut counts = vec![0; m * n + 1];
        for chosen in 0_u32..1 << (m + n) {
            if chosen.count_ones() as usize == m {
                // Values of b that stand above each value of a.
                let above = |place: usize| ((place + 1)..m + n).filter(|other| chosen >> other & 1 == 0).count();
                counts[(0..m + n).filter(|place| chosen >> place & 1 == 1).map(above).sum::<usize>()] += 1;
            }
        }
        counts
    }

    #[test]
    fn tails_add_up_for_the_largest_sides() {
        let largest = Distribution::new(100, 100);
        // (200 choose 100) = 9.054851465610328e58.
        assert!((largest.all / 9.054_851_465_610_328e58 - 1.0).abs() < 1e-12);
        // U = 5000 is the middle: both tails hold it.
        let middle = largest.counts[5000] / largest.all;
        assert!((2.0 * largest.lower_tail(5000) - middle - 1.0).abs() < 1e-12);
        assert!((largest.lower_tail(0) * largest.all - 1.0).abs() < 1e-12);
        assert!((largest.lower_tail(10_000) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn ranks_keep_the_tail() {
        // Five and five: P(U ≤ 0) = 1/252, P(U ≤ 1) = 2/252 = 0.0079, P(U ≤ 2) = 4/252 = 0.0159.
        assert_eq!(Distribution::new(5, 5).rank(0.01), 2);
        assert_eq!(Distribution::new(5, 5).rank(0.5 / 252.0), 0);
        assert_eq!(Distribution::new(2, 2).rank(1.0), 2);
    }

    #[test]
    fn equal_values_count_half() {
        assert_eq!(count(&[1.0, 2.0, 2.0], &[2.0, 3.0]), (5.0, 24.0));
        assert_eq!(count(&[], &[2.0]), (0.0, 0.0));
    }

    #[test]
    fn chances_are_exact_only_without_ties_and_correlation() {
        let (a, b) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let separate = test(&a, &b, 1.0);
        assert!(
            separate.is_exact && (separate.p_larger - 0.05).abs() < 1e-15 && (separate.p_smaller - 1.0).abs() < 1e-15
        );
        assert!(!test(&a, &b, 1.5).is_exact);
        assert!(!test(&a, &[3.0, 5.0, 6.0], 1.0).is_exact);
        let constant = test(&[1.0; 4], &[1.0; 4], 1.0);
        assert_eq!(
            (constant.u as u32, constant.p_larger.to_bits(), constant.p_smaller.to_bits()),
            (8, 1.0_f64.to_bits(), 1.0_f64.to_bits())
        );
    }
}
