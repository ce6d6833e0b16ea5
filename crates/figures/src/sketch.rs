//! Durations of a group in a few bytes: mergeable across ranks, percentiles within one part in 128.

use std::collections::BTreeMap;
use std::fmt;

/// Bits of a value that tell its bucket apart, below its leading one. Values that have no more bits are exact.
const BITS: u32 = 6;

/// The bucket of the largest value.
const LAST_BUCKET: u32 = ((u64::BITS - BITS) << BITS) + (1 << BITS) - 1;

/// Largest relative error of a percentile: half the width of a bucket.
pub const ERROR_RATIO: f64 = 1.0 / (2u64 << BITS) as f64;

/// How many values fell into each bucket. Buckets are as wide as a 64th of the power of two that they begin in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    counts: BTreeMap<u32, u64>,
    /// The smallest and the largest value, exactly: no percentile lies beyond them.
    range: Option<(i64, i64)>,
}

impl Sketch {
    /// Adds a value; one below 0 counts as 0.
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        *self.counts.entry(bucket_of(value.unsigned_abs())).or_default() += 1;
        self.reach((value, value));
    }

    /// Adds the values of another one.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
        if let Some(range) = other.range {
            self.reach(range);
        }
    }

    /// The middle of the bucket that value number ⌈percent · n / 100⌉ of the n values in ascending order lies in, within
    /// the range of the values.
    #[must_use]
    pub fn percentile(&self, percent: impl Into<f64>) -> Option<i64> {
        let (all, percent) = (self.count() as f64, percent.into());
        let (least, most) = self.range?;
        let mut up_to = 0;
        self.counts.iter().find_map(|(bucket, count)| {
            up_to += *count;
            (up_to as f64 * 100.0 >= all * percent).then(|| middle_of(*bucket).clamp(least, most))
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

    /// Reads what `to_string` wrote; `None` if it is something else. Without a range, that of the buckets is taken.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let pair = |pair: &str| {
            let (bucket, count) = pair.split_once(':')?;
            Some((bucket.parse::<u32>().ok().filter(|bucket| *bucket <= LAST_BUCKET)?, count.parse().ok()?))
        };
        let mut words = text.split_ascii_whitespace().peekable();
        let range = words.next_if(|word| word.contains("..")).map(|word| {
            let (least, most) = word.split_once("..")?;
            Some((least.parse::<i64>().ok()?, most.parse::<i64>().ok()?)).filter(|(least, most)| least <= most)
        });
        let counts = words.map(pair).collect::<Option<BTreeMap<u32, u64>>>()?;
        let of_buckets = || Some((first_of(*counts.first_key_value()?.0), last_of(*counts.last_key_value()?.0)));
        let range = match range {
            Some(range) => Some(range?),
            None => of_buckets(),
        };
        Some(Self { counts, range })
    }

    fn reach(&mut self, (least, most): (i64, i64)) {
        let range = self.range.get_or_insert((least, most));
        *range = (range.0.min(least), range.1.max(most));
    }
}

/// `least..most`, then `bucket:count`, with spaces between; nothing for no values.
impl fmt::Display for Sketch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((least, most)) = self.range else { return Ok(()) };
        write!(formatter, "{least}..{most}")?;
        self.counts.iter().try_for_each(|(bucket, count)| write!(formatter, " {bucket}:{count}"))
    }
}

/// The leading one and the `BITS` bits below it, as one number that grows with the value.
fn bucket_of(value: u64) -> u32 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    (shift << BITS) + (value >> shift) as u32
}

/// Where a bucket begins, and how wide it is.
fn extent_of(bucket: u32) -> (u64, u64) {
    let shift = (bucket >> BITS).saturating_sub(1);
    (u64::from(bucket - (shift << BITS)) << shift, 1 << shift)
}

fn first_of(bucket: u32) -> i64 {
    i64::try_from(extent_of(bucket).0).unwrap_or(i64::MAX)
}

fn last_of(bucket: u32) -> i64 {
    let (first, width) = extent_of(bucket);
    i64::try_from(first + (width - 1)).unwrap_or(i64::MAX)
}

fn middle_of(bucket: u32) -> i64 {
    let (first, width) = extent_of(bucket);
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

    fn sketch(values: &[i64]) -> Sketch {
        let mut sketch = Sketch::default();
        for value in values {
            sketch.add(*value);
        }
        sketch
    }

    #[test]
    fn merged_sketches_are_those_of_all_values() {
        let mut merged = sketch(&[5, 100]);
        merged.merge(&sketch(&[100, 1_000_000, -3]));
        assert_eq!(merged, sketch(&[-3, 5, 100, 100, 1_000_000]));
        assert_eq!(merged.percentile(50), Some(100));
        assert_eq!(merged.percentile(1), Some(0));
        assert_eq!(merged.percentile(99), Some(1_000_000));
        assert_eq!(Sketch::parse(&merged.to_string()), Some(merged));
        assert_eq!(Sketch::default().percentile(50), None);
        assert_eq!(Sketch::parse(""), Some(Sketch::default()));
        for broken in ["1:x", "x", "1..x 1:1", "..", "2..1 1:1", "1:1 1..2", "4000000000:1"] {
            assert_eq!(Sketch::parse(broken), None, "{broken}");
        }
        assert_eq!(bucket_of(u64::MAX), LAST_BUCKET);
        // 57 shifts of 64 buckets, and 128 for what is not shifted.
        assert!(Sketch::parse("3775:1").is_some());
        assert_eq!(Sketch::parse("3776:1"), None);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        #[track_caller]
        fn check(values: &[i64], percent: f64, want: i64) {
            assert_eq!(sketch(values).percentile(percent), Some(want), "{percent} % of {values:?}");
        }
        let ten = [3, 1, 2, 10, 9, 8, 7, 6, 5, 4];
        check(&ten, 0.0, 1);
        check(&ten, 10.0, 1);
        check(&ten, 11.0, 2);
        check(&ten, 50.0, 5);
        check(&ten, 90.0, 9);
        check(&ten, 90.1, 10);
        check(&ten, 100.0, 10);
        check(&[7], 50.0, 7);
        check(&[1, 1, 1, 2], 75.0, 1);
        check(&[1, 1, 1, 2], 76.0, 2);
    }

    #[test]
    fn a_bucket_is_told_by_its_middle() {
        #[track_caller]
        fn check(values: &[i64], want: i64) {
            assert_eq!(sketch(values).percentile(50), Some(want), "{values:?}");
        }
        // 64 buckets from 512 to 1023 are 8 wide: one from 1000 to 1007.
        check(&[1000, 1007], 1003);
        check(&[1000, 1001, 1007, 1007], 1003);
        // From 128 to 255 they are 2 wide, from 2^20 to 2^21 - 1 they are 2^14 wide.
        check(&[128, 129], 128);
        check(&[1 << 20, (1 << 20) + (1 << 14) - 1], (1 << 20) + 8191);
        // The middle is beyond what was measured.
        check(&[1000, 1002], 1002);
        check(&[1005, 1007], 1005);
    }

    #[test]
    fn any_values_are_told_within_the_error_and_in_any_order() {
        assert_eq!((ERROR_RATIO * 128.0).to_bits(), 1.0_f64.to_bits());
        let mut state = 1_u64;
        let mut any_value = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Of any magnitude.
            (state >> 1 >> (state >> 58)) as i64
        };
        for count in 1..100 {
            let mut values: Vec<i64> = (0..count).map(|_| any_value()).collect();
            let whole = sketch(&values);
            assert_eq!(whole.count(), count as u64);
            let (some, others) = values.split_at(count / 3);
            let mut merged = sketch(others);
            merged.merge(&Sketch::default());
            merged.merge(&sketch(some));
            assert_eq!(merged, whole);
            assert_eq!(Sketch::parse(&whole.to_string()).as_ref(), Some(&whole));
            values.sort_unstable();
            for percent in [0, 1, 25, 50, 75, 90, 99, 100] {
                let measured = values[(percent * count).div_ceil(100).max(1) - 1];
                let told = whole.percentile(percent as u32).unwrap();
                let error = told.abs_diff(measured) as f64;
                assert!(error <= measured as f64 * ERROR_RATIO, "{percent} % of {values:?}: {told}");
            }
        }
    }

    #[test]
    fn memory_grows_with_buckets_and_not_with_values() {
        let bytes = |values: std::ops::Range<i64>| sketch(&values.collect::<Vec<_>>()).heap_bytes();
        assert_eq!(bytes(0..0), 0);
        // A bucket has a number of 4 bytes and a count of 8.
        assert!((1200..=4800).contains(&bytes(0..100)), "{}", bytes(0..100));
        assert_eq!(bytes(0..100), 100 * bytes(0..1));
        assert_eq!(sketch(&[7; 1000]).heap_bytes(), sketch(&[7]).heap_bytes());
    }

    #[test]
    fn percentiles_lie_between_the_smallest_and_the_largest_value() {
        // Buckets begin at powers of two: there, their middles lie above a value; at their ends, below it.
        for value in (0..40).flat_map(|bit| [(1_i64 << bit) - 1, 1 << bit, (1 << bit) + 1]) {
            let mut sketch = Sketch::default();
            sketch.add(value);
            sketch.add(value + 3);
            for sketch in [Sketch::parse(&sketch.to_string()).unwrap(), sketch] {
                let ranks = [0, 50, 90, 99, 100].map(|percent| sketch.percentile(percent).unwrap());
                assert!(value <= ranks[0] && ranks.is_sorted() && ranks[4] <= value + 3, "{value}: {ranks:?}");
            }
        }
        // Without a range, as it was once written.
        assert_eq!(Sketch::parse("5:1 100:2").unwrap().to_string(), "5..100 5:1 100:2");
        // Bucket 317 = 3 · 64 + 125 begins at 125 · 2^3 and is 2^3 wide.
        assert_eq!(Sketch::parse("317:1").unwrap().to_string(), "1000..1007 317:1");
    }
}
