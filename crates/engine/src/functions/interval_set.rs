//! A set of half-open intervals that grows one interval at a time.

/// The union of everything that was added. Touching and overlapping intervals are kept as one once they are merged,
/// which happens while adding when they come in order, and otherwise whenever the list has doubled: memory follows the
/// union, not the number of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalSet {
    intervals: Vec<(i64, i64)>,
    /// Length of the list after it was last merged.
    merged: usize,
    /// Whether the list is sorted by start, without overlaps.
    is_merged: bool,
}

/// Lists up to this length are not worth merging before the end.
const SHORT: usize = 1024;

impl IntervalSet {
    /// Adds `[start, end)`; an empty interval adds nothing.
    pub(crate) fn add(&mut self, start: i64, end: i64) {
        if end <= start {
            return;
        }
        match self.intervals.last_mut() {
            None => {
                self.intervals.push((start, end));
                self.is_merged = true;
                return;
            }
            Some(last) if last.0 <= start && start <= last.1 => {
                last.1 = last.1.max(end);
                return;
            }
            Some(last) => self.is_merged &= last.1 < start,
        }
        self.intervals.push((start, end));
        if !self.is_merged && self.intervals.len() > SHORT.max(2 * self.merged) {
            self.merge();
        }
    }

    /// The union as intervals that are sorted and do not touch.
    pub(crate) fn merged(&mut self) -> &[(i64, i64)] {
        if !self.is_merged {
            self.merge();
        }
        &self.intervals
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.intervals.capacity() * size_of::<(i64, i64)>()
    }

    fn merge(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        self.merged = self.intervals.len();
        self.is_merged = true;
    }
}

/// Length of a union, given as intervals that do not overlap. Wide enough for the whole range of times.
pub(crate) fn length(merged: &[(i64, i64)]) -> i128 {
    merged.iter().map(|(start, end)| i128::from(*end) - i128::from(*start)).sum()
}

/// Length of the intersection of two unions, each given as sorted intervals that do not overlap.
pub(crate) fn overlap(a: &[(i64, i64)], b: &[(i64, i64)]) -> i128 {
    let (mut i, mut j, mut total) = (0, 0, 0);
    while let (Some(left), Some(right)) = (a.get(i), b.get(j)) {
        let (start, end) = (left.0.max(right.0), left.1.min(right.1));
        if start < end {
            total += i128::from(end) - i128::from(start);
        }
        if left.1 <= right.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(intervals: &[(i64, i64)]) -> IntervalSet {
        let mut set = IntervalSet::default();
        for (start, end) in intervals {
            set.add(*start, *end);
        }
        set
    }

    #[test]
    fn merges() {
        #[track_caller]
        fn check(intervals: &[(i64, i64)], want: &[(i64, i64)]) {
            assert_eq!(set(intervals).merged(), want, "{intervals:?}");
        }
        check(&[], &[]);
        check(&[(5, 5), (7, 3)], &[]); // Empty.
        check(&[(0, 5), (5, 9)], &[(0, 9)]); // Touching.
        check(&[(4, 6), (0, 2)], &[(0, 2), (4, 6)]); // Unsorted.
        check(&[(0, 9), (2, 3), (12, 13)], &[(0, 9), (12, 13)]); // Nested.
        check(&[(0, 2), (4, 6), (1, 5)], &[(0, 6)]); // Bridge.
        check(&[(0, 2), (4, 6), (3, 7)], &[(0, 2), (3, 7)]); // Grows to the left.
        check(&[(i64::MIN, 0), (0, i64::MAX)], &[(i64::MIN, i64::MAX)]);
    }

    #[test]
    fn memory_follows_the_union() {
        let mut set = IntervalSet::default();
        for row in 0..1_000_000_i64 {
            let start = (row * 7919) % 1000;
            set.add(start * 10, start * 10 + 10);
        }
        assert_eq!(set.merged(), [(0, 10_000)]);
        assert!(set.heap_bytes() <= 4 * SHORT * 16, "{}", set.heap_bytes());
    }

    #[test]
    fn lengths() {
        assert_eq!(length(&[(i64::MIN, i64::MAX)]), i128::from(u64::MAX));
        assert_eq!(overlap(&[(0, 10), (20, 30)], &[(5, 25)]), 10);
        assert_eq!(overlap(&[(0, 10)], &[(10, 20)]), 0);
        assert_eq!(overlap(&[(0, 10)], &[(1, 2), (3, 4), (9, 12)]), 3);
        assert_eq!(overlap(&[], &[(1, 2)]), 0);
    }
}
