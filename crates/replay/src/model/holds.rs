//! What held each point in time of a window: the edge that let it happen no earlier.

use super::StepModel;
use crate::class::{EdgeKind, PathClass};
use crate::draft::{NONE, Node, Subject};
use crate::path::PieceSubject;

/// What let a point in time happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The span or event that begins or ends there.
    pub of: PieceSubject,
    /// Whether it begins.
    pub is_start: bool,
    /// When.
    pub time_ns: i64,
    /// How long after what held it.
    pub lag_ns: i64,
    /// On the host: what the time before it goes to.
    pub class: PathClass,
    /// On the host: the span that gives the class, by its place.
    pub owner: Option<u32>,
    /// Why it could not come earlier.
    pub kind: EdgeKind,
    /// The span or event that it came after.
    pub by: PieceSubject,
}

impl StepModel {
    /// What held each point of the window; nothing for points that are fixed.
    pub fn holds(&self) -> impl Iterator<Item = Hold> {
        let subject = |node: Node| match self.graph.point(node).subject {
            Subject::Span(place) => Some(PieceSubject::Span(place)),
            Subject::Event(place) => Some(PieceSubject::Event(place)),
            // Where ranks meet; a model of one rank has none.
            Subject::Join(_) => None,
        };
        self.rank.nodes.clone().filter_map(move |node| {
            let (point, edge) = (self.graph.point(node), self.graph.binding(node)?);
            let (of, by) = (subject(node)?, subject(edge.source)?);
            let time_ns = self.graph.time(node);
            let lag_ns = time_ns - self.graph.time(edge.source);
            let owner = Some(point.owner).filter(|owner| *owner != NONE);
            let hold =
                Hold { owner, of, is_start: point.is_start, time_ns, lag_ns, class: point.class, kind: edge.kind, by };
            (!point.is_history).then_some(hold)
        })
    }
}
