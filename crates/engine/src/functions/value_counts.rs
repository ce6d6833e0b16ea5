//! How often each of many numbers occurred.

/// Numbers with their counts. They are sorted and joined whenever the list has doubled: memory follows the number of
/// different values, not the number of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueCounts {
    counts: Vec<(i64, i64)>,
    /// Length of the list after it was last joined.
    joined: usize,
}

/// Lists up to this length are not worth joining before the end.
const SHORT: usize = 1024;

impl ValueCounts {
    /// Adds `value`, `count` times.
    pub(super) fn add(&mut self, value: i64, count: i64) {
        match self.counts.last_mut() {
            Some(last) if last.0 == value => last.1 += count,
            _ => self.counts.push((value, count)),
        }
        if self.counts.len() > SHORT.max(2 * self.joined) {
            self.join();
        }
    }

    /// The values in ascending order, each once, with its count.
    pub(super) fn sorted(&mut self) -> &[(i64, i64)] {
        self.join();
        &self.counts
    }

    /// Value number ⌈percent · n / 100⌉ of the n values in ascending order, at least the first.
    pub(super) fn nearest_rank(&mut self, percent: u8) -> Option<i64> {
        let counts = self.sorted();
        let all: i128 = counts.iter().map(|(_, count)| i128::from(*count)).sum();
        let mut up_to = 0;
        counts.iter().find_map(|(value, count)| {
            up_to += i128::from(*count);
            (up_to * 100 >= all * i128::from(percent)).then_some(*value)
        })
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<(i64, i64)>()
    }

    fn join(&mut self) {
        self.counts.sort_unstable_by_key(|(value, _)| *value);
        self.counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        self.joined = self.counts.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_ranks() {
        #[track_caller]
        fn check(values: &[i64], percent: u8, want: Option<i64>) {
            let mut counts = ValueCounts::default();
            for value in values {
                counts.add(*value, 1);
            }
            assert_eq!(counts.nearest_rank(percent), want, "{values:?} {percent}");
        }
        check(&[], 50, None);
        check(&[7], 0, Some(7)); // Never below the first.
        check(&[7], 99, Some(7));
        check(&[4, 1], 50, Some(1)); // Number ⌈1⌉, no mean of both.
        check(&[4, 1], 51, Some(4));
        check(&[3, 1, 2], 50, Some(2));
        check(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 90, Some(9));
        check(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 99, Some(10));
        check(&[5, 5, 5, 1], 25, Some(1));
        check(&[5, 5, 5, 1], 26, Some(5));
        check(&[i64::MAX, i64::MIN], 100, Some(i64::MAX));
    }

    #[test]
    fn memory_follows_the_different_values() {
        let mut counts = ValueCounts::default();
        for row in 0..1_000_000_i64 {
            counts.add((row * 7919) % 1000, 1);
        }
        assert_eq!(counts.sorted().len(), 1000);
        assert_eq!(counts.nearest_rank(50), Some(499));
        assert!(counts.heap_bytes() <= 4 * SHORT * 16, "{}", counts.heap_bytes());
    }
}
