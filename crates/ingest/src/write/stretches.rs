//! Stretches of time in which something goes on: what touches on a track becomes one.

use std::sync::Arc;

use crate::collect::record::TrackId;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};

row! {
    /// A stretch of a track, and what goes on in it.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Stretch { start: i64, end: i64, what: u8, }
}

/// The stretches of a source, of `N` things that may go on.
#[derive(Debug)]
pub(super) struct Stretches<const N: usize> {
    track: TrackId,
    /// For each thing, the stretch of the current track that may still grow.
    open: [Option<(i64, i64)>; N],
    sorter: Sorter<Stretch>,
}

impl<const N: usize> Stretches<N> {
    pub(super) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { track: 0, open: [None; N], sorter: Sorter::new(scratch) }
    }

    /// Takes the next one. They come track by track, in the order of their starts.
    pub(super) fn push(&mut self, track: TrackId, (start, end): (i64, i64), what: usize) -> Result<(), IngestError> {
        if track != self.track {
            self.end_track()?;
            self.track = track;
        }
        match &mut self.open[what] {
            Some((_, open_end)) if start <= *open_end => *open_end = end.max(*open_end),
            open => {
                if let Some((start, end)) = open.replace((start, end)) {
                    self.sorter.push(Stretch { start, end, what: what as u8 })?;
                }
            }
        }
        Ok(())
    }

    /// All of them, in the order of their starts.
    pub(super) fn finish(mut self) -> Result<Sorted<Stretch>, IngestError> {
        self.end_track()?;
        self.sorter.finish()
    }

    fn end_track(&mut self) -> Result<(), IngestError> {
        for (what, open) in self.open.iter_mut().enumerate() {
            if let Some((start, end)) = open.take() {
                self.sorter.push(Stretch { start, end, what: what as u8 })?;
            }
        }
        Ok(())
    }
}
