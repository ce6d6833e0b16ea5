//! Finds the span that a moment on a track belongs to: the ends of arrows and the memory events.

use stepscope_model::Kind;

use crate::collect::Records;
use crate::order::by_track;
use crate::record::{SpanId, TrackId};

/// Binds each end of an arrow to the innermost span at its time, and each memory event to the innermost operator.
pub(crate) fn bind(records: &mut Records) {
    let mut flows: Vec<u32> = (0..records.flows.len() as u32).collect();
    flows.sort_unstable_by_key(|&index| {
        let flow = &records.flows[index as usize];
        (flow.track, flow.ts, flow.position)
    });
    let times = flows.iter().map(|&index| (records.flows[index as usize].track, records.flows[index as usize].ts));
    let found = innermost(records, times.collect(), |_| true);
    for (index, span) in flows.into_iter().zip(found) {
        records.flows[index as usize].span = span;
    }

    let mut memory: Vec<u32> = (0..records.memory.len() as u32).collect();
    memory.sort_unstable_by_key(|&index| {
        let event = &records.memory[index as usize];
        (event.track, event.ts, event.position)
    });
    let times = memory.iter().map(|&index| (records.memory[index as usize].track, records.memory[index as usize].ts));
    let found = innermost(records, times.collect(), |kind| kind == Kind::Op);
    for (index, span) in memory.into_iter().zip(found) {
        records.memory[index as usize].operator = span;
    }
}

/// For moments sorted by (track, time): the innermost span of an accepted kind with start <= time < end.
fn innermost(records: &Records, moments: Vec<(TrackId, i64)>, accepts: impl Fn(Kind) -> bool) -> Vec<Option<SpanId>> {
    let mut found = Vec::with_capacity(moments.len());
    let mut moments = moments.into_iter().peekable();
    for (first, spans) in by_track(&records.spans) {
        let track = spans[0].track;
        // Moments on tracks without a span.
        while moments.next_if(|&(of, _)| of < track).is_some() {
            found.push(None);
        }
        let mut open: Vec<SpanId> = Vec::new();
        let mut next = 0;
        while let Some((_, time)) = moments.next_if(|&(of, _)| of == track) {
            while next < spans.len() && spans[next].start <= time {
                if accepts(spans[next].kind) {
                    // Spans that ended before this one starts cannot hold a later moment.
                    while open.last().is_some_and(|&id| records.spans[id as usize].end <= spans[next].start) {
                        open.pop();
                    }
                    open.push((first + next) as SpanId);
                }
                next += 1;
            }
            while open.last().is_some_and(|&id| records.spans[id as usize].end <= time) {
                open.pop();
            }
            found.push(open.last().copied());
        }
    }
    found.extend(moments.map(|_| None));
    found
}
