//! The spans that a search found, by time: which is the next one, which place it has among all, and where the marks are.
//!
//! All of them are kept as long as they are few enough. Beyond that, counts stand for the whole recording and the spans
//! of a part of it are kept; a question outside of that part reads another.

use std::collections::BTreeMap;
use std::ops::Range;

use stepscope_model::LaneMarks;

/// Equal parts of a recording in which matches are counted.
const COLUMNS: usize = 16_384;

/// A span that was found. Times count from the first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start_ns: i64,
    pub(super) dur_ns: i64,
    pub(super) span_id: i64,
    pub(super) track: i32,
    pub(super) lane: i32,
}

/// Which way to go from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The first that starts at a time or later; behind a span of that start if one is given.
    Forward,
    /// The last that starts before a time; or before a span of that start.
    Backward,
}

/// Reads the matches that start in a stretch of time.
type Read<'a, E> = &'a mut dyn FnMut(Range<i64>) -> Result<Vec<Found>, E>;

/// What a search found.
#[derive(Clone, Debug)]
pub(super) struct MatchIndex {
    end_ns: i64,
    most: usize,
    /// Matches that start in each column.
    counts: Vec<u32>,
    /// Matches that are longer than a column: they mark views in which they do not start.
    long: Vec<Found>,
    /// Columns that each lane has matches in, for a look at more of them than are kept.
    lanes: BTreeMap<(i32, i32), Vec<bool>>,
    /// Columns whose matches are kept.
    columns: Range<usize>,
    /// Those matches, by start and number.
    kept: Vec<Found>,
}

impl MatchIndex {
    /// Nothing found yet in a recording of this length; at most so many matches are kept.
    pub(super) fn new(end_ns: i64, most: usize) -> Self {
        Self {
            end_ns: end_ns.max(1),
            most,
            counts: vec![0; COLUMNS],
            long: Vec::new(),
            lanes: BTreeMap::new(),
            columns: 0..COLUMNS,
            kept: Vec::new(),
        }
    }

    /// Adds a match, in any order.
    pub(super) fn add(&mut self, found: Found) {
        let first = self.column(found.start_ns);
        let last = self.column(found.start_ns.saturating_add(found.dur_ns));
        self.counts[first] += 1;
        self.lanes.entry((found.track, found.lane)).or_insert_with(|| vec![false; COLUMNS])[first..=last].fill(true);
        if last > first + 1 {
            self.long.push(found);
        }
        if self.columns.is_empty() {
            return;
        }
        self.kept.push(found);
        if self.kept.len() > self.most {
            self.columns = 0..0;
            self.kept = Vec::new();
        }
    }

    /// Reads the matches of these columns in place of those that are kept.
    fn keep<E>(&mut self, columns: Range<usize>, read: Read<'_, E>) -> Result<(), E> {
        self.kept = read(self.times(&columns))?;
        self.columns = columns;
        self.sort();
        Ok(())
    }

    /// Brings what was added into order.
    pub(super) fn sort(&mut self) {
        self.kept.sort_unstable_by_key(|found| (found.start_ns, found.span_id));
    }

    /// How many matches there are in all.
    pub(super) fn count(&self) -> i64 {
        self.sum(0..COLUMNS)
    }

    /// How many matches start in each of so many equal parts of the recording.
    pub(super) fn density(&self, width: usize) -> Vec<u32> {
        let width = width.clamp(1, COLUMNS);
        let mut density = vec![0; width];
        for (column, count) in self.counts.iter().enumerate() {
            density[column * width / COLUMNS] += count;
        }
        density
    }

    /// The times at which matches of these columns start.
    fn times(&self, columns: &Range<usize>) -> Range<i64> {
        let edge =
            |column: usize| ((i128::from(self.end_ns) * column as i128 + COLUMNS as i128 - 1) / COLUMNS as i128) as i64;
        let start = if columns.start == 0 { i64::MIN } else { edge(columns.start) };
        start..if columns.end >= COLUMNS { i64::MAX } else { edge(columns.end) }
    }

    /// The match before or after a place, and its own place from 1; from one end of the recording to the other.
    pub(super) fn step<E>(
        &mut self,
        way: Way,
        (from_ns, span_id): (i64, Option<i64>),
        read: Read<'_, E>,
    ) -> Result<Option<(i64, Found)>, E> {
        let column = self.column(from_ns);
        if !self.columns.contains(&column) {
            self.keep(self.around(column), read)?;
        }
        let before = match way {
            Way::Forward => (from_ns, span_id.map_or(i64::MIN, |span_id| span_id.saturating_add(1))),
            Way::Backward => (from_ns, span_id.unwrap_or(i64::MIN)),
        };
        let place = self.kept.partition_point(|found| (found.start_ns, found.span_id) < before);
        // Where this part has none, the next column that has one; the edge of the recording leads to its other edge.
        let has = |column: &usize| self.counts[*column] > 0;
        let (next, place) = match way {
            Way::Forward if place < self.kept.len() => (None, place),
            Way::Forward => ((self.columns.end..COLUMNS).chain(0..COLUMNS).find(has), 0),
            Way::Backward if place > 0 => (None, place - 1),
            Way::Backward => ((0..self.columns.start).rev().chain((0..COLUMNS).rev()).find(has), usize::MAX),
        };
        if let Some(next) = next
            && !self.columns.contains(&next)
        {
            self.keep(self.around(next), read)?;
            // What is kept now may begin before that column, and end behind it.
            let times = self.times(&(next..next + 1));
            let place = self.kept.partition_point(|found| match way {
                Way::Forward => found.start_ns < times.start,
                Way::Backward => found.start_ns < times.end,
            });
            return Ok(self.numbered(if way == Way::Forward { place } else { place.saturating_sub(1) }));
        }
        Ok(self.numbered(place.min(self.kept.len().saturating_sub(1))))
    }

    /// A match that is kept, with its place among all.
    fn numbered(&self, place: usize) -> Option<(i64, Found)> {
        let before = self.sum(0..self.columns.start);
        self.kept.get(place).map(|found| (before + place as i64 + 1, *found))
    }

    /// The marks in a stretch of time on so many pixels.
    pub(super) fn marks<E>(&mut self, times: Range<i64>, width: u32, read: Read<'_, E>) -> Result<Vec<LaneMarks>, E> {
        let columns = self.column(times.start)..self.column(times.end.saturating_sub(1)) + 1;
        let pixel_ns = ((times.end - times.start) / i64::from(width.max(1))).max(1);
        let mut marks = Marks { times, pixel_ns, lanes: BTreeMap::new() };
        let is_kept = self.columns.start <= columns.start && columns.end <= self.columns.end;
        if !is_kept && self.sum(columns.clone()) > self.most as i64 {
            for (lane, has) in &self.lanes {
                for column in columns.clone().filter(|column| has[*column]) {
                    let times = self.times(&(column..column + 1));
                    marks.add(*lane, times.start.max(0), times.end.min(self.end_ns));
                }
            }
            return Ok(marks.in_order());
        }
        if !is_kept {
            self.keep(columns, read)?;
        }
        let first = self.times(&self.columns).start;
        let long = self.long.iter().filter(|found| found.start_ns < first);
        let last = self.kept.partition_point(|found| found.start_ns < marks.times.end);
        let mut all: Vec<&Found> = long.chain(&self.kept[..last]).collect();
        all.sort_by_key(|found| found.start_ns);
        for found in all {
            marks.add((found.track, found.lane), found.start_ns, found.start_ns.saturating_add(found.dur_ns));
        }
        Ok(marks.in_order())
    }

    /// As many columns around one as have few enough matches.
    fn around(&self, column: usize) -> Range<usize> {
        let mut columns = column..column + 1;
        let mut count = self.sum(columns.clone());
        let mut fits = |column: usize, most: usize| {
            let more = count + i64::from(self.counts[column]);
            let fits = more <= most as i64;
            count = if fits { more } else { count };
            fits
        };
        // As much before it as after it, as a walk goes both ways.
        while columns.end < COLUMNS && fits(columns.end, self.most / 2) {
            columns.end += 1;
        }
        while columns.start > 0 && fits(columns.start - 1, self.most) {
            columns.start -= 1;
        }
        while columns.end < COLUMNS && fits(columns.end, self.most) {
            columns.end += 1;
        }
        columns
    }

    fn sum(&self, columns: Range<usize>) -> i64 {
        self.counts[columns].iter().map(|count| i64::from(*count)).sum()
    }

    fn column(&self, time: i64) -> usize {
        let time = time.clamp(0, self.end_ns);
        ((i128::from(time) * COLUMNS as i128 / i128::from(self.end_ns)) as usize).min(COLUMNS - 1)
    }
}

/// Marks while they are gathered lane by lane, each lane by time.
struct Marks {
    times: Range<i64>,
    pixel_ns: i64,
    lanes: BTreeMap<(i32, i32), Vec<(i64, i64)>>,
}

impl Marks {
    fn add(&mut self, lane: (i32, i32), start: i64, end: i64) {
        if end < self.times.start || start >= self.times.end {
            return;
        }
        let ranges = self.lanes.entry(lane).or_default();
        match ranges.last_mut() {
            Some((_, before)) if start <= before.saturating_add(self.pixel_ns) => *before = end.max(*before),
            _ => ranges.push((start, end)),
        }
    }

    fn in_order(self) -> Vec<LaneMarks> {
        let lane =
            |((track, depth), ranges): ((i32, i32), _)| LaneMarks { track: track.into(), depth: depth.into(), ranges };
        self.lanes.into_iter().map(lane).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: i64 = 1_000_000_000;

    /// Every hundredth match starts together with the one before, and every thousandth is long.
    fn all() -> Vec<Found> {
        let found = |place: i64| Found {
            start_ns: (place - i64::from(place % 100 == 99)) * 100_000,
            dur_ns: if place % 1_000 == 0 { 5_000_000 } else { 10 },
            span_id: (place * 7_919) % 100_003,
            track: (place % 3) as i32,
            lane: 0,
        };
        (0..9_000).map(found).collect()
    }

    fn in_order(mut all: Vec<Found>) -> Vec<Found> {
        all.sort_by_key(|found| (found.start_ns, found.span_id));
        all
    }

    /// An index that reads parts of `all` as a workspace would.
    struct Reading {
        index: MatchIndex,
        all: Vec<Found>,
        reads: usize,
    }

    impl Reading {
        fn new(all: Vec<Found>, most: usize) -> Self {
            let mut index = MatchIndex::new(END, most);
            for found in &all {
                index.add(*found);
            }
            index.sort();
            Self { index, all, reads: 0 }
        }

        fn step(&mut self, way: Way, from_ns: i64, span_id: Option<i64>) -> Option<(i64, Found)> {
            let read = &mut read(&self.all, &mut self.reads);
            self.index.step(way, (from_ns, span_id), read).unwrap()
        }

        fn marks(&mut self, times: Range<i64>) -> Vec<LaneMarks> {
            let read = &mut read(&self.all, &mut self.reads);
            self.index.marks(times, 1_000, read).unwrap()
        }
    }

    fn read(all: &[Found], reads: &mut usize) -> impl FnMut(Range<i64>) -> Result<Vec<Found>, ()> {
        move |times| {
            *reads += 1;
            Ok(all.iter().filter(|found| times.contains(&found.start_ns)).copied().collect())
        }
    }

    #[test]
    fn every_match_is_reached_in_order_and_back() {
        let want = in_order(all());
        for most in [100_000, 700] {
            let mut reading = Reading::new(all(), most);
            let (mut from, mut after) = (-5, None);
            for (place, want) in want.iter().enumerate() {
                assert_eq!(reading.step(Way::Forward, from, after), Some((place as i64 + 1, *want)), "{most}");
                (from, after) = (want.start_ns, Some(want.span_id));
            }
            // Behind the last is the first, and before the first the last.
            assert_eq!(reading.step(Way::Forward, from, after), Some((1, want[0])));
            let last = reading.step(Way::Backward, want[0].start_ns, Some(want[0].span_id));
            assert_eq!(last, Some((9_000, want[8_999])));
            for place in (1..want.len()).rev() {
                let found = reading.step(Way::Backward, want[place].start_ns, Some(want[place].span_id));
                assert_eq!(found, Some((place as i64, want[place - 1])), "{most}");
            }
            assert!(reading.reads < 80, "{} reads", reading.reads);
        }
    }

    #[test]
    fn a_step_begins_at_the_edge_of_the_view() {
        let mut reading = Reading::new(all(), 700);
        let mut check = |way: Way, from_ns: i64, want: i64| {
            assert_eq!(reading.step(way, from_ns, None).map(|(place, _)| place), Some(want), "{from_ns}");
        };
        check(Way::Forward, 450_000_000, 4_501);
        check(Way::Backward, 450_000_000, 4_500);
        // Beyond the last match, and beyond the recording.
        check(Way::Forward, 950_000_000, 1);
        check(Way::Backward, i64::MAX, 9_000);
        check(Way::Forward, i64::MIN, 1);
        assert_eq!(Reading::new(Vec::new(), 700).step(Way::Forward, 0, None), None);
    }

    #[test]
    fn marks_are_the_same_whatever_is_kept() {
        let (mut whole, mut parts) = (Reading::new(all(), 100_000), Reading::new(all(), 700));
        let mut check = |times: Range<i64>, want: usize| {
            let marks = whole.marks(times.clone());
            assert_eq!(marks.iter().map(|lane| lane.ranges.len()).sum::<usize>(), want, "{times:?}");
            assert_eq!(parts.marks(times.clone()), marks, "{times:?}");
        };
        check(200_000_000..200_300_000, 3);
        // The long match that starts before the view, and views without any.
        check(202_010_000..202_050_000, 1);
        check(205_010_050..205_050_000, 0);
        check(950_000_000..960_000_000, 0);
    }

    #[test]
    fn a_look_at_all_of_too_many_matches_has_marks_by_column() {
        let mut parts = Reading::new(all(), 700);
        let marks = parts.marks(0..END);
        assert_eq!((parts.reads, marks.len()), (0, 3));
        assert!(marks.iter().all(|lane| lane.ranges.last().is_some_and(|(_, end)| *end < 901_000_000)));
        assert_eq!(parts.index.density(10).iter().sum::<u32>(), 9_000);
        assert_eq!(parts.index.density(10)[9], 0);
    }
}
