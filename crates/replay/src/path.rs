//! The critical path of a step: from its end back along what held each point longest (A5), also from rank to rank (A9).

use std::cell::RefCell;
use std::collections::HashMap;

use crate::class::{EdgeKind, PathClass};
use crate::draft::{NONE, Node, Subject};
use crate::graph::Graph;
use crate::rank::Rank;
use crate::recording::Recording;

/// Beyond four times the typical lag and this much, a lag is not explained by its edge.
const TOLERANCE_NS: i64 = 10_000;

/// A piece of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// What the time goes to.
    pub class: PathClass,
    /// What it leads to.
    pub subject: PieceSubject,
    /// The host span that gives the class, by its place: the owner of A2.
    pub owner: Option<u32>,
}

/// The span that a piece of a path leads to the start or the end of, by its place in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceSubject {
    /// A host span.
    Span(u32),
    /// A device event.
    Event(u32),
}

impl Piece {
    /// Length.
    #[must_use]
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// The span that it is about: the one that gives its class, else the one that it leads to.
    #[must_use]
    pub fn span_id(&self, recording: &Recording) -> i64 {
        match (self.subject, self.owner) {
            (PieceSubject::Event(place), _) => recording.events[place as usize].span_id,
            (PieceSubject::Span(_), Some(owner)) => recording.spans[owner as usize].span_id,
            (PieceSubject::Span(place), None) => recording.spans[place as usize].span_id,
        }
    }

    /// The name under which the piece is added up (A10); empty where there is none.
    #[must_use]
    pub fn row_name<'a>(&self, recording: &'a Recording) -> &'a str {
        let span_name = |place: u32| recording.names.text(recording.spans[place as usize].name);
        match (self.subject, self.class) {
            (PieceSubject::Span(place), PathClass::SyncDelay) => span_name(place),
            (PieceSubject::Span(_), PathClass::Handoff) => "",
            (PieceSubject::Span(_), _) => self.owner.map_or("", span_name),
            (PieceSubject::Event(place), class) => {
                let event = &recording.events[place as usize];
                let operator = event.operator.filter(|_| !class.is_device_work());
                operator.map_or_else(|| recording.names.text(event.name), span_name)
            }
        }
    }
}

/// A piece of a path, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceOf {
    /// Place of the rank whose recording has the subject.
    pub rank: usize,
    /// Whether it is a transfer between ranks, so that it is on none of them.
    pub is_transfer: bool,
    /// The piece.
    pub piece: Piece,
}

/// A collective at which ranks wait for each other: the first of them, and its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub rank: usize,
    pub event: u32,
}

/// When kernels of the other streams of a device ran, by rank and stream.
type Busy = HashMap<(usize, u32), Vec<(i64, i64)>>;

/// Follows paths through a graph.
pub(crate) struct Paths<'a> {
    graph: &'a Graph,
    ranks: &'a [Rank],
    joins: &'a [Join],
    /// Start of the first step of the window.
    from_ns: i64,
    /// Of the streams that were asked for.
    busy: RefCell<Busy>,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(graph: &'a Graph, ranks: &'a [Rank], joins: &'a [Join]) -> Self {
        let starts = ranks.iter().filter_map(|rank| rank.recording.window_steps().first()).map(|step| step.start_ns);
        Self { graph, ranks, joins, from_ns: starts.min().unwrap_or(i64::MIN), busy: RefCell::default() }
    }

    /// The pieces from a time to a node, the first one first. They lie side by side and leave nothing out.
    pub(crate) fn path(&self, sink: Option<Node>, start_ns: i64) -> Vec<PieceOf> {
        let mut pieces = Vec::new();
        let mut next = sink;
        while let Some(node) = next.filter(|&node| self.graph.time(node) > start_ns) {
            next = self.step_back(node, start_ns, &mut pieces);
        }
        pieces.reverse();
        pieces
    }

    /// Adds what leads to a node, the last piece first, and gives the node that it comes from.
    fn step_back(&self, node: Node, start_ns: i64, pieces: &mut Vec<PieceOf>) -> Option<Node> {
        let end_ns = self.graph.time(node);
        let Some(edge) = self.graph.binding(node) else {
            // Of several ranks, one may have begun later than the others.
            let class = if self.ranks.len() > 1 { PathClass::RankSkew } else { PathClass::Unexplained };
            pieces.push(self.piece(node, (start_ns, end_ns), class));
            return None;
        };
        let source_ns = self.graph.time(edge.source);
        let lag_ns = end_ns - source_ns;
        let explained_ns = match edge.kind {
            EdgeKind::Launch | EdgeKind::Stream | EdgeKind::Cross | EdgeKind::Sync => {
                lag_ns.min(4 * edge.typical_ns + TOLERANCE_NS)
            }
            _ => lag_ns,
        };
        let middle_ns = end_ns - explained_ns;
        if middle_ns < end_ns {
            pieces.push(self.piece(node, (middle_ns.max(start_ns), end_ns), self.class_of(node, edge.kind)));
        }
        let from_ns = source_ns.max(start_ns);
        if middle_ns > from_ns {
            self.add_unexplained(node, (from_ns, middle_ns), pieces);
        }
        Some(edge.source)
    }

    /// Adds waiting that no edge explains, the last piece first: contention while other streams ran kernels.
    fn add_unexplained(&self, node: Node, (from_ns, to_ns): (i64, i64), pieces: &mut Vec<PieceOf>) {
        let mut end_ns = to_ns;
        for (busy_from, busy_to) in self.busy_elsewhere(node, from_ns, to_ns).into_iter().rev() {
            if busy_to < end_ns {
                pieces.push(self.piece(node, (busy_to, end_ns), PathClass::Unexplained));
            }
            pieces.push(self.piece(node, (busy_from, busy_to), PathClass::Contention));
            end_ns = busy_from;
        }
        if from_ns < end_ns {
            pieces.push(self.piece(node, (from_ns, end_ns), PathClass::Unexplained));
        }
    }

    /// A piece of time that leads to a node.
    pub(crate) fn piece(&self, node: Node, (start_ns, end_ns): (i64, i64), class: PathClass) -> PieceOf {
        let point = self.graph.point(node);
        let (rank, subject, owner) = match point.subject {
            Subject::Span(place) => (self.rank_of(node), PieceSubject::Span(place), point.owner),
            Subject::Event(place) => (self.rank_of(node), PieceSubject::Event(place), NONE),
            Subject::Join(place) => {
                let Join { rank, event } = self.joins[place as usize];
                (rank, PieceSubject::Event(event), NONE)
            }
        };
        let owner = Some(owner).filter(|owner| *owner != NONE);
        let is_transfer = matches!(point.subject, Subject::Join(_));
        PieceOf { rank, is_transfer, piece: Piece { start_ns, end_ns, class, subject, owner } }
    }

    /// The place of the rank that a node belongs to.
    fn rank_of(&self, node: Node) -> usize {
        self.ranks.partition_point(|rank| rank.nodes.end <= node)
    }

    fn recording_of(&self, node: Node) -> &'a Recording {
        &self.ranks[self.rank_of(node)].recording
    }

    fn class_of(&self, node: Node, kind: EdgeKind) -> PathClass {
        match kind {
            EdgeKind::Dur => self.event_class(node),
            EdgeKind::Join | EdgeKind::Arrive => PathClass::Communication,
            EdgeKind::Order | EdgeKind::Idle => self.graph.point(node).class,
            EdgeKind::Own | EdgeKind::Queue | EdgeKind::Staging => PathClass::Runtime,
            EdgeKind::Launch => PathClass::LaunchDelay,
            EdgeKind::Stream | EdgeKind::Overlap | EdgeKind::Cross => PathClass::DeviceGap,
            EdgeKind::Sync => PathClass::SyncDelay,
            EdgeKind::Handoff => PathClass::Handoff,
        }
    }

    fn event_class(&self, node: Node) -> PathClass {
        let Subject::Event(place) = self.graph.point(node).subject else { return PathClass::Other };
        let event = &self.recording_of(node).events[place as usize];
        match event.kind {
            _ if event.is_communication => PathClass::Communication,
            stepscope_model::Kind::Memcpy => PathClass::Memcpy,
            stepscope_model::Kind::Memset => PathClass::Memset,
            _ => PathClass::Kernel,
        }
    }

    /// When kernels of other streams of the device of an event ran, between two times.
    fn busy_elsewhere(&self, node: Node, from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
        let Subject::Event(place) = self.graph.point(node).subject else { return Vec::new() };
        let recording = self.recording_of(node);
        let stream = recording.events[place as usize].stream;
        let mut known = self.busy.borrow_mut();
        let busy = known.entry((self.rank_of(node), stream)).or_insert_with(|| self.busy_beside(recording, stream));
        let first = busy.partition_point(|(_, end)| *end <= from_ns);
        let inside = busy[first..].iter().take_while(|(start, _)| *start < to_ns);
        inside.map(|&(start, end)| (start.max(from_ns), end.min(to_ns))).collect()
    }

    /// When kernels ran on the other streams of a stream's device, as far as paths reach.
    fn busy_beside(&self, recording: &Recording, stream: u32) -> Vec<(i64, i64)> {
        let device_id = recording.streams[stream as usize].device_id;
        let kernels = recording.events.iter().filter(|event| {
            event.kind == stepscope_model::Kind::Kernel
                && event.stream != stream
                && recording.streams[event.stream as usize].device_id == device_id
                && event.end_ns() > self.from_ns
                && event.dur_ns > 0
        });
        let mut times: Vec<(i64, i64)> = kernels.map(|event| (event.start_ns, event.end_ns())).collect();
        times.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (start, end) in times {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        merged
    }
}
