//! How much less a series says because each value resembles the one before it.

use super::mean;

/// Values per run, on average, from which correlation is estimated.
const VALUES_LEAST: f64 = 8.0;

/// The largest correlation that is taken as it is.
const CORRELATION_MOST: f64 = 0.95;

/// The factor by which correlation between neighbors inflates the variance of both series: (1 + r) / (1 − r), where r is
/// the correlation within the runs of both sides together, without the bias that comes from estimating their means.
pub(super) fn inflation(runs: &[&[f64]]) -> f64 {
    let (mut squares, mut products) = (0.0, 0.0);
    for run in runs {
        let mean = mean(run);
        squares += run.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        products += run.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
    }
    let count = runs.iter().map(|run| run.len()).sum::<usize>() as f64 / runs.len() as f64;
    if squares <= 0.0 || count < VALUES_LEAST {
        return 1.0;
    }
    let correlation = (count * products / squares + 1.0) / (count - 3.0);
    if correlation <= 0.0 {
        return 1.0;
    }
    let correlation = correlation.min(CORRELATION_MOST);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use super::inflation;

    #[track_caller]
    fn check(a: &[f64], b: &[f64], expected: f64) {
        let found = inflation(&[a, b]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn neighbors_that_resemble_each_other_say_less() {
        let alternating = [1.0, 2.0].repeat(5);
        check(&alternating, &alternating, 1.0);
        // Five times 1, then five times 2: deviations ±½, so Σd² = 2.5 and Σd·d' = (8 − 1) / 4 on each side, r̂ = 0.7,
        // r = (10 · 0.7 + 1) / 7, cut at 0.95.
        let stepped = [[1.0; 5], [2.0; 5]].concat();
        check(&stepped, &stepped, 1.95 / 0.05);
        // One side alternates (Σd·d' = −9 / 4): r̂ = (1.75 − 2.25) / 5 = −0.1, r = (−1 + 1) / 7 = 0.
        check(&stepped, &alternating, 1.0);
        // One side with a single step of weight: 1, 1, 2, 2 five times has r̂ = (5 · ¼ + 5 · ¼ − 9 · ¼) / 5 = 0.05 on
        // twenty values; with itself r = (20 · 0.05 + 1) / 17.
        let pairs = [1.0, 1.0, 2.0, 2.0].repeat(5);
        let correlation = 2.0 / 17.0;
        check(&pairs, &pairs, (1.0 + correlation) / (1.0 - correlation));
    }

    #[test]
    fn levels_of_runs_are_not_correlation() {
        let run = |level: f64| [level + 1.0, level + 2.0].repeat(5);
        let runs = [run(0.0), run(50.0), run(100.0)];
        assert!((inflation(&[&runs[0], &runs[1], &runs[2]]) - 1.0).abs() < 1e-12);
        assert!(inflation(&[&runs.concat(), &runs[0]]) > 10.0);
    }

    #[test]
    fn few_or_constant_values_are_taken_as_independent() {
        check(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], 1.0);
        check(&[3.0; 20], &[4.0; 20], 1.0);
    }
}
