//! Whether a level grows from step to step, or only varies.

use stepscope_model::{Sentence, say};

/// A trend as clear as this, or clearer, comes about by chance in one of a hundred cases.
const CLEAR_TREND: f64 = 2.326_347_874_040_840_8;

/// A level that grows.
pub(crate) struct Rise {
    /// Growth per step.
    pub per_step: f64,
    /// Steps after which the level was higher than before.
    rises: usize,
    /// Steps that have one before them.
    steps: usize,
}

impl Rise {
    /// How often it was higher.
    pub(crate) fn in_words(&self) -> Sentence {
        say!("it is higher after {} of {} steps", say::count(self.rises as i64), say::count(self.steps as i64))
    }

    pub(crate) fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("growth_bytes", self.per_step), ("rises", self.rises as f64), ("steps", self.steps as f64)]
    }
}

/// The rise of a level after each step; `None` unless it rises in that share of so many steps, and the trend is clear.
pub(crate) fn rise(levels: &[i64], least_ratio: f64, least_steps: f64) -> Option<Rise> {
    let steps = levels.len().checked_sub(1)?;
    let rises = levels.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let is_rising = rises as f64 >= least_ratio * steps as f64;
    if (levels.len() as f64) < least_steps || !is_rising || trend(levels) < CLEAR_TREND {
        return None;
    }
    let per_step = (levels.last()? - levels.first()?) as f64 / steps as f64;
    Some(Rise { per_step, rises, steps })
}

/// The statistic of Mann and Kendall, normal if there is no trend: how far more pairs rise than fall.
fn trend(levels: &[i64]) -> f64 {
    let count = levels.len() as f64;
    let after = |(place, before): (usize, &i64)| {
        let scores = levels[place + 1..].iter().map(|after| (after - before).signum());
        scores.sum::<i64>()
    };
    let score: i64 = levels.iter().enumerate().map(after).sum();
    let mut sorted = levels.to_vec();
    sorted.sort_unstable();
    let ties = sorted.chunk_by(|a, b| a == b).map(|tied| tied.len() as f64);
    let spread = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let variance = (spread(count) - ties.map(spread).sum::<f64>()) / 18.0;
    if variance <= 0.0 { 0.0 } else { (score - score.signum()) as f64 / variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::trend;

    #[test]
    fn the_statistic_is_that_of_mann_and_kendall() {
        // 28 pairs rise: 27 / √(8 · 7 · 21 / 18).
        let rising = trend(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert!((rising - 27.0 / (1176.0_f64 / 18.0).sqrt()).abs() < 1e-12);
        assert!((trend(&[8, 7, 6, 5, 4, 3, 2, 1]) + rising).abs() < 1e-12);
        // Two that are equal: 27 pairs rise, and the variance is less by 2 · 1 · 9 / 18.
        let tied = trend(&[1, 2, 3, 4, 5, 6, 7, 7]);
        assert!((tied - 26.0 / (1158.0_f64 / 18.0).sqrt()).abs() < 1e-12);
        assert!(trend(&[5, 5, 5]).abs() < 1e-12 && trend(&[]).abs() < 1e-12);
    }
}
