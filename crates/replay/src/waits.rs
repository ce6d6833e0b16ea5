//! Calls that wait for the device, and what they wait for (A3, A4).

use std::collections::HashMap;

use stepscope_model::Kind;

use crate::calls::Calls;
use crate::class::EdgeKind;
use crate::device::Device;
use crate::draft::{Draft, Edge, NONE};
use crate::host::Host;
use crate::lags::{TypicalLags, median};
use crate::names::CallRole;
use crate::notes::Notes;
use crate::recording::{HostSpan, Moment, Recording};
use crate::streams::Streams;

/// What says for which events a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    Recorded,
    Inferred,
    Unknown,
}

/// A call that waits.
struct Wait {
    span: u32,
    events: Vec<u32>,
    evidence: Evidence,
}

/// Adds the waits of calls, and learns how long they usually take.
pub(crate) fn add_waits(
    recording: &Recording,
    (streams, calls, host): (&Streams, &Calls, &Host),
    (device, draft): (&mut Device, &mut Draft),
    lags: &mut TypicalLags,
    notes: &mut Notes,
) {
    let waits = find_waits(recording, streams, calls, host);
    learn_lags(recording, &waits, lags);
    // Of nested waiting calls only the innermost waits.
    let mut is_outer = vec![false; recording.spans.len()];
    for wait in &waits {
        let mut parent = host.parents[wait.span as usize];
        while parent != NONE && !is_outer[parent as usize] {
            is_outer[parent as usize] = true;
            parent = host.parents[parent as usize];
        }
    }
    for wait in waits.iter().filter(|wait| !is_outer[wait.span as usize]) {
        let end = host.ends[wait.span as usize];
        let Some(before) = draft.first_edge(end).map(|edge| edge.source) else { continue };
        let end_ns = draft.time(end);
        let awaited = wait.events.iter().filter(|&&event| recording.events[event as usize].end_ns() <= end_ns);
        let sources: Vec<_> = awaited.filter_map(|&event| device.end_of(recording, draft, event)).collect();
        notes.add("wait_against_time", (wait.events.len() - sources.len()) as u64);
        if sources.is_empty() {
            notes.add("wait_without_event", 1);
            continue;
        }
        let typical_ns = lags.own_ns.min(end_ns - draft.time(before));
        draft.clear_edges(end);
        draft.add_edge(end, Edge { source: before, kind: EdgeKind::Own, typical_ns });
        for source in sources {
            draft.add_edge(end, Edge { source, kind: EdgeKind::Sync, typical_ns: lags.return_ns });
        }
        let note = match wait.evidence {
            Evidence::Recorded => "waits_recorded",
            Evidence::Inferred => "waits_inferred",
            Evidence::Unknown => "waits_unknown",
        };
        notes.add(note, 1);
    }
}

/// How long calls take to return, and how long those that need not wait.
fn learn_lags(recording: &Recording, waits: &[Wait], lags: &mut TypicalLags) {
    let (mut returns, mut own) = (Vec::new(), Vec::new());
    for wait in waits {
        let call = &recording.spans[wait.span as usize];
        let ends = wait.events.iter().map(|&event| recording.events[event as usize].end_ns());
        match ends.filter(|end| *end <= call.end_ns()).max() {
            Some(end) if end > call.start_ns => returns.push(call.end_ns() - end),
            _ => own.push(call.dur_ns),
        }
    }
    lags.return_ns = median(&mut returns).unwrap_or(0);
    lags.own_ns = median(&mut own).unwrap_or(0);
}

fn find_waits(recording: &Recording, streams: &Streams, calls: &Calls, host: &Host) -> Vec<Wait> {
    let finder = Finder::new(recording, streams, calls);
    let places = 0..recording.spans.len() as u32;
    let is_inside = |place: &u32| host.starts[*place as usize] != NONE && host.ends[*place as usize] != NONE;
    let is_call = |place: &u32| recording.spans[*place as usize].kind == Kind::Runtime;
    places.filter(|place| is_call(place) && is_inside(place)).filter_map(|place| finder.wait(place)).collect()
}

/// Finds what a call waits for.
struct Finder<'a> {
    recording: &'a Recording,
    streams: &'a Streams,
    calls: &'a Calls,
    /// The copy that a call made; of several the last in the file.
    copies: HashMap<u32, u32>,
    /// For each thread when it launched what on which stream, in order.
    launches: Vec<Vec<(Moment, i64, u32)>>,
    /// Events that end in the window, by end; of those that end together the first in the file comes last.
    by_end: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(recording: &'a Recording, streams: &'a Streams, calls: &'a Calls) -> Self {
        let mut finder = Self {
            recording,
            streams,
            calls,
            copies: HashMap::new(),
            launches: vec![Vec::new(); recording.threads.len()],
            by_end: Vec::new(),
        };
        let window = &recording.window;
        // Only the last launch before the window can matter in it.
        let mut last_before = vec![None; recording.threads.len()];
        for (place, event) in recording.events.iter().enumerate() {
            if window.has_point(event.end_ns()) {
                finder.by_end.push(place as u32);
            }
            let Some(call) = recording.launch_of(event) else { continue };
            let launch = (call.moment(), event.position, event.stream);
            if call.start_ns < window.start_ns {
                let last = &mut last_before[call.thread as usize];
                *last = (*last).max(Some(launch));
            } else {
                finder.launches[call.thread as usize].push(launch);
            }
            if let (Kind::Memcpy, Some(span)) = (event.kind, call.span) {
                let copy = finder.copies.entry(span).or_insert(place as u32);
                if event.position > recording.events[*copy as usize].position {
                    *copy = place as u32;
                }
            }
        }
        for (launches, last) in finder.launches.iter_mut().zip(last_before) {
            launches.extend(last);
            launches.sort_unstable();
        }
        let events = &recording.events;
        finder.by_end.sort_unstable_by_key(|&place| {
            let event = &events[place as usize];
            (event.end_ns(), std::cmp::Reverse(event.position))
        });
        finder
    }

    /// What a call waits for; `None` if it does not wait.
    fn wait(&self, span: u32) -> Option<Wait> {
        let call = &self.recording.spans[span as usize];
        let (events, evidence) = match self.recording.names.facts(call.name).role {
            CallRole::DeviceSync => {
                let streams = 0..self.recording.streams.len() as u32;
                (streams.filter_map(|stream| self.launched_before(stream, call)).collect(), Evidence::Recorded)
            }
            CallRole::StreamSync => self.of_stream(call),
            CallRole::EventSync => self.of_event(call),
            CallRole::StreamWait | CallRole::Plain => (vec![self.own_copy(span, call)?], Evidence::Recorded),
        };
        Some(Wait { span, events, evidence })
    }

    fn of_stream(&self, call: &HostSpan) -> (Vec<u32>, Evidence) {
        let recorded = self.calls.wait_of(call.correlation).filter(|wait| wait.stream.stream_id.is_some());
        if let Some(wait) = recorded {
            let stream = self.recording.stream_place(wait.stream);
            let event = stream.and_then(|stream| self.launched_before(stream, call));
            return (event.into_iter().collect(), Evidence::Recorded);
        }
        let launches = &self.launches[call.thread as usize];
        let count = launches.partition_point(|(moment, ..)| *moment < call.moment());
        let Some(&(_, _, stream)) = count.checked_sub(1).map(|last| &launches[last]) else {
            return (Vec::new(), Evidence::Unknown);
        };
        (self.launched_before(stream, call).into_iter().collect(), Evidence::Inferred)
    }

    fn of_event(&self, call: &HostSpan) -> (Vec<u32>, Evidence) {
        let recorded = self.calls.wait_of(call.correlation).filter(|wait| wait.awaited_stream_id.is_some());
        if let Some(wait) = recorded {
            let event = self.calls.awaited(self.recording, self.streams, wait);
            return (event.into_iter().collect(), Evidence::Recorded);
        }
        let end = |place: u32| self.recording.events[place as usize].end_ns();
        let count = self.by_end.partition_point(|&place| end(place) <= call.end_ns());
        let last = count.checked_sub(1).map(|last| self.by_end[last]);
        (last.filter(|&place| end(place) >= call.start_ns).into_iter().collect(), Evidence::Inferred)
    }

    /// The copy of a call that returns only after it.
    fn own_copy(&self, span: u32, call: &HostSpan) -> Option<u32> {
        let copy = *self.copies.get(&span)?;
        let event = &self.recording.events[copy as usize];
        let names = &self.recording.names;
        let is_blocking = !names.facts(call.name).is_async || names.facts(event.name).is_pageable;
        let ends_inside = (call.start_ns..=call.end_ns()).contains(&event.end_ns());
        (is_blocking && ends_inside).then_some(copy)
    }

    fn launched_before(&self, stream: u32, call: &HostSpan) -> Option<u32> {
        self.streams.launched_before(self.recording, stream, call.moment())
    }
}
