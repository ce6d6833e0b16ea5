//! The differences between all pairs of two series in order, without making them: there are millions in a long history.

/// The differences b − a of all pairs of two sorted series.
pub(super) struct Differences<'a> {
    /// The series that is taken away.
    pub a: &'a [f64],
    /// The series that it is taken from.
    pub b: &'a [f64],
}

impl Differences<'_> {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.a.len() * self.b.len()
    }

    /// The difference at a place from 1 on, in ascending order: the least value that so many differences do not exceed.
    pub(super) fn at(&self, place: usize) -> f64 {
        let (mut low, mut high) = (ordered(f64::NEG_INFINITY), ordered(f64::INFINITY));
        while low < high {
            let middle = low + ((i128::from(high) - i128::from(low)) / 2) as i64;
            if self.up_to(from_ordered(middle)) >= place { high = middle } else { low = middle + 1 }
        }
        from_ordered(low)
    }

    /// The one in the middle; of an even number, the mean of both.
    pub(super) fn median(&self) -> f64 {
        let upper = self.at(self.count() / 2 + 1);
        if self.count() % 2 == 1 { upper } else { f64::midpoint(self.at(self.count() / 2), upper) }
    }

    /// How many are at most `limit`.
    fn up_to(&self, limit: f64) -> usize {
        let mut below = 0;
        self.a
            .iter()
            .map(|a| {
                // The larger a value of a is, the more values of b exceed it by no more than that.
                below += self.b[below..].iter().take_while(|b| *b - a <= limit).count();
                below
            })
            .sum()
    }
}

/// A whole number that is larger exactly if the value is.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

fn from_ordered(order: i64) -> f64 {
    f64::from_bits((if order < 0 { order ^ i64::MAX } else { order }) as u64)
}

#[cfg(test)]
mod tests {
    use super::{Differences, from_ordered, ordered};

    #[test]
    fn each_place_is_that_of_all_differences_sorted() {
        let cases: [(&[f64], &[f64]); 4] = [
            (&[1.0], &[4.0]),
            (&[1.0, 2.0, 2.0, 9.5], &[-3.0, 0.0, 2.0]),
            (&[0.1, 0.2, 0.7], &[0.3, 0.3, 0.300_000_000_000_000_04, 1e300]),
            (&[-1e-320, 0.0, 5.0], &[0.0, 1e-320]),
        ];
        for (a, b) in cases {
            let mut all: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let differences = Differences { a, b };
            assert_eq!(differences.count(), all.len());
            let found: Vec<f64> = (1..=all.len()).map(|place| differences.at(place)).collect();
            // −0 and 0 are one value.
            assert!(
                found.iter().zip(&all).all(|(found, expected)| (found - expected).abs() <= 0.0),
                "{found:?} {all:?}"
            );
            let median = super::super::median(&all);
            assert_eq!(Some(differences.median()), median);
        }
    }

    #[test]
    fn order_keeps_values() {
        let values = [f64::NEG_INFINITY, -2.5, -1e-320, -0.0, 0.0, 1e-320, 2.5, f64::INFINITY];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(values.iter().all(|value| from_ordered(ordered(*value)).to_bits() == value.to_bits()));
    }
}
