//! How long the operations of a compiled program take. They nest, so the time of each is its own time; and they may carry
//! the times of the device's own clock, by which their lengths are those that the device measured.

use std::sync::Arc;

use hashbrown::HashMap;
use stepscope_model::args::SpanArgColumn;

use super::stream::Span;
use crate::collect::record::{SpanId, TrackId};
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};

row! {
    /// An operation by one of its clocks, in the order that nesting needs.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Interval {
        track: TrackId,
        is_own_clock: bool,
        start: i64,
        /// `!end`, so that of two that start together the longer one comes first.
        not_end: i64,
        position: u64,
        id: SpanId,
    }
}

row! {
    /// The time of an operation, and the operation around it.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    WorkTime { id: SpanId, self_ns: i64, parent: Option<SpanId>, }
}

/// Operations as they come.
#[derive(Debug)]
pub(crate) struct WorkTimeInputs {
    intervals: Sorter<Interval>,
    /// For each track how many operations there are, and how many of them carry the device's own times.
    counts: HashMap<TrackId, (u64, u64)>,
    scratch: Arc<Scratch>,
}

impl WorkTimeInputs {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { intervals: Sorter::new(scratch), counts: HashMap::new(), scratch: Arc::clone(scratch) }
    }

    /// Takes the next operation.
    pub(crate) fn add(&mut self, span: &Span<'_>) -> Result<(), IngestError> {
        let (track, position, id) = (span.key.track, span.key.position, span.id);
        let (start, not_end) = (span.key.start, span.key.not_end);
        self.intervals.push(Interval { track, is_own_clock: false, start, not_end, position, id })?;
        let record = &span.record;
        let own = record.integer(SpanArgColumn::device_start_ns).zip(record.integer(SpanArgColumn::device_dur_ns));
        let counts = self.counts.entry(track).or_default();
        counts.0 += 1;
        if let Some((start, dur)) = own
            && let Some(end) = start.checked_add(dur)
        {
            counts.1 += 1;
            self.intervals.push(Interval { track, is_own_clock: true, start, not_end: !end, position, id })?;
        }
        Ok(())
    }

    /// Nests the operations of each track, by the device's own clock where all of them carry it.
    pub(crate) fn nest(self) -> Result<Sorted<WorkTime>, IngestError> {
        let intervals = self.intervals.finish()?;
        let mut reader = intervals.reader()?;
        let mut times = Sorter::new(&self.scratch);
        let mut open: Vec<Open> = Vec::new();
        let mut track = None;
        while let Some(interval) = reader.next_key()? {
            let has_own_clock = self.counts.get(&interval.track).is_some_and(|(all, own)| all == own);
            if interval.is_own_clock != has_own_clock {
                continue;
            }
            if track != Some(interval.track) {
                end_all(&mut open, &mut times)?;
                track = Some(interval.track);
            }
            push(&mut open, &interval, &mut times)?;
        }
        end_all(&mut open, &mut times)?;
        times.finish()
    }
}

/// An operation that has not ended, and how much of it its children cover so far.
struct Open {
    id: SpanId,
    start: i64,
    end: i64,
    parent: Option<SpanId>,
    covered_to: i64,
    covered_ns: i64,
}

fn push(open: &mut Vec<Open>, interval: &Interval, times: &mut Sorter<WorkTime>) -> Result<(), IngestError> {
    let (start, end) = (interval.start, !interval.not_end);
    // What has ended, and what it crosses.
    while open.last().is_some_and(|top| top.end <= start || top.end < end) {
        end_last(open, times)?;
    }
    let parent = open.last_mut().map(|parent| {
        let from = start.max(parent.covered_to);
        if end > from {
            parent.covered_ns += end - from;
            parent.covered_to = end;
        }
        parent.id
    });
    open.push(Open { id: interval.id, start, end, parent, covered_to: start, covered_ns: 0 });
    Ok(())
}

fn end_last(open: &mut Vec<Open>, times: &mut Sorter<WorkTime>) -> Result<(), IngestError> {
    open.pop().map_or(Ok(()), |Open { id, start, end, parent, covered_ns, .. }| {
        times.push(WorkTime { id, self_ns: end - start - covered_ns, parent })
    })
}

fn end_all(open: &mut Vec<Open>, times: &mut Sorter<WorkTime>) -> Result<(), IngestError> {
    while !open.is_empty() {
        end_last(open, times)?;
    }
    Ok(())
}
