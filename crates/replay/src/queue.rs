//! Launch calls that wait for a place in the queue of their stream (A4).

use std::collections::BTreeMap;

use crate::class::EdgeKind;
use crate::device::Device;
use crate::draft::{Draft, Edge, NONE, Subject};
use crate::host::Host;
use crate::lags::median;
use crate::recording::Recording;
use crate::streams::Streams;

/// A queue that never gets this long has no limit that matters.
const LEAST_LIMIT: usize = 1_000;

/// What was learned about launch queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    /// How many launches the queue of a stream held at most, for streams that reached a limit; by device and stream.
    pub limits: BTreeMap<String, u64>,
    /// Calls that waited for a place.
    pub edges: u64,
}

/// Adds the waits for a place in a queue.
pub(crate) fn add_queue_edges(
    recording: &Recording,
    (streams, host): (&Streams, &Host),
    device: &mut Device,
    draft: &mut Draft,
) -> Queues {
    let mut queues = Queues::default();
    let mut typical_ns = None;
    for stream in recording.streams_by_text() {
        let launches = streams.first_of_each_launch(recording, stream);
        if launches.len() < LEAST_LIMIT {
            continue;
        }
        let limit = longest_queue(recording, &launches);
        if limit < LEAST_LIMIT {
            continue;
        }
        queues.limits.insert(recording.streams[stream as usize].key(), limit as u64);
        let typical_ns = *typical_ns.get_or_insert_with(|| {
            let mut durations: Vec<i64> = recording.calls.iter().map(|call| call.dur_ns).collect();
            median(&mut durations).unwrap_or(0)
        });
        for (waiting, leaving) in launches[limit..].iter().zip(&launches) {
            queues.edges += u64::from(wait(recording, host, (*waiting, *leaving), typical_ns, device, draft).is_some());
        }
    }
    queues
}

/// Makes the launch call of one event wait for the start of another.
fn wait(
    recording: &Recording,
    host: &Host,
    (waiting, leaving): (u32, u32),
    typical_ns: i64,
    device: &mut Device,
    draft: &mut Draft,
) -> Option<()> {
    let call = recording.launch_of(&recording.events[waiting as usize])?;
    let span = call.span?;
    let end = host.ends[span as usize];
    if end == NONE || recording.events[leaving as usize].start_ns > call.end_ns() {
        return None;
    }
    let before = draft.first_edge(end).filter(|edge| edge.kind == EdgeKind::Order)?.source;
    if draft.point(before).subject != Subject::Span(span) {
        return None;
    }
    let source = device.start_of(recording, draft, leaving)?;
    let typical_ns = typical_ns.min(draft.time(end) - draft.time(before));
    draft.clear_edges(end);
    draft.add_edge(end, Edge { source: before, kind: EdgeKind::Own, typical_ns });
    draft.add_edge(end, Edge { source, kind: EdgeKind::Queue, typical_ns: 0 });
    Some(())
}

/// How many launches waited at most; what starts when another is launched makes room first.
fn longest_queue(recording: &Recording, launches: &[u32]) -> usize {
    let event = |place: &u32| &recording.events[*place as usize];
    let called = launches.iter().filter_map(|place| recording.launch_of(event(place)).map(|call| call.start_ns));
    let mut started: Vec<i64> = launches.iter().map(|place| event(place).start_ns).collect();
    started.sort_unstable();
    let (mut left, mut longest) = (0, 0);
    for (place, call_ns) in called.enumerate() {
        while started.get(left).is_some_and(|start| *start <= call_ns) {
            left += 1;
        }
        // More may have started than were launched where the clocks disagree.
        longest = longest.max((place + 1).saturating_sub(left));
    }
    longest
}
