//! Chances after several tests: the more are made, the likelier one of them passes by chance.

/// Chances after Holm, each at its place: at most so likely is any false alarm among them.
#[must_use]
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut highest = 0.0_f64;
    adjust(chances, |order| {
        order
            .iter()
            .enumerate()
            .map(|(rank, place)| {
                let left = (chances.len() - rank) as f64;
                highest = highest.max((left * chances[*place]).min(1.0));
                (*place, highest)
            })
            .collect()
    })
}

/// Chances after Benjamini and Hochberg, each at its place: the share of false alarms among all that are no larger.
#[must_use]
pub fn benjamini_hochberg(chances: &[f64]) -> Vec<f64> {
    let mut lowest = 1.0_f64;
    adjust(chances, |order| {
        order
            .iter()
            .enumerate()
            .rev()
            .map(|(rank, place)| {
                lowest = lowest.min(chances[*place] * chances.len() as f64 / (rank + 1) as f64);
                (*place, lowest)
            })
            .collect()
    })
}

/// Puts the adjusted chances of places, which `adjusted` gets from the smallest chance to the largest, back in order.
fn adjust(chances: &[f64], adjusted: impl FnOnce(&[usize]) -> Vec<(usize, f64)>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut result = vec![0.0; chances.len()];
    for (place, chance) in adjusted(&order) {
        result[place] = chance;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{benjamini_hochberg, holm};

    #[track_caller]
    fn check(found: &[f64], expected: &[f64]) {
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
        assert!(found.len() == expected.len() && is_near, "{found:?}");
    }

    #[test]
    fn each_chance_is_raised_by_the_tests_beside_it() {
        // Sorted: 0.01 × 4, 0.02 × 3, 0.03 × 2, 0.04 × 1, none below the one before.
        check(&holm(&[0.04, 0.01, 0.03, 0.02]), &[0.06, 0.04, 0.06, 0.06]);
        check(&holm(&[0.5, 0.9]), &[1.0, 1.0]);
        // Sorted: 0.01 × 4/1, 0.02 × 4/2, 0.03 × 4/3, 0.04 × 4/4, none above the one behind.
        check(&benjamini_hochberg(&[0.04, 0.01, 0.03, 0.02]), &[0.04, 0.04, 0.04, 0.04]);
        check(&benjamini_hochberg(&[0.001, 0.5, 0.9]), &[0.003, 0.75, 0.9]);
        check(&holm(&[]), &[]);
        check(&benjamini_hochberg(&[0.2]), &[0.2]);
    }
}
