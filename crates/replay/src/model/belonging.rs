//! What belongs together in a window: a piece of a path and its operator, an operator and its device work, events that
//! follow each other.

use super::StepModel;
use crate::class::PathClass;
use crate::draft::NONE;
use crate::path::{Piece, PieceSubject};
use crate::recording::HostSpan;
use crate::selection::Selection;

impl StepModel {
    /// The operator that a piece of a path belongs to: of device work the one that launched it, on the host the innermost
    /// one around. What loads data or communicates on the host counts as an operator.
    #[must_use]
    pub fn operator_of(&self, piece: &Piece) -> Option<&HostSpan> {
        let mut place = match (piece.subject, piece.owner) {
            (PieceSubject::Event(event), _) => self.rank.recording.events[event as usize].operator?,
            (PieceSubject::Span(_), Some(owner)) => owner,
            (PieceSubject::Span(call), None) if piece.class == PathClass::SyncDelay => call,
            (PieceSubject::Span(_), None) => return None,
        };
        while place != NONE {
            let span = &self.rank.recording.spans[place as usize];
            let class = self.rank.recording.names.facts(span.name).host_class(span.kind);
            if !matches!(class, PathClass::Runtime | PathClass::Other) {
                return Some(span);
            }
            place = self.rank.host.parents[place as usize];
        }
        None
    }

    /// A host span and those around it, by their places, the innermost first.
    pub fn around(&self, span: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(span), |&inner| {
            let parent = self.rank.host.parents[inner as usize];
            (parent != NONE).then_some(parent)
        })
    }

    /// A selection with the device work that was launched inside its host spans.
    #[must_use]
    pub fn with_work(&self, mut what: Selection) -> Selection {
        // Every span comes after the one around it.
        let mut is_inside = vec![false; self.rank.recording.spans.len()];
        for place in 0..is_inside.len() {
            let around = self.rank.host.parents[place];
            is_inside[place] = what.has_span(place as u32) || (around != NONE && is_inside[around as usize]);
        }
        for (place, event) in self.rank.recording.events.iter().enumerate() {
            let call = self.rank.recording.launch_of(event).and_then(|call| call.span);
            if call.or(event.operator).is_some_and(|span| is_inside[span as usize]) {
                what.add_event(place as u32);
            }
        }
        what
    }

    /// How many host spans and device events of the window a selection has.
    #[must_use]
    pub fn count(&self, what: &Selection) -> usize {
        let spans = (0..self.rank.recording.spans.len() as u32).filter(|&place| what.has_span(place));
        spans.count() + self.rank.inside.iter().filter(|&&place| what.has_event(place)).count()
    }

    /// Events of the window that fit and follow each other on their stream, one list for each run of two or more.
    #[must_use]
    pub fn runs_of(&self, what: &Selection) -> Vec<Vec<u32>> {
        let mut places: Vec<u32> = self.rank.inside.iter().copied().filter(|&place| what.has_event(place)).collect();
        let order = |place: &u32| {
            let event = &self.rank.recording.events[*place as usize];
            (event.stream, event.start_ns, event.position)
        };
        places.sort_unstable_by_key(order);
        let follows = |before: &u32, place: &u32| self.rank.before[*place as usize] == Some(*before);
        places.chunk_by(follows).filter(|run| run.len() > 1).map(<[u32]>::to_vec).collect()
    }
}
