//! The timeline's levels of detail: what a screen shows of a stretch of a track that has more spans than pixels.

mod bucket;
mod pyramid;

use std::sync::Arc;

use stepscope_model::tables::TILES;
use stepscope_model::{Class, SpanClass};
use stepscope_store::SourceWriter;

use self::bucket::{Bucket, Longest};
use self::pyramid::Pyramid;
use super::activity;
use super::rows::Rows;
use crate::collect::record::TrackId;
use crate::collect::tracks::Tracks;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::scratch::Scratch;
use crate::spill::strings::Strings;

/// The tiles of a source being made.
pub(crate) struct Tiles<'s> {
    rows: Rows<'s>,
    tracks: &'s Tracks,
    strings: &'s Strings,
    scratch: Arc<Scratch>,
    current: Option<(TrackId, Pyramid)>,
}

impl<'s> Tiles<'s> {
    pub(crate) fn new(
        scratch: &Arc<Scratch>,
        writer: &mut SourceWriter,
        strings: &'s Strings,
        tracks: &'s Tracks,
    ) -> Result<Self, IngestError> {
        let rows = writer.rows(&TILES, strings)?;
        Ok(Self { rows, tracks, strings, scratch: Arc::clone(scratch), current: None })
    }

    /// Takes the next span, in the order of the table.
    pub(crate) fn push(&mut self, span: &Span<'_>, depth: u32, is_communication: bool) -> Result<(), IngestError> {
        let track = span.key.track;
        let described = &self.tracks.list[track as usize];
        if self.current.as_ref().is_none_or(|(current, _)| *current != track) {
            self.end_track()?;
            self.current = Some((track, Pyramid::new(described, &self.scratch)));
        }
        let Some((_, pyramid)) = &mut self.current else { return Ok(()) };
        if pyramid.is_empty() {
            return Ok(());
        }
        let head = &span.record.head;
        let lane = described.lanes.lane(head.kind, depth);
        let name = || head.name.map_or("", |name| self.strings.resolve(name, span.record.texts));
        let class = if activity::waits_for_input(span) {
            SpanClass::Time(Class::Dataloader)
        } else {
            SpanClass::new(head.kind, is_communication, name)
        };
        let longest = Longest::new(span, class.index() as u8, self.strings);
        pyramid.push(lane as usize, Bucket::of_span(span.key.start, span.key.end(), longest))
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), IngestError> {
        self.end_track()?;
        Ok(self.rows.finish()?)
    }

    fn end_track(&mut self) -> Result<(), IngestError> {
        match self.current.take() {
            Some((track, pyramid)) => pyramid.finish(track, &mut self.rows),
            None => Ok(()),
        }
    }
}
