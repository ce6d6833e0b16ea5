//! Finds the span that a moment on a track belongs to: the ends of arrows and the memory events.

use stepscope_model::Kind;

use crate::collect::record::{SpanId, TrackId};

/// The spans of the current track that may hold a moment to come.
#[derive(Debug, Default)]
pub(crate) struct Points {
    track: TrackId,
    spans: Vec<Holder>,
    operators: Vec<Holder>,
}

/// A span that may hold a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub id: SpanId,
    pub end: i64,
    /// The operator it is or belongs to: a runtime call or a frame may lie inside one.
    pub operator: Option<SpanId>,
}

impl Points {
    /// Takes the next span. Moments before its start must have been asked for.
    pub(crate) fn push(&mut self, track: TrackId, start: i64, kind: Kind, holder: Holder) {
        if track != self.track {
            self.track = track;
            self.spans.clear();
            self.operators.clear();
        }
        // Spans that ended before this one starts cannot hold a later moment.
        drop_ended(&mut self.spans, start);
        self.spans.push(holder);
        if kind == Kind::Op {
            drop_ended(&mut self.operators, start);
            self.operators.push(holder);
        }
    }

    /// The innermost span with start <= `time` < end.
    pub(crate) fn span_at(&mut self, track: TrackId, time: i64) -> Option<Holder> {
        innermost(&mut self.spans, track == self.track, time)
    }

    /// The innermost operator with start <= `time` < end.
    pub(crate) fn operator_at(&mut self, track: TrackId, time: i64) -> Option<Holder> {
        innermost(&mut self.operators, track == self.track, time)
    }
}

fn innermost(open: &mut Vec<Holder>, is_on_track: bool, time: i64) -> Option<Holder> {
    if !is_on_track {
        return None;
    }
    drop_ended(open, time);
    open.last().copied()
}

fn drop_ended(open: &mut Vec<Holder>, time: i64) {
    while open.last().is_some_and(|holder| holder.end <= time) {
        open.pop();
    }
}
