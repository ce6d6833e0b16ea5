//! The order of the spans: by track, start, longest first. It decides who encloses whom when times are equal.

use std::cmp::{Ordering, Reverse};

use stepscope_model::Kind;

use crate::record::{Span, TrackId};

/// What most spans are told apart by, and where the span stands.
struct Key {
    track: TrackId,
    start: i64,
    end: i64,
    index: u32,
}

/// Sorts the spans; from here on a span's number is its index.
pub(crate) fn sort(spans: &mut Vec<Span>) {
    let key = |(index, span): (usize, &Span)| Key {
        track: span.track,
        start: span.start,
        end: span.end,
        index: index as u32,
    };
    let mut keys: Vec<Key> = spans.iter().enumerate().map(key).collect();
    // Profilers write long sorted stretches, which a merging sort takes as they are.
    keys.sort_by(|a, b| {
        let times = (a.track, a.start, Reverse(a.end)).cmp(&(b.track, b.start, Reverse(b.end)));
        times.then_with(|| among_equals(&spans[a.index as usize], &spans[b.index as usize]))
    });
    *spans = keys.iter().map(|key| spans[key.index as usize].clone()).collect();
}

/// Splits sorted spans by track: the first index of each track's spans and the spans themselves.
pub(crate) fn by_track(spans: &[Span]) -> impl Iterator<Item = (usize, &[Span])> {
    let mut first = 0;
    spans.chunk_by(|a, b| a.track == b.track).map(move |chunk| {
        let start = first;
        first += chunk.len();
        (start, chunk)
    })
}

/// The order of spans with equal times.
fn among_equals(a: &Span, b: &Span) -> Ordering {
    // A runtime call comes after the operator that issues it, a Python frame before the operator that it calls.
    let rank = |span: &Span| match span.kind {
        Kind::Python => 0,
        Kind::Runtime => 2,
        _ => 1,
    };
    // Nested operators of equal extent were numbered from the outside in; those without a number come last.
    let external_id = |span: &Span| match span.external_id {
        Some(id) if span.kind != Kind::Runtime => i128::from(id),
        _ => i128::MAX,
    };
    (rank(a), external_id(a), a.position).cmp(&(rank(b), external_id(b), b.position))
}
