//! Streams that wait for other streams: recorded, or inferred from calls and times (A4).

use std::collections::{BTreeMap, HashSet};

use crate::calls::{Calls, stream_waits};
use crate::class::EdgeKind;
use crate::device::Device;
use crate::draft::{Draft, Edge};
use crate::notes::Notes;
use crate::recording::{Moment, Recording};
use crate::streams::{Streams, launch_moment};

/// A moment before every call.
const BEFORE_ALL: Moment = (i64::MIN, i64::MIN);

/// Whether a wait between two events was recorded, by their places.
type Found = BTreeMap<(u32, u32), bool>;

/// Adds the waits of the window's events for other streams.
pub(crate) fn add_cross_edges(
    recording: &Recording,
    streams: &Streams,
    calls: &Calls,
    (device, draft): (&mut Device, &mut Draft),
    (gap_ns, notes): (i64, &mut Notes),
) {
    let mut found = Found::new();
    let recorded = find_recorded(recording, streams, calls, &mut found);
    find_inferred(recording, streams, device, &recorded, &mut found, notes);
    for ((source, target), is_recorded) in found {
        let Some(target_node) = device.inside_start(target) else { continue };
        let Some(source_node) = device.end_of(recording, draft, source) else { continue };
        let [source, target] = [source, target].map(|place| &recording.events[place as usize]);
        if source.end_ns() > target.start_ns {
            notes.add("cross_stream_contradicted", 1);
            continue;
        }
        draft.add_edge(target_node, Edge { source: source_node, kind: EdgeKind::Cross, typical_ns: gap_ns });
        notes.add(if is_recorded { "cross_stream_recorded" } else { "cross_stream_inferred" }, 1);
    }
}

/// Takes the waits that the profiler recorded; gives the calls that they explain.
fn find_recorded(recording: &Recording, streams: &Streams, calls: &Calls, found: &mut Found) -> HashSet<Moment> {
    let mut explained = HashSet::new();
    for wait in recording.waits.iter().filter(|wait| wait.is_stream_wait) {
        if wait.awaited_stream_id.is_none() || wait.record_correlation.is_none() {
            continue;
        }
        let Some(call) = calls.moment_of(wait.correlation) else { continue };
        explained.insert(call);
        let target =
            recording.stream_place(wait.stream).and_then(|stream| streams.launched_after(recording, stream, call));
        if let (Some(source), Some(target)) = (calls.awaited(recording, streams, wait), target) {
            found.insert((source, target), true);
        }
    }
    explained
}

/// Looks for what an event may have waited for: wait calls between the launch before it and its own.
fn find_inferred(
    recording: &Recording,
    streams: &Streams,
    device: &Device,
    recorded: &HashSet<Moment>,
    found: &mut Found,
    notes: &mut Notes,
) {
    let waits = stream_waits(recording, recorded);
    if recording.streams.len() < 2 || waits.is_empty() {
        return;
    }
    for stream in 0..recording.streams.len() as u32 {
        let device_id = recording.streams[stream as usize].device_id;
        let is_other = |other: &u32| *other != stream && recording.streams[*other as usize].device_id == device_id;
        let others: Vec<u32> = (0..recording.streams.len() as u32).filter(is_other).collect();
        let mut from = BEFORE_ALL;
        for target in streams.first_of_each_launch(recording, stream) {
            let moment = launch_moment(recording, target);
            let first = waits.partition_point(|wait| *wait <= from);
            from = moment;
            if device.inside_start(target).is_none() {
                continue;
            }
            let between = &waits[first..waits.partition_point(|wait| *wait < moment).max(first)];
            for &other in &others {
                match latest_that_ended(recording, streams, other, between, target) {
                    Candidate::Found(source) => drop(found.entry((source, target)).or_insert(false)),
                    Candidate::Contradicted => notes.add("cross_stream_contradicted", 1),
                    Candidate::None => {}
                }
            }
        }
    }
}

/// What an event may have waited for on another stream.
enum Candidate {
    Found(u32),
    Contradicted,
    None,
}

/// Goes back from the last wait call to the first whose event had ended when the target started.
fn latest_that_ended(recording: &Recording, streams: &Streams, other: u32, waits: &[Moment], target: u32) -> Candidate {
    let start_ns = recording.events[target as usize].start_ns;
    let mut candidates =
        waits.iter().rev().map_while(|wait| streams.launched_before(recording, other, *wait)).peekable();
    if candidates.peek().is_none() {
        return Candidate::None;
    }
    let ended = candidates.find(|&place| recording.events[place as usize].end_ns() <= start_ns);
    ended.map_or(Candidate::Contradicted, Candidate::Found)
}
