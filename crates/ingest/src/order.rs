//! The order of the spans: by track, start, longest first. It decides who encloses whom when times are equal.

use std::cmp::Reverse;

use stepscope_model::Kind;

use crate::record::{Span, TrackId};

/// Sorts the spans; from here on a span's number is its index.
pub(crate) fn sort(spans: &mut [Span]) {
    spans.sort_unstable_by_key(key);
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

fn key(span: &Span) -> (TrackId, i64, Reverse<i64>, u8, i128, u64) {
    // A runtime call comes after the operator that issues it, a Python frame before the operator that it calls.
    let rank = match span.kind {
        Kind::Python => 0,
        Kind::Runtime => 2,
        _ => 1,
    };
    // Nested operators of equal extent were numbered from the outside in; those without a number come last.
    let external_id = match span.external_id {
        Some(id) if span.kind != Kind::Runtime => i128::from(id),
        _ => i128::MAX,
    };
    (span.track, span.start, Reverse(span.end), rank, external_id, span.position)
}
