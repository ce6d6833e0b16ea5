//! Pairs the beginnings and ends of spans: last in, first out, on each track.

use hashbrown::HashMap;

use stepscope_model::warning::{BAD_TIME, OPEN_END, PAIRED_END, UNMATCHED_END};

use crate::args::join_json;
use crate::collect::Records;
use crate::counts::Place;
use crate::record::{Args, Flag, Span, TrackId, is_in_range};

/// The end of a span whose beginning came in another event.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub track: TrackId,
    pub ts: i64,
    pub position: u64,
    pub offset_bytes: u64,
    pub args: Args,
}

/// Beginnings and ends that have not met yet. They are paired in the order of time, because files need not be.
#[derive(Debug, Default)]
pub(crate) struct OpenSpans {
    begins: Vec<Span>,
    ends: Vec<End>,
}

enum Mark {
    Begin(Span),
    End(End),
}

impl OpenSpans {
    pub(crate) fn begin(&mut self, span: Span) {
        self.begins.push(span);
    }

    pub(crate) fn end(&mut self, end: End) {
        self.ends.push(end);
    }

    /// Adds every pair to the records as one span. An end alone is dropped; a beginning alone lasts to the last event
    /// of its track.
    pub(crate) fn pair(self, records: &mut Records) {
        let begins = self.begins.into_iter().map(Mark::Begin);
        let mut marks: Vec<Mark> = begins.chain(self.ends.into_iter().map(Mark::End)).collect();
        marks.sort_by_key(|mark| match mark {
            Mark::Begin(span) => (span.track, span.start, span.position),
            Mark::End(end) => (end.track, end.ts, end.position),
        });
        let mut last_time = last_times(&records.spans, &marks);
        let mut stack: Vec<Span> = Vec::new();
        for mark in marks {
            match mark {
                Mark::Begin(span) => {
                    if stack.first().is_some_and(|first| first.track != span.track) {
                        close_open(&mut stack, &mut last_time, records);
                    }
                    stack.push(span);
                }
                Mark::End(end) => {
                    if stack.first().is_some_and(|first| first.track != end.track) {
                        close_open(&mut stack, &mut last_time, records);
                    }
                    close(stack.pop(), &end, records);
                }
            }
        }
        close_open(&mut stack, &mut last_time, records);
    }
}

fn close(begin: Option<Span>, end: &End, records: &mut Records) {
    let place = Place { position: Some(end.position), offset_bytes: Some(end.offset_bytes) };
    let Some(mut span) = begin else {
        return records.counts.drop_event(UNMATCHED_END, "", place, None);
    };
    records.counts.drop_event(PAIRED_END, "", place, None);
    span.end = end.ts;
    span.args = join_args(span.args, end.args, records);
    records.spans.push(span);
}

fn close_open(stack: &mut Vec<Span>, last_time: &mut HashMap<TrackId, i64>, records: &mut Records) {
    for mut span in stack.drain(..) {
        span.end = last_time.get(&span.track).copied().unwrap_or(span.start).max(span.start);
        span.flag = Some(Flag::OpenEnd);
        let place = Place { position: Some(span.position), offset_bytes: None };
        records.counts.warn(OPEN_END, place, span.name.map(|name| records.strings.text(name).to_owned()));
        records.spans.push(span);
    }
}

fn last_times(spans: &[Span], marks: &[Mark]) -> HashMap<TrackId, i64> {
    let mut last: HashMap<TrackId, i64> = HashMap::new();
    if marks.is_empty() {
        return last;
    }
    let mut see = |track: TrackId, time: i64| {
        let entry = last.entry(track).or_insert(time);
        *entry = (*entry).max(time);
    };
    for span in spans {
        see(span.track, span.end);
    }
    for mark in marks {
        match mark {
            Mark::Begin(span) => see(span.track, span.start),
            Mark::End(end) => see(end.track, end.ts),
        }
    }
    last
}

/// Both events of a pair may carry arguments; where both have one, the beginning's counts.
fn join_args(begin: Args, end: Args, records: &mut Records) -> Args {
    if end.cells == 0 && end.rest.is_none() {
        return begin;
    }
    let mut cells = records.cells_of(begin).to_vec();
    for cell in records.cells_of(end) {
        if !cells.iter().any(|known| known.column == cell.column) {
            cells.push(*cell);
        }
    }
    let rest = match (begin.rest, end.rest) {
        (Some(first), Some(second)) if first != second => {
            let joined = join_json(records.strings.text(first), records.strings.text(second));
            Some(records.strings.intern(&joined))
        }
        (first, second) => first.or(second),
    };
    let first_cell = records.cells.len() as u64;
    records.cells.extend_from_slice(&cells);
    Args { first_cell, cells: cells.len() as u8, rest }
}

/// Moves every time by the base time of the header; an event that leaves the range of 64 bits is dropped.
pub(crate) fn shift_times(records: &mut Records) {
    let base = records.header.base_time_ns;
    if base == 0 {
        return;
    }
    let counts = &mut records.counts;
    let mut dropped = |position: u64| {
        let place = Place { position: Some(position), offset_bytes: None };
        counts.drop_event(BAD_TIME, "", place, Some("with the base time it is out of range".to_owned()));
    };
    let shift = |time: &mut i64| {
        let shifted = time.checked_add(base).filter(|&shifted| is_in_range(shifted));
        shifted.map(|shifted| *time = shifted).is_some()
    };
    records.spans.retain_mut(|span| {
        let fits = shift(&mut span.start) && shift(&mut span.end);
        if !fits {
            dropped(span.position);
        }
        fits
    });
    records.flows.retain_mut(|flow| {
        shift(&mut flow.ts) || {
            dropped(flow.position);
            false
        }
    });
    records.counters.retain_mut(|counter| {
        shift(&mut counter.ts) || {
            dropped(counter.position);
            false
        }
    });
    records.memory.retain_mut(|event| {
        shift(&mut event.ts) || {
            dropped(event.position);
            false
        }
    });
}
