//! The critical path as a lane: its pieces in a stretch of time, or what a screen can show of them.

use arrow::record_batch::RecordBatch;
use stepscope_engine::CancelFlag;
use stepscope_model::{SourceRecord, TimelineStep};
use stepscope_runs::{Modeled, RunError, WindowModel};

use super::answer::{Answer, LanePiece};
use super::{Timelines, zero_of};

/// Pieces that are sent one by one; of more, the short ones are put together.
const MOST_PIECES: usize = 4_000;
/// Pixels that a bucket takes; pieces that are half as long again stay apart.
const BUCKET_PIXELS: i64 = 3;

/// Which part of the path.
#[derive(Clone, Copy, Debug)]
pub struct PathRange {
    /// What ends before this time is left out.
    pub from_ns: i64,
    /// What starts at this time or later is left out.
    pub to_ns: i64,
    /// Pixels that there are for it.
    pub width: u32,
}

impl Timelines {
    /// The pieces of the critical paths as one lane, with the columns of [`Self::track`]. A piece has the span that it is
    /// part of, or leads to. Without a path there are no rows.
    ///
    /// Paths are those of the usual window of steps (A1); where none of them is on screen, of the window that ends with
    /// the last complete step there.
    pub fn path(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: PathRange,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, RunError> {
        let source = self.run.source(rank, window)?;
        let Ok(modeled) = self.model_on_screen(source, range, cancel)? else { return Answer::none()?.by_lane() };
        let steps = pieces_in(&modeled, zero_of(source), range);
        let shown_ns = (range.to_ns.min(end_of(source)) - range.from_ns.max(0)).max(1);
        let bucket_ns = (i128::from(shown_ns) * i128::from(BUCKET_PIXELS) / i128::from(range.width.max(1))) as i64;
        let is_much = steps.iter().map(Vec::len).sum::<usize>() > MOST_PIECES;
        let pieces: Vec<LanePiece> =
            if is_much { steps.iter().flat_map(|step| merged(step, bucket_ns)).collect() } else { steps.concat() };
        Answer::of_pieces(&pieces)?.by_lane()
    }

    /// The model that has steps in a stretch of time, or why there is none.
    fn model_on_screen(
        &self,
        source: &SourceRecord,
        range: PathRange,
        cancel: &CancelFlag,
    ) -> Result<Modeled, RunError> {
        let usual = self.run.step_model(source, None)?;
        let steps = self.steps(source, cancel)?;
        let is_seen = |step: &TimelineStep| step.start_ns < range.to_ns && step.end_ns > range.from_ns;
        let Ok(modeled) = &usual else { return Ok(usual) };
        let there = steps.get(modeled.model.recording().window.steps.clone()).unwrap_or_default();
        match steps.iter().rposition(|step| step.complete && is_seen(step)) {
            Some(last) if !there.iter().any(is_seen) => self.run.step_model(source, Some(&(last..last + 1))),
            _ => Ok(usual),
        }
    }
}

/// The end of a recording, from its first event.
fn end_of(source: &SourceRecord) -> i64 {
    source.last_event_ns.map_or(0, |last| last - zero_of(source))
}

/// The pieces of each step in a stretch of time; times count from `zero`.
fn pieces_in(modeled: &WindowModel, zero: i64, range: PathRange) -> Vec<Vec<LanePiece>> {
    let recording = modeled.model.recording();
    let steps = modeled.model.paths().into_iter().map(|path| {
        let is_in = |start_ns: i64, end_ns: i64| start_ns - zero < range.to_ns && end_ns - zero >= range.from_ns;
        let pieces = path.pieces.iter().filter(|piece| is_in(piece.start_ns, piece.end_ns));
        pieces
            .map(|piece| LanePiece {
                start_ns: piece.start_ns - zero,
                end_ns: piece.end_ns - zero,
                busy_ns: piece.dur_ns(),
                count: 1,
                class: piece.class.as_text(),
                name: piece.row_name(recording).to_owned(),
                span_id: piece.span_id(recording),
            })
            .collect()
    });
    steps.collect()
}

/// The pieces of a step, the short ones that start in the same bucket as one. They lie side by side, in the order of time.
fn merged(pieces: &[LanePiece], bucket_ns: i64) -> Vec<LanePiece> {
    let bucket_ns = bucket_ns.max(1);
    let is_short = |piece: &LanePiece| piece.dur_ns() < bucket_ns / 2 * 3;
    let bucket_of = |piece: &LanePiece| is_short(piece).then(|| piece.start_ns.div_euclid(bucket_ns));
    let buckets = pieces.chunk_by(|a, b| bucket_of(a).is_some() && bucket_of(a) == bucket_of(b));
    buckets.filter_map(as_one).collect()
}

/// Pieces as one: with the class that takes most of their time, and the longest of them.
fn as_one(pieces: &[LanePiece]) -> Option<LanePiece> {
    let (first, last) = pieces.first().zip(pieces.last())?;
    let mut times: Vec<(&'static str, i64)> = Vec::new();
    for piece in pieces {
        match times.iter_mut().find(|(class, _)| *class == piece.class) {
            Some((_, time_ns)) => *time_ns += piece.busy_ns,
            None => times.push((piece.class, piece.busy_ns)),
        }
    }
    // Of equals the first.
    let (class, _) = times.into_iter().rev().max_by_key(|(_, time_ns)| *time_ns)?;
    let longest = pieces.iter().rev().max_by_key(|piece| piece.dur_ns())?;
    Some(LanePiece {
        start_ns: first.start_ns,
        end_ns: last.end_ns,
        busy_ns: pieces.iter().map(|piece| piece.busy_ns).sum(),
        count: pieces.iter().map(|piece| piece.count).sum(),
        class,
        ..longest.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start_ns: i64, end_ns: i64, class: &'static str) -> LanePiece {
        let (busy_ns, name, span_id) = (end_ns - start_ns, format!("{class} at {start_ns}"), start_ns);
        LanePiece { start_ns, end_ns, busy_ns, count: 1, class, name, span_id }
    }

    #[test]
    fn short_pieces_of_a_bucket_are_one_and_long_ones_stay() {
        let pieces = [
            piece(0, 40, "kernel"),
            piece(40, 60, "other"),
            piece(60, 95, "other"),
            // Long, though it starts in the same bucket.
            piece(95, 300, "memcpy"),
            piece(300, 310, "runtime"),
            piece(410, 420, "runtime"),
        ];
        let found = merged(&pieces, 100);
        let shown: Vec<_> =
            found.iter().map(|piece| (piece.start_ns, piece.end_ns, piece.count, piece.class, piece.span_id)).collect();
        let want = [
            // Other time is most of it, and the kernel is the longest piece.
            (0, 95, 3, "other", 0),
            (95, 300, 1, "memcpy", 95),
            (300, 310, 1, "runtime", 300),
            (410, 420, 1, "runtime", 410),
        ];
        assert_eq!(shown, want);
        assert_eq!(found.iter().map(|piece| piece.busy_ns).sum::<i64>(), 320);
        assert_eq!(found[0].name, "kernel at 0");
    }
}
