//! Host spans that touch a window.

use std::collections::HashSet;

use stepscope_model::tables::SPANS;

use super::ReadError;
use super::columns::{Columns, NameReader, Tables};
use super::facts::{TrackFacts, has_crossing_spans};
use crate::recording::{HostSpan, Recording, Thread};
use crate::window::Window;

const COLUMNS: [&str; 8] = ["span_id", "track_id", "start_ns", "dur_ns", "position", "kind", "name", "correlation"];

/// How far before the window a thread is first looked at for spans that run into it; then twice as far, and so on.
const FIRST_LOOK_NS: i64 = 1_000_000;

/// The threads and the host spans of a window; `None` if there are more spans than may be taken. Threads have the places
/// of tracks.
pub(crate) fn read(
    tables: &Tables<'_>,
    tracks: &[TrackFacts],
    window: &Window,
    most: usize,
) -> Result<Option<Recording>, ReadError> {
    let mut recording = Recording {
        threads: tracks
            .iter()
            .map(|track| Thread { process: track.process.clone(), thread: track.thread.clone() })
            .collect(),
        ..Recording::default()
    };
    let mut reader = SpanReader { tracks, names: NameReader::default() };
    let keys = [("start_ns", window.start_ns..=window.end_ns)];
    tables.each(&SPANS, &COLUMNS, &keys, |rows| {
        reader.add(rows, &mut recording, |_| true)?;
        Ok(recording.spans.len() <= most)
    })?;
    if recording.spans.len() > most {
        return Ok(None);
    }
    let is_crossed = has_crossing_spans(tables)?;
    for track in tracks.iter().filter(|track| track.first_ns < window.start_ns && track.last_ns >= window.start_ns) {
        if is_crossed {
            let keys = [track_key(track), ("start_ns", i64::MIN..=window.start_ns - 1)];
            reader.add_all(tables, &keys, window, &mut recording)?;
        } else {
            reader.add_open(tables, track, window, &mut recording)?;
        }
    }
    recording.spans.sort_unstable_by_key(|span| (span.thread, span.span_id));
    Ok(Some(recording))
}

fn track_key(track: &TrackFacts) -> stepscope_store::Key {
    let track_id = i64::from(track.track_id);
    ("track_id", track_id..=track_id)
}

struct SpanReader<'a> {
    tracks: &'a [TrackFacts],
    names: NameReader,
}

impl SpanReader<'_> {
    /// Adds the host spans among some rows that fit.
    fn add(
        &mut self,
        rows: &Columns<'_>,
        recording: &mut Recording,
        fits: impl Fn(&HostSpan) -> bool,
    ) -> Result<(), ReadError> {
        let (span_id, track_id) = (rows.i64("span_id")?, rows.i32("track_id")?);
        let (start, dur, position) = (rows.i64("start_ns")?, rows.i64("dur_ns")?, rows.i64("position")?);
        let (kinds, correlation) = (rows.kinds()?, rows.i64("correlation")?);
        let names = self.names.names(rows, &mut recording.names)?;
        let unnamed = recording.names.intern("");
        let mut thread = (i32::MIN, None);
        for row in 0..rows.len() {
            let Some(kind) = kinds.get(row).filter(|kind| kind.is_host()) else { continue };
            if thread.0 != track_id.value(row) {
                thread = (track_id.value(row), self.thread(track_id.value(row)));
            }
            let Some(thread) = thread.1 else { continue };
            let span = HostSpan {
                start_ns: start.value(row),
                dur_ns: dur.value(row),
                position: position.value(row),
                span_id: span_id.value(row),
                correlation: if arrow::array::Array::is_valid(correlation, row) { correlation.value(row) } else { 0 },
                name: names.get(row).unwrap_or(unnamed),
                thread,
                kind,
            };
            if fits(&span) {
                recording.spans.push(span);
            }
        }
        Ok(())
    }

    /// Adds the spans with these keys that end in the window or after it.
    fn add_all(
        &mut self,
        tables: &Tables<'_>,
        keys: &[stepscope_store::Key],
        window: &Window,
        recording: &mut Recording,
    ) -> Result<(), ReadError> {
        tables.each(&SPANS, &COLUMNS, keys, |rows| {
            self.add(rows, recording, |span| span.end_ns() >= window.start_ns)?;
            Ok(true)
        })
    }

    /// Adds the spans of a thread that run into the window: the last one before it, and those around that.
    fn add_open(
        &mut self,
        tables: &Tables<'_>,
        track: &TrackFacts,
        window: &Window,
        recording: &mut Recording,
    ) -> Result<(), ReadError> {
        let mut look_ns = FIRST_LOOK_NS;
        let mut last = None;
        while last.is_none() {
            let from_ns = window.start_ns.saturating_sub(look_ns);
            let keys = [track_key(track), ("start_ns", from_ns..=window.start_ns - 1)];
            tables.each(&SPANS, &["span_id", "kind", "parent_id"], &keys, |rows| {
                last = last_host_span(rows)?.or(last);
                Ok(true)
            })?;
            if from_ns <= track.first_ns {
                break;
            }
            look_ns = look_ns.saturating_mul(4);
        }
        let mut seen = HashSet::new();
        let mut next = last.map(|(span_id, _)| span_id);
        while let Some(span_id) = next.take().filter(|span_id| seen.insert(*span_id)) {
            let keys = [("span_id", span_id..=span_id)];
            self.add_all(tables, &keys, window, recording)?;
            tables.each(&SPANS, &["span_id", "kind", "parent_id"], &keys, |rows| {
                // The page of the row may come in several batches, of which one has it.
                next = next.or(last_host_span(rows)?.and_then(|(_, parent_id)| parent_id));
                Ok(true)
            })?;
        }
        Ok(())
    }

    fn thread(&self, track_id: i32) -> Option<u32> {
        self.tracks.binary_search_by_key(&track_id, |track| track.track_id).ok().map(|place| place as u32)
    }
}

/// The last host span among some rows, and its parent.
fn last_host_span(rows: &Columns<'_>) -> Result<Option<(i64, Option<i64>)>, ReadError> {
    let (span_id, parent_id, kinds) = (rows.i64("span_id")?, rows.i64("parent_id")?, rows.kinds()?);
    let last = (0..rows.len()).rev().find(|row| kinds.get(*row).is_some_and(stepscope_model::Kind::is_host));
    Ok(last.map(|row| {
        let parent = arrow::array::Array::is_valid(parent_id, row).then(|| parent_id.value(row));
        (span_id.value(row), parent)
    }))
}
