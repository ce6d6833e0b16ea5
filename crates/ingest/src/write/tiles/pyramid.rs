//! The levels of one track: buckets of a level are four times as wide as those of the level below.
//!
//! A span goes to the finest level, and a bucket that is complete goes to the next. A span that is as long as a bucket
//! stays alone there, so that it is drawn where it is. Which levels are worth keeping shows on the way: one with too many
//! rows is given up, and what it still holds goes up.

use std::sync::Arc;

use stepscope_model::SpanClass;

use super::bucket::{Bucket, Tile};
use crate::collect::record::TrackId;
use crate::collect::tracks::Track;
use crate::error::IngestError;
use crate::spill::row::{Field, row};
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;
use crate::write::rows::{Rows, SourceText as _};

/// Spans that a row of the finest level stands for, on average, at least: below it the spans themselves are shown.
const SPANS_PER_ROW: u64 = 16;

/// A level is kept if it has at most this part of the rows of the level below. All levels then have at most twice the
/// rows of the finest.
const SHRINK: u64 = 2;

/// How many levels below the one that evenly spread spans would have as their finest are tried: spans come in bursts.
const LEVELS_BELOW_EVEN: u32 = 3;

/// Lanes past which no screen shows a track.
const MOST_LANES: u32 = 4096;

/// Levels that 64 bits have room for.
const MOST_LEVELS: u32 = 32;

row! {
    /// The place of a row in its level.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Place { start: i64, lane: u32, }
}

/// The levels of a track, the finest first.
pub(super) struct Pyramid {
    levels: Vec<Level>,
    /// Rows of the finest level at most.
    most_rows: u64,
}

struct Level {
    /// Buckets are 4 to the power of this nanoseconds wide.
    number: u32,
    /// For each lane, the bucket that may still grow.
    open: Vec<Option<Bucket>>,
    rows: Sorter<Place>,
}

impl Level {
    fn bucket_number(&self, time: i64) -> i64 {
        time >> (2 * self.number)
    }

    /// Whether it is one span that is as long as a bucket.
    fn is_long(&self, bucket: &Bucket) -> bool {
        bucket.count == 1 && bucket.end - bucket.start >= 1 << (2 * self.number)
    }
}

impl Pyramid {
    pub(super) fn new(track: &Track, scratch: &Arc<Scratch>) -> Self {
        let most_rows = track.spans / SPANS_PER_ROW;
        let lanes = track.lanes.count();
        let extent = track.first.zip(track.last).map_or(0, |(first, last)| last - first).unsigned_abs();
        let even = extent.checked_div(most_rows).unwrap_or(0);
        let (from, to) = (level_of(even).saturating_sub(LEVELS_BELOW_EVEN), level_of(extent) + 1);
        let numbers = if u64::from(lanes) > most_rows || lanes > MOST_LANES { 0..0 } else { from..to.min(MOST_LEVELS) };
        let level = |number| Level { number, open: vec![None; lanes as usize], rows: Sorter::new(scratch) };
        Self { levels: numbers.map(level).collect(), most_rows }
    }

    /// Whether there is nothing to gather: the track has few spans.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Takes the next span of a lane.
    #[inline]
    pub(super) fn push(&mut self, lane: usize, span: Bucket) -> Result<(), IngestError> {
        self.take(0, lane, span)?;
        while self.levels.first().is_some_and(|finest| finest.rows.count() > self.most_rows) {
            let finest = self.levels.remove(0);
            for (lane, open) in finest.open.into_iter().enumerate() {
                if let Some(open) = open {
                    self.take(0, lane, open)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the levels that are worth it.
    pub(super) fn finish(mut self, track: TrackId, rows: &mut Rows<'_>) -> Result<(), IngestError> {
        for index in 0..self.levels.len() {
            for lane in 0..self.levels[index].open.len() {
                if let Some(open) = self.levels[index].open[lane].take() {
                    self.complete(index, lane, open)?;
                }
            }
        }
        let mut most = self.most_rows;
        for level in self.levels {
            let count = level.rows.count();
            if count <= most {
                write_level(track, level, rows)?;
                most = count / SHRINK;
            }
        }
        Ok(())
    }

    /// Puts what comes next in a lane into the open bucket, or opens another.
    fn take(&mut self, index: usize, lane: usize, next: Bucket) -> Result<(), IngestError> {
        let Some(level) = self.levels.get_mut(index) else { return Ok(()) };
        if level.is_long(&next) {
            // The one before goes up first: a level takes what comes in the order of the starts.
            if let Some(before) = level.open[lane].take() {
                self.complete(index, lane, before)?;
            }
            return self.complete(index, lane, next);
        }
        let number = level.bucket_number(next.start);
        match &level.open[lane] {
            Some(open) if level.bucket_number(open.start) == number => {
                if let Some(open) = &mut level.open[lane] {
                    open.add(next);
                }
                Ok(())
            }
            _ => match level.open[lane].replace(next) {
                Some(before) => self.complete(index, lane, before),
                None => Ok(()),
            },
        }
    }

    /// Makes a row of a bucket, and hands it to the next level.
    fn complete(&mut self, index: usize, lane: usize, bucket: Bucket) -> Result<(), IngestError> {
        let (tile, name) = bucket.tile();
        self.levels[index].rows.push_with(Place { start: bucket.start, lane: lane as u32 }, |out| {
            tile.put(out);
            out.extend_from_slice(name);
        })?;
        self.take(index + 1, lane, bucket)
    }
}

/// The level whose buckets are at most as wide as this.
fn level_of(width: u64) -> u32 {
    width.checked_ilog2().unwrap_or(0) / 2
}

fn write_level(track: TrackId, level: Level, rows: &mut Rows<'_>) -> Result<(), IngestError> {
    let sorted = level.rows.finish()?;
    let mut reader = sorted.reader()?;
    while let Some((place, mut behind)) = reader.next()? {
        let tile = Tile::take(&mut behind);
        rows.i32(track as i32)
            .i32(level.number as i32)
            .i32(place.lane as i32)
            .i64(place.start)
            .i64(tile.end)
            .i64(tile.busy_ns)
            .i64(tile.count as i64)
            .word(SpanClass::ALL[usize::from(tile.class) % SpanClass::ALL.len()].as_text())
            .i64(tile.longest.index() as i64)
            .source_text(tile.name, behind)
            .end_row()?;
    }
    Ok(())
}
