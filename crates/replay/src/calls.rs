//! Runtime calls by their correlation, and the waits that the profiler recorded for them.

use std::collections::{HashMap, HashSet};

use stepscope_model::Kind;

use crate::names::CallRole;
use crate::recording::{Moment, RecordedWait, Recording, Stream};
use crate::streams::Streams;

/// Finds calls and recorded waits by correlation.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The last call in the file with a correlation: when, and its place in the file.
    by_correlation: HashMap<i64, Moment>,
    waits: HashMap<i64, RecordedWait>,
}

impl Calls {
    pub(crate) fn new(recording: &Recording) -> Self {
        // Without recorded waits nobody asks.
        if recording.waits.is_empty() {
            return Self::default();
        }
        let inside = recording.spans.iter().filter(|span| span.kind == Kind::Runtime);
        let inside = inside.map(|span| (span.correlation, span.moment()));
        let earlier = recording.earlier_calls.iter().map(|call| (call.correlation, (call.start_ns, call.position)));
        let mut by_correlation: HashMap<i64, Moment> = HashMap::new();
        for (correlation, moment) in inside.chain(earlier).filter(|(correlation, _)| *correlation != 0) {
            let known = by_correlation.entry(correlation).or_insert(moment);
            if moment.1 > known.1 {
                *known = moment;
            }
        }
        let mut waits: Vec<&RecordedWait> = recording.waits.iter().filter(|wait| wait.correlation != 0).collect();
        waits.sort_by_key(|wait| wait.position);
        Self { by_correlation, waits: waits.into_iter().map(|wait| (wait.correlation, *wait)).collect() }
    }

    /// The wait that was recorded for a call.
    pub(crate) fn wait_of(&self, correlation: i64) -> Option<&RecordedWait> {
        self.waits.get(&correlation)
    }

    pub(crate) fn moment_of(&self, correlation: i64) -> Option<Moment> {
        self.by_correlation.get(&correlation).copied()
    }

    /// The event that stands before a recorded event: the last one launched on its stream before the call that recorded.
    pub(crate) fn awaited(&self, recording: &Recording, streams: &Streams, wait: &RecordedWait) -> Option<u32> {
        let stream = Stream { device_id: wait.stream.device_id, stream_id: wait.awaited_stream_id };
        let stream = recording.stream_place(stream)?;
        let moment = self.moment_of(wait.record_correlation?)?;
        streams.launched_before(recording, stream, moment)
    }
}

/// Moments of the calls that make a stream wait for another one, in order, without those whose wait was recorded.
pub(crate) fn stream_waits(recording: &Recording, recorded: &HashSet<Moment>) -> Vec<Moment> {
    let inside = recording.spans.iter().filter(|span| {
        let is_wait = span.kind == Kind::Runtime && recording.names.facts(span.name).role == CallRole::StreamWait;
        is_wait && span.start_ns >= recording.window.start_ns
    });
    let earlier = recording.earlier_calls.iter().filter(|call| call.is_stream_wait);
    let inside = inside.map(crate::recording::HostSpan::moment);
    let mut waits: Vec<Moment> = inside.chain(earlier.map(|call| (call.start_ns, call.position))).collect();
    waits.retain(|moment| !recorded.contains(moment));
    waits.sort_unstable();
    waits
}
