//! Device events of a recording, and the calls that launched them.

use std::ops::RangeInclusive;

use arrow::array::Array;
use stepscope_model::tables::{LAUNCHES, SPANS};

use super::ReadError;
use super::columns::{Columns, NameReader, Places, Tables};
use super::facts::TrackFacts;
use crate::recording::{DeviceEvent, LaunchCall, Recording, Stream};

const COLUMNS: [&str; 12] = [
    "span_id",
    "track_id",
    "start_ns",
    "dur_ns",
    "position",
    "kind",
    "name",
    "launch_id",
    "operator_id",
    "comm_rule",
    "device_id",
    "stream_id",
];

/// Fills in the events, their streams and the calls that launched them. Where not all can be taken, those that start in
/// the window or after it.
pub(crate) fn read(
    tables: &Tables<'_>,
    tracks: &[TrackFacts],
    takes_all: bool,
    recording: &mut Recording,
) -> Result<(), ReadError> {
    let mut reader = EventReader { tracks, names: NameReader::default(), streams: Places::new(), launches: Vec::new() };
    for track_ids in stream_tracks(tracks) {
        let mut keys = vec![("track_id", track_ids)];
        if !takes_all {
            keys.push(("start_ns", recording.window.start_ns..=i64::MAX));
        }
        tables.each(&SPANS, &COLUMNS, &keys, |rows| reader.add(rows, recording).map(|()| true))?;
    }
    recording.streams = reader.streams.into_list();
    link(tables, tracks, &reader.launches, recording)
}

/// Ranges of tracks that follow each other and have device work.
fn stream_tracks(tracks: &[TrackFacts]) -> Vec<RangeInclusive<i64>> {
    let streams: Vec<i64> =
        tracks.iter().filter(|track| track.is_stream).map(|track| i64::from(track.track_id)).collect();
    streams.chunk_by(|a, b| a + 1 == *b).map(|chunk| chunk[0]..=chunk[chunk.len() - 1]).collect()
}

struct EventReader<'a> {
    tracks: &'a [TrackFacts],
    names: NameReader,
    streams: Places<Stream>,
    /// For each event its launch and its operator, by their numbers in the table; −1 for none.
    launches: Vec<(i64, i64)>,
}

impl EventReader<'_> {
    fn add(&mut self, rows: &Columns<'_>, recording: &mut Recording) -> Result<(), ReadError> {
        let (span_id, track_id) = (rows.i64("span_id")?, rows.i32("track_id")?);
        let (start, dur, position) = (rows.i64("start_ns")?, rows.i64("dur_ns")?, rows.i64("position")?);
        let (launch, operator) = (rows.i64("launch_id")?, rows.i64("operator_id")?);
        let (device, stream) = (rows.i64("device_id")?, rows.i64("stream_id")?);
        let (kinds, rules) = (rows.kinds()?, rows.text("comm_rule")?);
        let names = self.names.names(rows, &mut recording.names)?;
        let unnamed = recording.names.intern("");
        let cell = |column: &arrow::array::Int64Array, row| column.is_valid(row).then(|| column.value(row));
        for row in 0..rows.len() {
            let Some(kind) = kinds.get(row).filter(|kind| kind.is_device()) else { continue };
            let (device_id, stream_id) = (cell(device, row), cell(stream, row));
            let track = (device_id.is_none() || stream_id.is_none()).then(|| self.track(track_id.value(row))).flatten();
            let stream = Stream {
                device_id: device_id.or_else(|| track?.device_id),
                stream_id: stream_id.or_else(|| track?.stream_id),
            };
            recording.events.push(DeviceEvent {
                start_ns: start.value(row),
                dur_ns: dur.value(row),
                position: position.value(row),
                span_id: span_id.value(row),
                name: names.get(row).unwrap_or(unnamed),
                stream: self.streams.of(stream),
                launch: None,
                operator: None,
                kind,
                is_communication: rules.get(row).is_some(),
            });
            self.launches.push((cell(launch, row).unwrap_or(-1), cell(operator, row).unwrap_or(-1)));
        }
        Ok(())
    }

    fn track(&self, track_id: i32) -> Option<&TrackFacts> {
        let place = self.tracks.binary_search_by_key(&track_id, |track| track.track_id).ok()?;
        self.tracks.get(place)
    }
}

/// Reads the calls that launched the events, and refers to them by their places.
fn link(
    tables: &Tables<'_>,
    tracks: &[TrackFacts],
    launches: &[(i64, i64)],
    recording: &mut Recording,
) -> Result<(), ReadError> {
    let mut wanted: Vec<i64> = launches.iter().map(|(launch, _)| *launch).filter(|id| *id >= 0).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else { return Ok(()) };
    // The table of launches is among the sums, which may have been left out.
    let table = if tables.rows(&LAUNCHES) > 0 { &LAUNCHES } else { &SPANS };
    let mut found = Vec::with_capacity(wanted.len());
    let mut next = 0;
    let columns = ["track_id", "start_ns", "dur_ns"];
    tables.each(table, &columns, &[("span_id", first..=last)], |rows| {
        let (span_id, track_id) = (rows.i64("span_id")?, rows.i32("track_id")?);
        let (start, dur) = (rows.i64("start_ns")?, rows.i64("dur_ns")?);
        for row in 0..rows.len() {
            // Both are in the order of the numbers.
            while wanted.get(next).is_some_and(|wanted| *wanted < span_id.value(row)) {
                next += 1;
            }
            if wanted.get(next) != Some(&span_id.value(row)) {
                continue;
            }
            let thread = tracks.binary_search_by_key(&track_id.value(row), |track| track.track_id).unwrap_or(0) as u32;
            let call = LaunchCall {
                start_ns: start.value(row),
                dur_ns: dur.value(row),
                position: span_id.value(row),
                thread,
                span: None,
            };
            found.push((span_id.value(row), call));
        }
        Ok(true)
    })?;
    let spans = SpanPlaces::new(recording);
    for (span_id, call) in &mut found {
        call.span = spans.place(*span_id);
        if let Some(place) = call.span {
            call.position = recording.spans[place as usize].position;
        }
    }
    let mut near = 0;
    for (event, (launch, operator)) in recording.events.iter_mut().zip(launches) {
        event.operator = spans.place(*operator);
        if *launch < 0 {
            continue;
        }
        // Events of a stream mostly come in the order of their launches.
        let is_next = found.get(near).is_some_and(|(span_id, _)| span_id == launch);
        let place = if is_next { Ok(near) } else { found.binary_search_by_key(launch, |(span_id, _)| *span_id) };
        if let Ok(place) = place {
            event.launch = Some(place as u32);
            near = place + 1;
        }
    }
    recording.calls = found.into_iter().map(|(_, call)| call).collect();
    Ok(())
}

/// Finds host spans by their number in the table: places by number.
struct SpanPlaces(Vec<(i64, u32)>);

impl SpanPlaces {
    fn new(recording: &Recording) -> Self {
        let mut places: Vec<(i64, u32)> =
            recording.spans.iter().enumerate().map(|(place, span)| (span.span_id, place as u32)).collect();
        places.sort_unstable();
        Self(places)
    }

    fn place(&self, span_id: i64) -> Option<u32> {
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        if span_id < first || span_id > last {
            return None;
        }
        self.0.binary_search_by_key(&span_id, |(span_id, _)| *span_id).ok().map(|found| self.0[found].1)
    }
}
