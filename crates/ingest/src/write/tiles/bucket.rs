//! Spans of one lane that lie so close together that a screen shows them as one.

use stepscope_model::SpanClass;

use crate::collect::record::SpanId;
use crate::derive::stream::Span;
use crate::spill::row::row;
use crate::spill::strings::{Strings, Text};

/// One span, or several that start close together.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub start: i64,
    pub end: i64,
    /// Time in which any of them goes on.
    busy_ns: i64,
    pub count: u64,
    class_ns: [i64; SpanClass::ALL.len()],
    longest: Longest,
}

/// The longest span of a bucket.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    dur_ns: i64,
    id: SpanId,
    class: u8,
    name: Option<Text>,
    /// Its name, if that has no number.
    behind: Vec<u8>,
}

row! {
    /// A bucket that is complete, beside its place; a name without a number follows it.
    Tile { end: i64, busy_ns: i64, count: u64, class: u8, longest: SpanId, name: Option<Text>, }
}

impl Longest {
    pub(super) fn new(span: &Span<'_>, class: u8, strings: &Strings) -> Self {
        let (name, behind) = match span.record.head.name {
            Some(text @ Text::Behind { length, .. }) => {
                let own = strings.resolve(text, span.record.texts).as_bytes().to_vec();
                (Some(Text::Behind { start: 0, length }), own)
            }
            name => (name, Vec::new()),
        };
        Self { dur_ns: span.key.dur(), id: span.id, class, name, behind }
    }
}

impl Bucket {
    pub(super) fn of_span(start: i64, end: i64, longest: Longest) -> Self {
        let mut class_ns = [0; SpanClass::ALL.len()];
        class_ns[usize::from(longest.class)] = end - start;
        Self { start, end, busy_ns: end - start, count: 1, class_ns, longest }
    }

    /// Takes in what starts later.
    pub(super) fn add(&mut self, later: Self) {
        let overlap_ns = (self.end - later.start).max(0);
        self.busy_ns += (later.busy_ns - overlap_ns).max(0);
        self.end = self.end.max(later.end);
        self.count += later.count;
        for (sum, more) in self.class_ns.iter_mut().zip(later.class_ns) {
            *sum = sum.saturating_add(more);
        }
        if later.longest.dur_ns > self.longest.dur_ns {
            self.longest = later.longest;
        }
    }

    /// The row of the bucket, and the name that follows it.
    pub(super) fn tile(&self) -> (Tile, &[u8]) {
        let Self { end, busy_ns, count, longest, .. } = self;
        let most = |best: u8, class: u8| {
            let of = |class: u8| self.class_ns[usize::from(class)];
            if of(class) > of(best) { class } else { best }
        };
        let class = (0..SpanClass::ALL.len() as u8).fold(longest.class, most);
        let (longest, name, behind) = (longest.id, longest.name, &longest.behind);
        (Tile { end: *end, busy_ns: *busy_ns, count: *count, class, longest, name }, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: i64, end: i64, class: u8, id: u64) -> Bucket {
        let longest = Longest { dur_ns: end - start, id: SpanId::new(id), class, name: None, behind: Vec::new() };
        Bucket::of_span(start, end, longest)
    }

    #[test]
    fn the_class_with_most_time_is_not_always_that_of_the_longest() {
        let mut bucket = span(0, 10, 1, 0);
        bucket.add(span(20, 28, 2, 1));
        bucket.add(span(30, 38, 2, 2));
        let (tile, _) = bucket.tile();
        assert_eq!((tile.class, tile.longest, tile.count), (2, SpanId::new(0), 3));
        assert_eq!((tile.busy_ns, tile.end), (26, 38));
    }

    #[test]
    fn time_that_two_share_counts_once() {
        let mut bucket = span(0, 10, 0, 0);
        bucket.add(span(5, 12, 0, 1));
        bucket.add(span(6, 8, 0, 2));
        assert_eq!(bucket.tile().0.busy_ns, 12);
    }

    #[test]
    fn instants_keep_their_class() {
        let mut bucket = span(4, 4, 9, 0);
        bucket.add(span(5, 5, 9, 1));
        let (tile, _) = bucket.tile();
        assert_eq!((tile.class, tile.busy_ns, tile.count), (9, 0, 2));
    }
}
