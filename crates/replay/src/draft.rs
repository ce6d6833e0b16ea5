//! A graph while it is made: points in time, and for each the edges into it, which may still be replaced.

use crate::class::{EdgeKind, PathClass};

/// Number of a node.
pub(crate) type Node = u32;

/// Stands for no node, no edge and no span in arrays of numbers.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node is a point of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A host span, by its place.
    Span(u32),
    /// A device event, by its place.
    Event(u32),
    /// The ranks of a collective, by its place among the joins.
    Join(u32),
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub subject: Subject,
    pub is_start: bool,
    /// On the host: the class of the time before it.
    pub class: PathClass,
    /// On the host: the span that gives the class; `NONE` if none does.
    pub owner: u32,
    /// On the host: whether no operator and no call is open before it.
    pub is_bare: bool,
    /// On a device: whether it was launched before the window, so that it stays where it is.
    pub is_history: bool,
}

/// Why a node comes when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub source: Node,
    pub kind: EdgeKind,
    pub typical_ns: i64,
}

/// Nodes with their edges. A node without edges is fixed at its recorded time.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub times: Vec<i64>,
    pub points: Vec<Point>,
    /// The first edge into each node.
    heads: Vec<u32>,
    /// Each edge with the next one into the same node.
    edges: Vec<(Edge, u32)>,
}

impl Draft {
    pub(crate) fn add_node(&mut self, time_ns: i64, point: Point) -> Node {
        self.times.push(time_ns);
        self.points.push(point);
        self.heads.push(NONE);
        (self.times.len() - 1) as Node
    }

    pub(crate) fn time(&self, node: Node) -> i64 {
        self.times[node as usize]
    }

    pub(crate) fn point(&self, node: Node) -> &Point {
        &self.points[node as usize]
    }

    /// Adds an edge behind the others into the node.
    pub(crate) fn add_edge(&mut self, target: Node, edge: Edge) {
        let number = self.edges.len() as u32;
        self.edges.push((edge, NONE));
        let mut last = self.heads[target as usize];
        if last == NONE {
            self.heads[target as usize] = number;
            return;
        }
        while self.edges[last as usize].1 != NONE {
            last = self.edges[last as usize].1;
        }
        self.edges[last as usize].1 = number;
    }

    /// Makes these the only edges into a node.
    pub(crate) fn replace_edges(&mut self, target: Node, edges: impl IntoIterator<Item = Edge>) {
        self.clear_edges(target);
        let mut last: Option<usize> = None;
        for edge in edges {
            let number = self.edges.len();
            self.edges.push((edge, NONE));
            match last.replace(number) {
                Some(last) => self.edges[last].1 = number as u32,
                None => self.heads[target as usize] = number as u32,
            }
        }
    }

    /// Forgets the edges into a node.
    pub(crate) fn clear_edges(&mut self, target: Node) {
        self.heads[target as usize] = NONE;
    }

    /// The first edge into a node: on the host, what comes before it on its thread.
    pub(crate) fn first_edge(&self, target: Node) -> Option<Edge> {
        self.edges_into(target).next()
    }

    pub(crate) fn edges_into(&self, target: Node) -> impl Iterator<Item = Edge> {
        let mut next = self.heads[target as usize];
        std::iter::from_fn(move || {
            let (edge, after) = *self.edges.get(next as usize)?;
            next = after;
            Some(edge)
        })
    }
}
