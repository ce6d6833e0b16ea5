//! Where a history changed for good: E-divisive (Matteson and James 2014), with the merge of Hunter (Fleming et al. 2023).

use super::{mean, student};

/// Values that a history needs.
pub const HISTORY_LEAST: usize = 8;

/// Values on each side of a change.
const SEGMENT_LEAST: usize = 3;

/// A split is looked into while its chance is below this.
const CHANCE_TO_SPLIT: f64 = 0.05;

/// A change is kept if its chance is below this.
const CHANCE_TO_KEEP: f64 = 0.001;

/// A place from which on values differ from those before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Place of the first value after the change.
    pub at: usize,
    /// The chance that the means around it differ so far.
    pub p: f64,
    /// Relative change of the mean.
    pub ratio: f64,
}

/// The changes of a history of at least that relative size, in order. `None` for fewer values than [`HISTORY_LEAST`].
#[must_use]
pub fn change_points(history: &[f64], least_ratio: f64) -> Option<Vec<ChangePoint>> {
    if history.len() < HISTORY_LEAST {
        return None;
    }
    let mut places = Vec::new();
    split(history, 0, &mut places);
    loop {
        let points = around(history, &places);
        let Some(weakest) = weakest(&points, least_ratio) else {
            return Some(points);
        };
        places.retain(|place| *place != weakest);
    }
}

/// The place to leave out first: that of the likeliest chance, else that of the smallest change.
fn weakest(points: &[ChangePoint], least_ratio: f64) -> Option<usize> {
    let by_chance = points
        .iter()
        .filter(|point| point.p >= CHANCE_TO_KEEP)
        .max_by(|a, b| a.p.total_cmp(&b.p).then(b.at.cmp(&a.at)));
    let by_size = || {
        let small = points.iter().filter(|point| point.ratio.abs() < least_ratio);
        small.min_by(|a, b| a.ratio.abs().total_cmp(&b.ratio.abs()).then(a.at.cmp(&b.at)))
    };
    by_chance.or_else(by_size).map(|point| point.at)
}

/// What the values between neighboring places say about each place.
fn around(history: &[f64], places: &[usize]) -> Vec<ChangePoint> {
    let edges: Vec<usize> = [0].into_iter().chain(places.iter().copied()).chain([history.len()]).collect();
    let point = |edges: &[usize]| {
        let (before, after) = (&history[edges[0]..edges[1]], &history[edges[1]..edges[2]]);
        ChangePoint { at: edges[1], p: student::two_sided(before, after), ratio: mean(after) / mean(before) - 1.0 }
    };
    edges.windows(3).map(point).collect()
}

/// Adds the place where the parts differ most, if Student's t agrees, and those within the parts.
fn split(history: &[f64], offset: usize, places: &mut Vec<usize>) {
    let Some(place) = most_different(history) else { return };
    let (before, after) = history.split_at(place);
    if student::two_sided(before, after) < CHANCE_TO_SPLIT {
        split(before, offset, places);
        places.push(offset + place);
        split(after, offset + place, places);
    }
}

/// The first place with the largest energy between the parts; `None` if they would be too short.
fn most_different(history: &[f64]) -> Option<usize> {
    let places = SEGMENT_LEAST..=history.len().checked_sub(SEGMENT_LEAST)?;
    let energies = places.map(|place| (place, energy(history.split_at(place))));
    energies.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(place, _)| place)
}

/// How far two parts lie apart, beyond how far the values of each lie apart.
fn energy((a, b): (&[f64], &[f64])) -> f64 {
    let between: f64 = a.iter().map(|a| b.iter().map(|b| (a - b).abs()).sum::<f64>()).sum();
    let within = |part: &[f64]| {
        let apart =
            |(place, value): (usize, &f64)| part[..place].iter().map(|other| (value - other).abs()).sum::<f64>();
        let pairs = part.len() * (part.len() - 1) / 2;
        part.iter().enumerate().map(apart).sum::<f64>() / pairs as f64
    };
    let (m, n) = (a.len() as f64, b.len() as f64);
    m * n / (m + n) * (2.0 * between / (m * n) - within(a) - within(b))
}

#[cfg(test)]
mod tests {
    use super::{change_points, energy};

    fn places(history: &[f64]) -> Option<Vec<usize>> {
        Some(change_points(history, 0.02)?.iter().map(|point| point.at).collect())
    }

    /// Values around a level, up and down by a thousandth.
    fn around(level: f64, count: usize) -> Vec<f64> {
        (0..count).map(|place| level * (1.0 + 0.001 * (place % 3) as f64)).collect()
    }

    #[test]
    fn changes_are_found_where_they_begin() {
        assert_eq!(places(&around(10.0, 7)), None);
        assert_eq!(places(&around(10.0, 8)), Some(vec![]));
        assert_eq!(places(&[around(10.0, 6), around(11.0, 6)].concat()), Some(vec![6]));
        assert_eq!(places(&[around(10.0, 6), around(11.0, 6), around(10.0, 6)].concat()), Some(vec![6, 12]));
        // Clear, but too small to tell.
        assert_eq!(places(&[around(10.0, 12), around(10.1, 12)].concat()), Some(vec![]));
        // One outlier is no change.
        assert_eq!(places(&[around(10.0, 8), vec![20.0], around(10.0, 8)].concat()), Some(vec![]));
    }

    #[test]
    fn energy_is_that_of_the_definition() {
        // Between: 9 pairs, Σ = 27, so 2 · 27 / 9 = 6; within: (1 + 2 + 1) / 3 on each side; 9 / 6 of the rest.
        let found = energy((&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]));
        assert!((found - 1.5 * (6.0 - 8.0 / 3.0)).abs() < 1e-12);
    }
}
