//! Which rows of a table differ by more than noise.

use stepscope_figures::gate::VALUES_LEAST;
use stepscope_figures::statistics::{Comparison, benjamini_hochberg};

use super::side::PerStep;

/// The share of rows called changed that are not.
const FALSE_SHARE: f64 = 0.05;

/// The smallest shift that counts, as a share of the row and of the step.
const LEAST_OF_ROW: f64 = 0.01;
const LEAST_OF_STEP: f64 = 0.001;

/// Whether a row differs by more than noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    Changed,
    Within,
    /// Fewer than five independent steps on a side.
    NotTested,
}

impl Noise {
    pub(super) fn as_text(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Within => "within noise",
            Self::NotTested => "not tested",
        }
    }
}

/// The rows of one table, each with its values per step of both sides; `None` where a side does not have it.
pub(super) fn judge(rows: &[[Option<&PerStep>; 2]], (steps_a, steps_b): (usize, usize), step_ns: f64) -> Vec<Noise> {
    let compared: Vec<Option<Comparison>> = rows
        .iter()
        .map(|[a, b]| {
            let comparison = Comparison::new(&values(*a, steps_a), &values(*b, steps_b))?;
            (comparison.effective_count() >= VALUES_LEAST).then_some(comparison)
        })
        .collect();
    let chances: Vec<f64> = compared.iter().flatten().map(|comparison| comparison.p).collect();
    let mut corrected = benjamini_hochberg(&chances).into_iter();
    let judged = rows.iter().zip(&compared).map(|([a, b], comparison)| {
        let Some(comparison) = comparison else { return Noise::NotTested };
        let mean = |side: Option<&PerStep>, steps: usize| side.map_or(0.0, |row| row.total as f64 / steps as f64);
        let row = mean(*a, steps_a).max(mean(*b, steps_b));
        let is_large = comparison.shift.abs() >= (LEAST_OF_ROW * row).max(LEAST_OF_STEP * step_ns);
        let is_clear = corrected.next().is_some_and(|chance| chance <= FALSE_SHARE);
        if is_clear && is_large { Noise::Changed } else { Noise::Within }
    });
    judged.collect()
}

fn values(row: Option<&PerStep>, steps: usize) -> Vec<f64> {
    row.map_or_else(|| vec![0.0; steps], |row| row.values.iter().map(|value| *value as f64).collect())
}

#[cfg(test)]
mod tests {
    use super::{Noise, judge};
    use crate::diff::side::PerStep;

    fn row(values: &[i64]) -> PerStep {
        PerStep { values: values.to_vec(), total: values.iter().sum() }
    }

    #[test]
    fn a_row_changed_if_the_test_and_the_size_say_so() {
        let low = row(&[100, 101, 99, 100, 102, 98]);
        let high = row(&[120, 121, 119, 120, 122, 118]);
        let near = row(&[101, 102, 100, 101, 103, 99]);
        let [a, b, c] = [Some(&low), Some(&high), Some(&near)];
        let steps = (6, 6);
        assert_eq!(judge(&[[a, b], [a, a]], steps, 1000.0), [Noise::Changed, Noise::Within]);
        // One that is not there is 0 in every step.
        assert_eq!(judge(&[[None, b], [b, None]], steps, 1000.0), [Noise::Changed, Noise::Changed]);
        // 20 is less than a thousandth of the step.
        assert_eq!(judge(&[[a, b]], steps, 30_000.0), [Noise::Within]);
        assert_eq!(judge(&[[a, c]], steps, 1.0), [Noise::Within]);
        let (few, many) = (row(&[1, 2, 3, 4]), row(&[9, 9, 8, 9]));
        assert_eq!(judge(&[[Some(&few), Some(&many)]], (4, 4), 1.0), [Noise::NotTested]);
    }
}
