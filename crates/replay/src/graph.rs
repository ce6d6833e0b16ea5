//! A finished graph: compact arrays, one order in which every node comes after its sources, and for each node the edge
//! that held it longest (A5). Replaying it is one pass over these arrays (A6).

use std::cmp::Reverse;
use std::ops::Range;

use crate::class::EdgeKind;
use crate::draft::{Draft, Edge, NONE, Node, Point, Subject};
use crate::recording::Recording;

/// A lag that stands for an edge that is not there.
pub(crate) const DROPPED: i64 = i64::MIN;

/// Points in time and what holds them.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub times: Vec<i64>,
    pub points: Vec<Point>,
    /// Where the edges into each node begin, and behind the last node where they end.
    firsts: Vec<u32>,
    pub edges: Vec<Edge>,
    /// For each node the edge that bound it; `NONE` for a fixed node.
    binding: Vec<u32>,
    /// Every node after its sources.
    order: Vec<Node>,
    /// The place of each node in the numbering by which ties are decided.
    numbers: Vec<u32>,
}

impl Graph {
    /// Packs a draft; `None` if its edges run in a circle.
    pub(crate) fn new(draft: Draft, ranks: &[(&Recording, Range<Node>)]) -> Option<Self> {
        let count = draft.times.len();
        let mut firsts = Vec::with_capacity(count + 1);
        let mut edges = Vec::with_capacity(count);
        firsts.push(0);
        for node in 0..count as Node {
            edges.extend(draft.edges_into(node));
            firsts.push(edges.len() as u32);
        }
        let numbers = numbers(&draft, ranks);
        let order = order(&firsts, &edges)?;
        let Draft { times, points, .. } = draft;
        let mut graph = Self { times, points, firsts, edges, binding: Vec::new(), order, numbers };
        graph.binding = (0..count as Node).map(|node| graph.find_binding(node)).collect();
        Some(graph)
    }

    pub(crate) fn time(&self, node: Node) -> i64 {
        self.times[node as usize]
    }

    pub(crate) fn point(&self, node: Node) -> &Point {
        &self.points[node as usize]
    }

    /// Places of the edges into a node.
    pub(crate) fn edges_into(&self, node: Node) -> Range<usize> {
        self.firsts[node as usize] as usize..self.firsts[node as usize + 1] as usize
    }

    /// The edge that let a node happen; `None` for a fixed node.
    pub(crate) fn binding(&self, node: Node) -> Option<&Edge> {
        self.edges.get(self.binding[node as usize] as usize)
    }

    /// Nodes with the places of the edges into each.
    pub(crate) fn with_edges(&self, nodes: Range<Node>) -> impl Iterator<Item = (Node, Range<usize>)> {
        nodes.map(|node| (node, self.edges_into(node)))
    }

    /// Of nodes at the same time the one with the lower number, of others the latest.
    pub(crate) fn latest_first(&self, node: Node) -> (i64, Reverse<u32>) {
        (self.time(node), Reverse(self.numbers[node as usize]))
    }

    /// Lags that give every recorded time back: what bound has its recorded lag, and nothing else holds longer.
    pub(crate) fn anchored_lags(&self) -> Vec<i64> {
        let mut lags = vec![0; self.edges.len()];
        for (node, edges) in self.with_edges(0..self.times.len() as Node) {
            let binding = self.binding(node).copied();
            for place in edges {
                let edge = self.edges[place];
                let recorded_ns = self.time(node) - self.time(edge.source);
                let is_binding = Some(edge) == binding;
                lags[place] = if is_binding { recorded_ns } else { edge.typical_ns.min(recorded_ns) };
            }
        }
        lags
    }

    /// The typical lag of every edge.
    pub(crate) fn strict_lags(&self) -> Vec<i64> {
        self.edges.iter().map(|edge| edge.typical_ns).collect()
    }

    /// The time of every node under other lags. Fixed nodes stay where they are.
    pub(crate) fn replay(&self, lags: &[i64]) -> Vec<i64> {
        self.replay_not_before(lags, &[])
    }

    /// The same, with some nodes that come no earlier than that.
    pub(crate) fn replay_not_before(&self, lags: &[i64], not_before: &[(Node, i64)]) -> Vec<i64> {
        let mut times = vec![DROPPED; self.times.len()];
        for &(node, time_ns) in not_before {
            times[node as usize] = time_ns;
        }
        for &node in &self.order {
            let mut latest = times[node as usize];
            for place in self.edges_into(node) {
                if lags[place] != DROPPED {
                    latest = latest.max(times[self.edges[place].source as usize] + lags[place]);
                }
            }
            times[node as usize] = if latest == DROPPED { self.time(node) } else { latest };
        }
        times
    }

    fn find_binding(&self, node: Node) -> u32 {
        let key = |place: &usize| {
            let edge = &self.edges[*place];
            let number = self.numbers[edge.source as usize];
            (self.time(edge.source) + edge.typical_ns, Reverse(edge.kind), Reverse(number))
        };
        self.edges_into(node).max_by_key(key).map_or(NONE, |place| place as u32)
    }

    /// How many edges of a kind there are.
    pub(crate) fn count(&self, kind: EdgeKind) -> u64 {
        self.edges.iter().filter(|edge| edge.kind == kind).count() as u64
    }
}

/// Numbers of nodes as the definition has them: rank by rank its threads, then history, then the window's events, in
/// file order; joins come last.
fn numbers(draft: &Draft, ranks: &[(&Recording, Range<Node>)]) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..draft.points.len() as u32).collect();
    for (recording, range) in ranks {
        let key = |node: Node| match draft.point(node).subject {
            Subject::Event(place) => {
                (true, !draft.point(node).is_history, recording.events[place as usize].position, node)
            }
            Subject::Span(_) | Subject::Join(_) => (false, false, 0, node),
        };
        let mut nodes: Vec<(bool, bool, i64, Node)> = range.clone().map(key).collect();
        if !nodes.is_sorted() {
            nodes.sort_unstable();
        }
        for ((.., node), number) in nodes.into_iter().zip(range.clone()) {
            numbers[node as usize] = number;
        }
    }
    numbers
}

/// An order in which every node comes after its sources; `None` if there is a circle.
fn order(firsts: &[u32], edges: &[Edge]) -> Option<Vec<Node>> {
    let count = firsts.len() - 1;
    // The edges again, by their source.
    let mut starts = vec![0_u32; count + 1];
    for edge in edges {
        starts[edge.source as usize + 1] += 1;
    }
    for node in 0..count {
        starts[node + 1] += starts[node];
    }
    let mut targets = vec![0 as Node; edges.len()];
    let mut free = starts.clone();
    let mut missing = vec![0_u32; count];
    for node in 0..count {
        for edge in &edges[firsts[node] as usize..firsts[node + 1] as usize] {
            let place = &mut free[edge.source as usize];
            targets[*place as usize] = node as Node;
            *place += 1;
            missing[node] += 1;
        }
    }
    let mut order = Vec::with_capacity(count);
    let mut ready: Vec<Node> = (0..count as Node).rev().filter(|node| missing[*node as usize] == 0).collect();
    while let Some(node) = ready.pop() {
        order.push(node);
        for &target in &targets[starts[node as usize] as usize..starts[node as usize + 1] as usize] {
            missing[target as usize] -= 1;
            if missing[target as usize] == 0 {
                ready.push(target);
            }
        }
    }
    (order.len() == count).then_some(order)
}
