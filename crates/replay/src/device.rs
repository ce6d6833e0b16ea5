//! Device events as nodes, with the edges that their launch and their stream give them (A1, A4).

use std::ops::Range;

use stepscope_model::{Kind, StepSource};

use crate::class::{EdgeKind, PathClass};
use crate::draft::{Draft, Edge, NONE, Node, Point, Subject};
use crate::host::Host;
use crate::lags::TypicalLags;
use crate::notes::Notes;
use crate::recording::{DeviceEvent, LaunchCall, Recording};
use crate::streams::Streams;

/// The nodes of device events. The end of an event is the node after its start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    /// For each event the node of its start; `NONE` if it has none.
    starts: Vec<Node>,
    /// Events of the window, in the order of the file.
    pub inside: Vec<u32>,
    /// Events launched before the window. Only those that something refers to become nodes: a long recording has many.
    pub history_events: u64,
    is_history: Vec<bool>,
}

impl Device {
    /// Makes the nodes of the window's events.
    pub(crate) fn build(recording: &Recording, draft: &mut Draft) -> Self {
        let window = &recording.window;
        let events = &recording.events;
        let launch_start = |event: &DeviceEvent| recording.launch_of(event).map(|call| call.start_ns);
        let is_launched_inside = |event: &DeviceEvent| launch_start(event).is_some_and(|start| window.has_start(start));
        // Work without a launch call that runs before anything launched in the window was launched before it.
        let linked = events.iter().filter(|event| is_launched_inside(event)).map(|event| event.start_ns);
        let is_whole = recording.step_source == StepSource::WholeTrace;
        let since = linked.min().filter(|_| !is_whole).unwrap_or(window.start_ns);
        let mut device =
            Self { starts: vec![NONE; events.len()], is_history: vec![false; events.len()], ..Self::default() };
        for (place, event) in events.iter().enumerate() {
            let is_inside = match launch_start(event) {
                Some(start) => window.has_start(start),
                None => (since..window.end_ns).contains(&event.start_ns),
            };
            if is_inside {
                device.inside.push(place as u32);
            } else if event.start_ns < window.end_ns && launch_start(event).is_none_or(|start| start < window.start_ns)
            {
                device.is_history[place] = true;
                device.history_events += 1;
            }
        }
        device.inside.sort_unstable_by_key(|&place| events[place as usize].position);
        for &place in &device.inside {
            let event = &events[place as usize];
            let start = add_event(draft, place, event, false);
            draft.add_edge(start + 1, Edge { source: start, kind: EdgeKind::Dur, typical_ns: event.dur_ns });
            device.starts[place as usize] = start;
        }
        device
    }

    /// The node of an event's start, if it is of the window or of its history.
    pub(crate) fn start_of(&mut self, recording: &Recording, draft: &mut Draft, place: u32) -> Option<Node> {
        let known = self.starts[place as usize];
        if known != NONE {
            return Some(known);
        }
        if !self.is_history[place as usize] {
            return None;
        }
        let start = add_event(draft, place, &recording.events[place as usize], true);
        self.starts[place as usize] = start;
        Some(start)
    }

    /// The node of an event's end, if it is of the window or of its history.
    pub(crate) fn end_of(&mut self, recording: &Recording, draft: &mut Draft, place: u32) -> Option<Node> {
        self.start_of(recording, draft, place).map(|start| start + 1)
    }

    /// The node of the start of an event of the window.
    pub(crate) fn inside_start(&self, place: u32) -> Option<Node> {
        let known = self.starts[place as usize];
        (known != NONE && !self.is_history[place as usize]).then_some(known)
    }

    /// Nodes of the window's history that are not among those that were made, as nothing refers to them.
    pub(crate) fn nodes_left_out(&self, draft: &Draft, nodes: &Range<Node>) -> u64 {
        let points = &draft.points[nodes.start as usize..nodes.end as usize];
        let made = points.iter().filter(|point| point.is_history).count() as u64;
        self.history_events * 2 - made
    }

    /// Makes every event of the window follow its launch and the event before it on its stream.
    pub(crate) fn add_edges(
        &mut self,
        (recording, streams, host): (&Recording, &Streams, &Host),
        lags: &TypicalLags,
        draft: &mut Draft,
        notes: &mut Notes,
    ) {
        for place in self.inside.clone() {
            let Some(target) = self.inside_start(place) else { continue };
            let event = &recording.events[place as usize];
            let call = recording.launch_of(event);
            let before = streams.before[place as usize].and_then(|before| {
                Some((self.start_of(recording, draft, before)?, &recording.events[before as usize]))
            });
            let ended = before.filter(|(_, before)| before.end_ns() <= event.start_ns);
            let staging = staging_lag(recording, event, call, ended.map(|(_, before)| before.end_ns()));
            if let Some((start, _)) = ended {
                let (kind, typical_ns) =
                    staging.map_or((EdgeKind::Stream, lags.gap_ns), |lag| (EdgeKind::Staging, lag));
                draft.add_edge(target, Edge { source: start + 1, kind, typical_ns });
            } else if let Some((start, before)) = before {
                let typical_ns = event.start_ns - before.start_ns;
                draft.add_edge(target, Edge { source: start, kind: EdgeKind::Overlap, typical_ns });
                notes.add("same_stream_overlap", 1);
            }
            let follows_in_graph = before.is_some_and(|(_, before)| before.launch == event.launch);
            let call = call.filter(|_| !follows_in_graph);
            let source = call.and_then(|call| call.span).map(|span| host.starts[span as usize]);
            if let (Some(call), Some(source)) = (call, source.filter(|source| *source != NONE)) {
                if call.start_ns > event.start_ns {
                    notes.add("launch_against_time", 1);
                    continue;
                }
                let (kind, typical_ns) =
                    staging.map_or((EdgeKind::Launch, lags.launch_ns), |lag| (EdgeKind::Staging, lag));
                draft.add_edge(target, Edge { source, kind, typical_ns });
            }
        }
    }

    /// Counts the events of the window that nothing leads to.
    pub(crate) fn note_unconnected(&self, draft: &Draft, notes: &mut Notes) {
        let starts = self.inside.iter().filter_map(|&place| self.inside_start(place));
        notes.add(
            "device_event_without_predecessor",
            starts.filter(|&node| draft.first_edge(node).is_none()).count() as u64,
        );
    }
}

/// How long the host stages a copy from pageable memory, from when it may; `None` for anything else.
fn staging_lag(
    recording: &Recording,
    event: &DeviceEvent,
    call: Option<&LaunchCall>,
    stream_free_ns: Option<i64>,
) -> Option<i64> {
    let is_from_pageable = event.kind == Kind::Memcpy && recording.names.facts(event.name).is_from_pageable;
    let call = call.filter(|call| is_from_pageable && call.start_ns <= event.start_ns)?;
    Some(event.start_ns - stream_free_ns.map_or(call.start_ns, |free| free.max(call.start_ns)))
}

fn add_event(draft: &mut Draft, place: u32, event: &DeviceEvent, is_history: bool) -> Node {
    let point = |is_start| Point {
        subject: Subject::Event(place),
        is_start,
        class: PathClass::Other,
        owner: NONE,
        is_bare: false,
        is_history,
    };
    let start = draft.add_node(event.start_ns, point(true));
    draft.add_node(event.end_ns(), point(false));
    start
}
