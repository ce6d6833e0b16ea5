//! The timeline's levels of detail: what a screen shows of a stretch of a track that has more spans than pixels.

mod bucket;
mod pyramid;

use std::sync::Arc;

use stepscope_model::tables::TILES;
use stepscope_model::{Class, Kind, SourceId};
use stepscope_store::SourceWriter;

use self::bucket::{Bucket, Longest};
use self::pyramid::Pyramid;
use crate::activity::activity;
use crate::error::IngestError;
use crate::record::TrackId;
use crate::rows::Rows;
use crate::scratch::Scratch;
use crate::stream::Span;
use crate::strings::Strings;
use crate::tracks::Tracks;

/// What the view `timeline_spans` calls the class of a span: the classes of a step's time, then the labels.
const CLASSES: [&str; 10] = [
    Class::Kernel.as_text(),
    Class::Memcpy.as_text(),
    Class::Memset.as_text(),
    Class::Communication.as_text(),
    Class::Runtime.as_text(),
    Class::Dataloader.as_text(),
    Class::CpuExec.as_text(),
    Class::Other.as_text(),
    "python",
    "annotation",
];
const PYTHON: u8 = 8;
const ANNOTATION: u8 = 9;

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
        id: SourceId,
        strings: &'s Strings,
        tracks: &'s Tracks,
    ) -> Result<Self, IngestError> {
        let rows = Rows::new(&TILES, writer.table(&TILES)?, id, strings);
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
        let lane = described.lanes.lane(span.record.head.kind, depth);
        let class = class(span, is_communication, self.strings);
        let longest = Longest::new(span, class, self.strings);
        pyramid.push(lane as usize, Bucket::of_span(span.key.start, span.key.end(), longest))
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), IngestError> {
        self.end_track()?;
        self.rows.finish()
    }

    fn end_track(&mut self) -> Result<(), IngestError> {
        match self.current.take() {
            Some((track, pyramid)) => pyramid.finish(track, &mut self.rows),
            None => Ok(()),
        }
    }
}

/// The class of a span, as its place in the list.
fn class(span: &Span<'_>, is_communication: bool, strings: &Strings) -> u8 {
    match (activity(span, is_communication, strings), span.record.head.kind) {
        (Some(activity), _) => activity.class as u8,
        (None, Kind::Sync) => Class::Runtime as u8,
        (None, Kind::Python) => PYTHON,
        (None, Kind::Annotation | Kind::GpuAnnotation) => ANNOTATION,
        (None, _) => Class::Other as u8,
    }
}
