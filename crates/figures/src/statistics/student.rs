//! Student's t: whether two means differ, and how far a value may lie from the mean of a few.

use libm::lgamma;

use super::mean;

/// The value that Student's t exceeds with this chance, below one half. `None` without a degree of freedom.
#[must_use]
pub fn t_exceeded(chance: f64, degrees: usize) -> Option<f64> {
    let degrees = Some(degrees as f64).filter(|degrees| *degrees > 0.0)?;
    let (mut low, mut high) = (0.0, 1.0);
    while chance_beyond(high * high, degrees) > 2.0 * chance {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return Some(middle);
        }
        if chance_beyond(middle * middle, degrees) > 2.0 * chance { low = middle } else { high = middle }
    }
}

/// The two-sided chance that two series of one mean and one variance lie so far apart.
pub(super) fn two_sided(a: &[f64], b: &[f64]) -> f64 {
    let degrees = (a.len() + b.len()) as f64 - 2.0;
    if degrees < 1.0 {
        return 1.0;
    }
    let (mean_a, mean_b) = (mean(a), mean(b));
    let squares = |side: &[f64], mean: f64| side.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let squares = squares(a, mean_a) + squares(b, mean_b);
    let apart = mean_b - mean_a;
    if squares <= 0.0 {
        return if apart.abs() <= 0.0 { 1.0 } else { 0.0 };
    }
    let squared_t = apart.powi(2) / (squares / degrees * (1.0 / a.len() as f64 + 1.0 / b.len() as f64));
    chance_beyond(squared_t, degrees)
}

/// The chance of a larger square of Student's t.
fn chance_beyond(squared_t: f64, degrees: f64) -> f64 {
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + squared_t))
}

/// The regularized incomplete beta function (DLMF 8.17), by its continued fraction, with the method of Lentz.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let (mut above, mut below) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = below;
    for term in (1..1000).map(f64::from) {
        let even = term * (b - term) * x / ((a + 2.0 * term - 1.0) * (a + 2.0 * term));
        let odd = -(a + term) * (a + b + term) * x / ((a + 2.0 * term) * (a + 2.0 * term + 1.0));
        for coefficient in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + coefficient * below);
            above = away_from_zero(1.0 + coefficient / above);
            fraction *= above * below;
        }
        if (above * below - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

#[cfg(test)]
mod tests {
    use super::{t_exceeded, two_sided};

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [
            (1, 31.820_515_953_773_96),
            (2, 6.964_556_734_283_268),
            (4, 3.746_947_387_979_197),
            (9, 2.821_437_924_837_178),
        ] {
            assert!((t_exceeded(0.01, degrees).unwrap() / expected - 1.0).abs() < 1e-9, "{degrees}");
        }
        assert_eq!(t_exceeded(0.01, 0), None);
    }

    #[test]
    fn means_differ_by_their_spread() {
        // t = 3 / √(1 · (1/3 + 1/3)) = 3.674, four degrees: 0.02131.
        assert!((two_sided(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.021_311_641_128_756_9).abs() < 1e-9);
        assert!((two_sided(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!(two_sided(&[1.0; 3], &[2.0; 3]).abs() < 1e-12);
        assert!((two_sided(&[1.0; 3], &[1.0; 3]) - 1.0).abs() < 1e-12);
        assert!((two_sided(&[1.0], &[9.0]) - 1.0).abs() < 1e-12);
    }
}
