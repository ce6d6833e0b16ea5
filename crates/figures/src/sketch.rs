//! Durations of a group in a few bytes: mergeable across ranks, percentiles within one part in 128.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Bits of a value that tell its bucket apart, below its leading one. Values that have no more bits are exact.
const BITS: u32 = 6;

/// Largest relative error of a percentile: half the width of a bucket.
pub const ERROR_RATIO: f64 = 1.0 / (2u64 << BITS) as f64;

/// How many values fell into each bucket. Buckets are as wide as a 64th of the power of two that they begin in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    counts: BTreeMap<u32, u64>,
}

impl Sketch {
    /// Adds a value; one below 0 counts as 0.
    pub fn add(&mut self, value: i64) {
        *self.counts.entry(bucket_of(value.max(0).unsigned_abs())).or_default() += 1;
    }

    /// Adds the values of another one.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
    }

    /// The middle of the bucket that value number ⌈percent · n / 100⌉ of the n values in ascending order lies in.
    #[must_use]
    pub fn percentile(&self, percent: impl Into<f64>) -> Option<i64> {
        let (all, percent) = (self.count() as f64, percent.into());
        let mut up_to = 0;
        self.counts.iter().find_map(|(bucket, count)| {
            up_to += *count;
            (up_to as f64 * 100.0 >= all * percent).then(|| middle_of(*bucket))
        })
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        2 * self.counts.len() * size_of::<(u32, u64)>()
    }

    /// Reads what `to_string` wrote; `None` if it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let pair = |pair: &str| {
            let (bucket, count) = pair.split_once(':')?;
            Some((bucket.parse().ok()?, count.parse().ok()?))
        };
        let counts = text.split_ascii_whitespace().map(pair).collect::<Option<_>>()?;
        Some(Self { counts })
    }
}

/// `bucket:count`, with spaces between.
impl fmt::Display for Sketch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (bucket, count)) in self.counts.iter().enumerate() {
            if place > 0 {
                formatter.write_char(' ')?;
            }
            write!(formatter, "{bucket}:{count}")?;
        }
        Ok(())
    }
}

/// The leading one and the `BITS` bits below it, as one number that grows with the value.
fn bucket_of(value: u64) -> u32 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    (shift << BITS) + (value >> shift) as u32
}

fn middle_of(bucket: u32) -> i64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let first = u64::from(bucket - (shift << BITS)) << shift;
    let width = 1u64 << shift;
    i64::try_from(first + (width - 1) / 2).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_near() {
        for value in (0..4096).chain([1 << 20, (1 << 40) + 12_345, i64::MAX.unsigned_abs()]) {
            let middle = middle_of(bucket_of(value)).unsigned_abs();
            let error = middle.abs_diff(value) as f64;
            assert!(error <= value as f64 * ERROR_RATIO, "{value} became {middle}");
            assert!(value >= 128 || error == 0.0, "{value} became {middle}");
        }
    }

    #[test]
    fn buckets_grow_with_values() {
        let buckets: Vec<u32> = (0..100_000).map(bucket_of).collect();
        assert!(buckets.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] - pair[0] <= 1));
    }

    #[test]
    fn merged_sketches_are_those_of_all_values() {
        let sketch = |values: &[i64]| {
            let mut sketch = Sketch::default();
            for value in values {
                sketch.add(*value);
            }
            sketch
        };
        let mut merged = sketch(&[5, 100]);
        merged.merge(&sketch(&[100, 1_000_000, -3]));
        assert_eq!(merged, sketch(&[-3, 5, 100, 100, 1_000_000]));
        assert_eq!(merged.percentile(50), Some(100));
        assert_eq!(merged.percentile(1), Some(0));
        assert_eq!(merged.percentile(99), Some(middle_of(bucket_of(1_000_000))));
        assert_eq!(Sketch::parse(&merged.to_string()), Some(merged));
        assert_eq!(Sketch::default().percentile(50), None);
        assert_eq!(Sketch::parse(""), Some(Sketch::default()));
        assert_eq!(Sketch::parse("1:x"), None);
    }
}
