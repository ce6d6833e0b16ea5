//! What may be changed in a replay: each change is a rule for the lags of edges (A7).

use std::collections::HashMap;

use stepscope_model::Kind;

use crate::class::{EdgeKind, PathClass};
use crate::draft::{NONE, Node, Subject};
use crate::fuse::{self, Fused};
use crate::graph::{DROPPED, Graph};
use crate::host::is_open_before;
use crate::rank::Rank;
use crate::recording::DeviceEvent;
use crate::selection::Selection;

/// A loader that takes less, or a smaller share of a step, gives a batch that was there.
const LOADER_WAIT_NS: i64 = 1_000_000;
const LOADER_WAIT_SHARE: i64 = 20;

/// A change. Several are made in the order of this list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Device events, and the time inside host spans, take `numerator / denominator` of their time.
    Scale {
        /// Of what.
        of: Selection,
        /// Above the line.
        numerator: u32,
        /// Below the line; not 0.
        denominator: u32,
    },
    /// Device events, and host spans with all that is in them, take this much at most.
    Shorten {
        /// Device events by their places, with their new lengths.
        events: Vec<(u32, i64)>,
        /// Host spans by their places, with their new lengths. None of them is in another one.
        spans: Vec<(u32, i64)>,
    },
    /// The host takes this much at most before some points.
    ShortenGaps(Vec<Gap>),
    /// Device events are not there, nor the calls that launch nothing else; nor is the time inside host spans.
    Remove(Selection),
    /// Communication takes no time.
    NoCommunication,
    /// Nothing on another stream waits for communication.
    CommunicationOverlapped,
    /// Copies take no time.
    NoCopies,
    /// No call waits for a copy to the device.
    AsyncCopiesToDevice,
    /// No call waits for the device.
    NoSync,
    /// These calls do not wait for the device.
    NoSyncOf(Selection),
    /// Input is always there.
    InputReady,
    /// Batches of loader workers arrive no earlier than they did, as far as that is known, however early they are asked
    /// for.
    LoaderOnTime,
    /// The host takes half of its time.
    HostHalf,
    /// One launch for everything: the host costs nothing.
    CudaGraph,
    /// Events that follow each other on a stream become one, by their places; one list for each that they become.
    Fuse(Vec<Vec<u32>>),
    /// Several ranks only: all are like the median one, so that nobody waits for another in a collective (A9).
    EqualRanks,
}

/// Time of the host before a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The span that begins or ends there, by its place.
    pub span: u32,
    /// Whether it begins.
    pub is_start: bool,
    /// How long it may take.
    pub length_ns: i64,
}

/// How the saving of a change relates to that of the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// About as much.
    Estimate,
    /// No more.
    AtMost,
    /// No less.
    AtLeast,
    /// Nobody can make the change; it shows what matters.
    Orientation,
}

impl Bound {
    /// The word in JSON and tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
            Self::Orientation => "orientation",
        }
    }

    /// What the saving of two changes together is worth.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Orientation, _) | (_, Self::Orientation) => Self::Orientation,
            (Self::Estimate, bound) | (bound, Self::Estimate) => bound,
            // One says no more, the other no less.
            _ => Self::Estimate,
        }
    }
}

impl Change {
    /// The name in documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scale { .. } => "scale",
            Self::Shorten { .. } | Self::ShortenGaps(_) => "shorten",
            Self::Remove(_) => "remove",
            Self::NoCommunication => "no_communication",
            Self::CommunicationOverlapped => "communication_overlapped",
            Self::NoCopies => "no_copies",
            Self::AsyncCopiesToDevice => "async_copies_to_device",
            Self::NoSync | Self::NoSyncOf(_) => "no_sync",
            Self::InputReady => "input_ready",
            Self::LoaderOnTime => "loader_on_time",
            Self::HostHalf => "host_half",
            Self::CudaGraph => "cuda_graph",
            Self::Fuse(_) => "fuse",
            Self::EqualRanks => "equal_ranks",
        }
    }

    /// What its saving is worth.
    #[must_use]
    pub fn bound(&self) -> Bound {
        match self {
            Self::Scale { .. }
            | Self::Shorten { .. }
            | Self::ShortenGaps(_)
            | Self::LoaderOnTime
            | Self::Remove(_)
            | Self::AsyncCopiesToDevice
            | Self::EqualRanks => Bound::Estimate,
            Self::HostHalf => Bound::Orientation,
            Self::Fuse(_) => Bound::AtLeast,
            _ => Bound::AtMost,
        }
    }

    /// Whether it is about the device, so that it has no answer without device events.
    #[must_use]
    pub fn is_about_device(&self) -> bool {
        match self {
            Self::Scale { of, .. } | Self::Remove(of) => !of.has_spans(),
            Self::Shorten { spans, .. } => spans.is_empty(),
            Self::ShortenGaps(_) | Self::InputReady | Self::LoaderOnTime | Self::HostHalf => false,
            _ => true,
        }
    }

    /// Its place in the order in which changes are made.
    fn order(&self) -> u8 {
        match self {
            Self::Scale { .. } | Self::Shorten { .. } | Self::ShortenGaps(_) => 0,
            Self::Remove(_) => 1,
            Self::NoCommunication => 2,
            Self::CommunicationOverlapped => 3,
            Self::NoCopies => 4,
            Self::AsyncCopiesToDevice => 5,
            Self::NoSync | Self::NoSyncOf(_) => 6,
            Self::InputReady | Self::LoaderOnTime => 7,
            Self::HostHalf => 8,
            Self::CudaGraph => 9,
            Self::Fuse(_) => 10,
            Self::EqualRanks => 11,
        }
    }
}

/// A batch of loader workers.
struct Batch {
    /// Where the script has it.
    node: Node,
    /// When that was.
    used_ns: i64,
    /// Whether it was not there when the script asked for it.
    is_waited_for: bool,
}

/// Batches that are this far apart, or more, tell how fast workers are.
const LEAST_BATCHES: usize = 4;

/// When batches arrive at the earliest. One that was waited for came when it was used. What comes after it comes at the
/// mean rate of those, though a slow step may have hidden that, and no later than it was used.
fn arrivals(batches: &[Batch]) -> Vec<(Node, i64)> {
    let is_waited_for = |batch: &Batch| batch.is_waited_for;
    let ends = batches.iter().position(is_waited_for).zip(batches.iter().rposition(is_waited_for));
    let mean_ns = ends.filter(|(first, last)| last - first >= LEAST_BATCHES).map(|(first, last)| {
        let taken_ns = batches[last].used_ns - batches[first].used_ns;
        taken_ns / (last - first) as i64
    });
    let mut arrived = Vec::new();
    let mut before = None;
    for (place, batch) in batches.iter().enumerate() {
        if batch.is_waited_for {
            before = Some(place);
            arrived.push((batch.node, batch.used_ns));
        } else if let (Some(before), Some(mean_ns)) = (before, mean_ns) {
            let at_rate_ns = batches[before].used_ns + (place - before) as i64 * mean_ns;
            arrived.push((batch.node, at_rate_ns.min(batch.used_ns)));
        }
    }
    arrived
}

/// Applies changes to the lags of one rank in a graph.
pub(crate) struct Changer<'a> {
    pub rank: &'a Rank,
    pub graph: &'a Graph,
    /// Places of the edges by which the rank arrives at collectives.
    pub arrivals: &'a [u32],
}

impl Changer<'_> {
    /// Makes the changes, in their order.
    pub(crate) fn apply(&self, changes: &[Change], lags: &mut [i64]) {
        let mut changes: Vec<&Change> = changes.iter().collect();
        changes.sort_by_key(|change| change.order());
        for change in changes {
            self.apply_one(change, lags);
        }
    }

    /// Points that come no earlier than they did, whatever comes before them.
    pub(crate) fn not_before(&self, changes: &[Change]) -> Vec<(Node, i64)> {
        if !changes.contains(&Change::LoaderOnTime) || changes.contains(&Change::InputReady) {
            return Vec::new();
        }
        let Rank { recording, nodes, .. } = self.rank;
        let by_workers = recording.names.that(|name| name.contains("_MultiProcessingDataLoaderIter"));
        let steps = recording.window_steps();
        let mean_ns = steps.iter().map(|step| step.dur_ns).sum::<i64>() / steps.len().max(1) as i64;
        let least_ns = LOADER_WAIT_NS.max(mean_ns / LOADER_WAIT_SHARE);
        let batch = |node: Node| {
            let point = self.graph.point(node);
            let Subject::Span(place) = point.subject else { return None };
            let span = &recording.spans[place as usize];
            let is_batch = !point.is_start && by_workers.has(span.name);
            is_batch.then(|| Batch { node, used_ns: self.graph.time(node), is_waited_for: span.dur_ns >= least_ns })
        };
        let mut batches: Vec<Batch> = nodes.clone().filter_map(batch).collect();
        batches.sort_unstable_by_key(|batch| (batch.used_ns, batch.node));
        arrivals(&batches)
    }

    fn apply_one(&self, change: &Change, lags: &mut [i64]) {
        match change {
            Change::Scale { of, numerator, denominator } => {
                let (numerator, denominator) = (i64::from(*numerator), i64::from((*denominator).max(1)));
                self.scale(of, |lag| lag * numerator / denominator, lags);
            }
            Change::Shorten { events, spans } => self.shorten(events, spans, lags),
            Change::ShortenGaps(gaps) => self.shorten_gaps(gaps, lags),
            Change::Remove(what) => self.remove(&self.with_calls(what.clone()), lags),
            Change::NoCommunication => self.while_running(lags, |event, lag| zero_if(event.is_communication, lag)),
            Change::CommunicationOverlapped => self.of_kind(EdgeKind::Cross, lags, |target, source, lag| {
                if self.communicates(source) && !self.communicates(target) { DROPPED } else { lag }
            }),
            Change::NoCopies => self.while_running(lags, |event, lag| zero_if(event.kind == Kind::Memcpy, lag)),
            Change::AsyncCopiesToDevice => self.of_kind(EdgeKind::Sync, lags, |_, source, lag| {
                let is_to_device = |event: &DeviceEvent| {
                    event.kind == Kind::Memcpy && self.rank.recording.names.facts(event.name).is_to_device
                };
                if self.event(source).is_some_and(is_to_device) { DROPPED } else { lag }
            }),
            Change::NoSync => self.of_kind(EdgeKind::Sync, lags, |_, _, _| DROPPED),
            Change::NoSyncOf(calls) => self
                .of_kind(EdgeKind::Sync, lags, |target, _, lag| if self.is_of(calls, target) { DROPPED } else { lag }),
            Change::InputReady => self.of_kind(EdgeKind::Order, lags, |target, _, lag| {
                zero_if(self.graph.point(target).class == PathClass::Dataloader, lag)
            }),
            Change::HostHalf => {
                let rule = |target, _, lag| if self.is_plain_host(target) { lag / 2 } else { lag };
                self.of_kind(EdgeKind::Order, lags, rule);
            }
            Change::CudaGraph => {
                for kind in [EdgeKind::Order, EdgeKind::Own, EdgeKind::Handoff] {
                    self.of_kind(kind, lags, |target, _, lag| zero_if(self.is_plain_host(target), lag));
                }
                self.of_kind(EdgeKind::Launch, lags, |_, _, _| 0);
            }
            Change::Fuse(groups) => {
                let fused = fuse::plan(&self.rank.recording, &self.rank.host, &self.rank.before, groups);
                self.fuse(&fused, lags);
            }
            // About times, not about lags; about the job, not about one rank.
            Change::LoaderOnTime | Change::EqualRanks => {}
        }
    }

    fn scale(&self, of: &Selection, rule: impl Fn(i64) -> i64, lags: &mut [i64]) {
        self.while_running_at(lags, |place, lag| if of.has_event(place) { rule(lag) } else { lag });
        if of.has_spans() {
            let inside = self.inside(of);
            self.of_kind(
                EdgeKind::Order,
                lags,
                |target, _, lag| if inside[self.place(target)] { rule(lag) } else { lag },
            );
        }
    }

    fn shorten(&self, events: &[(u32, i64)], spans: &[(u32, i64)], lags: &mut [i64]) {
        let event_lengths: HashMap<u32, i64> = events.iter().copied().collect();
        self.while_running_at(lags, |place, lag| event_lengths.get(&place).map_or(lag, |&length| lag.min(length)));
        if spans.is_empty() {
            return;
        }
        let span_lengths: HashMap<u32, i64> = spans.iter().copied().collect();
        let around = self.innermost(|place| span_lengths.contains_key(&place));
        for kind in [EdgeKind::Order, EdgeKind::Own] {
            self.of_kind(kind, lags, |target, _, lag| {
                let place = around[self.place(target)];
                let Some(&length) = span_lengths.get(&place) else { return lag };
                let dur_ns = self.rank.recording.spans[place as usize].dur_ns.max(1);
                (i128::from(lag) * i128::from(length.min(dur_ns)) / i128::from(dur_ns)) as i64
            });
        }
    }

    fn shorten_gaps(&self, gaps: &[Gap], lags: &mut [i64]) {
        let lengths: HashMap<(u32, bool), i64> =
            gaps.iter().map(|gap| ((gap.span, gap.is_start), gap.length_ns)).collect();
        for kind in [EdgeKind::Order, EdgeKind::Handoff] {
            self.of_kind(kind, lags, |target, _, lag| {
                let point = self.graph.point(target);
                let Subject::Span(place) = point.subject else { return lag };
                lengths.get(&(place, point.is_start)).map_or(lag, |&length| lag.min(length))
            });
        }
    }

    /// For each node of the rank the innermost span that is open on the host before it, of those that fit; `NONE`
    /// elsewhere.
    fn innermost(&self, fits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut innermost = vec![NONE; self.rank.nodes.len()];
        for chain in &self.rank.host.chains {
            let mut open = Vec::new();
            for node in chain.clone() {
                innermost[self.place(node)] = open.last().copied().unwrap_or(NONE);
                let point = self.graph.point(node);
                match point.subject {
                    Subject::Span(place) if !fits(place) => {}
                    Subject::Span(place) if point.is_start => open.push(place),
                    Subject::Span(place) => open.retain(|known| *known != place),
                    Subject::Event(_) | Subject::Join(_) => {}
                }
            }
        }
        innermost
    }

    fn remove(&self, what: &Selection, lags: &mut [i64]) {
        let is_removed =
            |node: Node| matches!(self.graph.point(node).subject, Subject::Event(place) if what.has_event(place));
        self.each(lags, |target, place, lag| match self.graph.edges[place].kind {
            _ if !is_removed(target) => lag,
            // A rank that does not take part waits for nobody, and nobody waits for it.
            EdgeKind::Join => DROPPED,
            // A typical lag may be below 0 where the clocks of host and device disagree.
            _ => lag.min(0),
        });
        for &place in self.arrivals {
            if is_removed(self.graph.edges[place as usize].source) {
                lags[place as usize] = DROPPED;
            }
        }
        self.clear_inside(what, lags);
    }

    fn fuse(&self, fused: &Fused, lags: &mut [i64]) {
        let inside = self.inside(&fused.host);
        let is_awaited = |target| {
            let mut edges = self.graph.edges_into(target).map(|place| self.graph.edges[place].kind);
            edges.any(|kind| kind == EdgeKind::Sync)
        };
        self.each(lags, |target, place, lag| match (self.graph.edges[place].kind, self.graph.point(target).subject) {
            (EdgeKind::Launch, Subject::Event(event)) if fused.joined.has_event(event) => DROPPED,
            (EdgeKind::Stream, Subject::Event(event)) if fused.joined.has_event(event) => 0,
            _ if !inside[self.place(target)] => lag,
            (EdgeKind::Order, _) => 0,
            // Calls that launch are gone. Those that wait stay: something needs the result.
            (EdgeKind::Own, _) if !is_awaited(target) => 0,
            (EdgeKind::Queue, _) => DROPPED,
            _ => lag,
        });
    }

    /// Takes the time inside host spans away, and what their calls wait for.
    fn clear_inside(&self, spans: &Selection, lags: &mut [i64]) {
        if !spans.has_spans() {
            return;
        }
        let inside = self.inside(spans);
        self.each(lags, |target, place, lag| {
            if !inside[self.place(target)] {
                return lag;
            }
            match self.graph.edges[place].kind {
                EdgeKind::Order | EdgeKind::Own => 0,
                EdgeKind::Sync | EdgeKind::Queue => DROPPED,
                _ => lag,
            }
        });
    }

    /// A selection with the calls that launch its events and no others.
    fn with_calls(&self, mut what: Selection) -> Selection {
        for call in fuse::calls_of_only(&self.rank.recording, |event| what.has_event(event)) {
            what.add_span(call);
        }
        what
    }

    /// For each node of the rank whether a span of the selection is open on the host before it.
    fn inside(&self, spans: &Selection) -> Vec<bool> {
        let Rank { recording, host, .. } = self.rank;
        let mut inside = vec![false; self.rank.nodes.len()];
        let mut open = vec![0_usize; host.chains.len()];
        for (place, span) in recording.spans.iter().enumerate() {
            if spans.has_span(place as u32) && is_open_before(span, &recording.window) {
                open[span.thread as usize] += 1;
            }
        }
        for (chain, mut open) in host.chains.iter().zip(open) {
            for node in chain.clone() {
                inside[self.place(node)] = open > 0;
                let point = self.graph.point(node);
                let Subject::Span(place) = point.subject else { continue };
                if !spans.has_span(place) {
                    continue;
                }
                // A span that ends just as the window begins was not counted as open.
                open = if point.is_start { open + 1 } else { open.saturating_sub(1) };
            }
        }
        inside
    }

    /// Gives every edge that is still there a lag by a rule: of its target, its place and its lag.
    fn each(&self, lags: &mut [i64], rule: impl Fn(Node, usize, i64) -> i64) {
        for (node, edges) in self.graph.with_edges(self.rank.nodes.clone()) {
            for place in edges {
                if lags[place] != DROPPED {
                    lags[place] = rule(node, place, lags[place]);
                }
            }
        }
    }

    /// Gives every edge of a kind a lag by a rule: of its target, its source and its lag.
    fn of_kind(&self, kind: EdgeKind, lags: &mut [i64], rule: impl Fn(Node, Node, i64) -> i64) {
        self.each(lags, |target, place, lag| {
            let edge = &self.graph.edges[place];
            if edge.kind == kind { rule(target, edge.source, lag) } else { lag }
        });
    }

    /// Gives the time that device events take a lag by a rule, of the event and the lag.
    fn while_running(&self, lags: &mut [i64], rule: impl Fn(&DeviceEvent, i64) -> i64) {
        self.while_running_at(lags, |place, lag| rule(&self.rank.recording.events[place as usize], lag));
    }

    /// The same by the place of the event. Where ranks meet, a kernel takes the time from its arrival to its end.
    fn while_running_at(&self, lags: &mut [i64], rule: impl Fn(u32, i64) -> i64) {
        self.each(lags, |target, place, lag| match (self.graph.edges[place].kind, self.graph.point(target).subject) {
            (EdgeKind::Dur | EdgeKind::Join | EdgeKind::Idle, Subject::Event(event)) => rule(event, lag),
            _ => lag,
        });
        for &place in self.arrivals {
            let lag = &mut lags[place as usize];
            let source = self.graph.edges[place as usize].source;
            if let (true, Subject::Event(event)) = (*lag != DROPPED, self.graph.point(source).subject) {
                *lag = rule(event, *lag);
            }
        }
    }

    fn event(&self, node: Node) -> Option<&DeviceEvent> {
        match self.graph.point(node).subject {
            Subject::Event(place) => Some(&self.rank.recording.events[place as usize]),
            Subject::Span(_) | Subject::Join(_) => None,
        }
    }

    /// The place of a node among those of the rank.
    fn place(&self, node: Node) -> usize {
        (node - self.rank.nodes.start) as usize
    }

    fn communicates(&self, node: Node) -> bool {
        self.event(node).is_some_and(|event| event.is_communication)
    }

    fn is_of(&self, selection: &Selection, node: Node) -> bool {
        match self.graph.point(node).subject {
            Subject::Event(place) => selection.has_event(place),
            Subject::Span(place) => selection.has_span(place),
            Subject::Join(_) => false,
        }
    }

    /// Whether the time before a node is the host's own work.
    fn is_plain_host(&self, node: Node) -> bool {
        matches!(self.graph.point(node).class, PathClass::CpuExec | PathClass::Runtime | PathClass::Other)
    }
}

fn zero_if(is_so: bool, lag: i64) -> i64 {
    if is_so { 0 } else { lag }
}

#[cfg(test)]
mod tests {
    use super::{Batch, arrivals};

    /// Batches by when they are used, and whether they were waited for.
    fn batches(used: &[(i64, bool)]) -> Vec<Batch> {
        let batch = |(node, (used_ns, is_waited_for)): (usize, &(i64, bool))| Batch {
            node: node as u32,
            used_ns: *used_ns,
            is_waited_for: *is_waited_for,
        };
        used.iter().enumerate().map(batch).collect()
    }

    #[test]
    fn batches_come_at_the_rate_of_those_that_were_waited_for() {
        // Bursts of four, 40 ns apart: one in 10 ns. A pause after the second burst hides that.
        let used = [(10, true), (12, false), (13, false), (14, false), (50, true), (110, false), (111, false)];
        let want = [(0, 10), (1, 12), (2, 13), (3, 14), (4, 50), (5, 60), (6, 70)];
        assert_eq!(arrivals(&batches(&used)), want);
        // Batches that are less far apart tell no rate, and what comes before them was loaded in advance.
        let used = [(5, false), (10, true), (12, false), (20, true), (50, true), (110, false)];
        assert_eq!(arrivals(&batches(&used)), [(1, 10), (3, 20), (4, 50)]);
        assert_eq!(arrivals(&batches(&[(5, false), (6, false)])), []);
    }
}
