//! What has to be known before spans are read: steps, tracks, and the thread of the script.

use stepscope_model::tables::{HEALTH, SPANS, STEPS, TRACKS};
use stepscope_model::{Kind, StepSource};

use super::ReadError;
use super::columns::Tables;
use crate::names::NameFacts;
use crate::recording::{Moment, Recording};
use crate::window::Step;

/// A track of the store.
#[derive(Clone, Debug)]
pub(crate) struct TrackFacts {
    pub track_id: i32,
    pub is_stream: bool,
    pub process: String,
    pub thread: String,
    pub device_id: Option<i64>,
    pub stream_id: Option<i64>,
    pub spans: u64,
    pub first_ns: i64,
    pub last_ns: i64,
}

/// The steps of the recording.
pub(crate) fn steps(tables: &Tables<'_>) -> Result<Vec<Step>, ReadError> {
    let mut steps = Vec::new();
    let columns = ["step", "name", "start_ns", "dur_ns", "host_start_ns", "host_dur_ns", "is_complete"].as_slice();
    tables.each(&STEPS, columns, &[], |rows| {
        let (number, name) = (rows.i32("step")?, rows.text("name")?);
        let (start, dur) = (rows.i64("start_ns")?, rows.i64("dur_ns")?);
        let (host_start, host_dur) = (rows.i64("host_start_ns")?, rows.i64("host_dur_ns")?);
        let is_complete = rows.bool("is_complete")?;
        for row in 0..rows.len() {
            let step = Step {
                name: name.get(row).unwrap_or_default().to_owned(),
                start_ns: start.value(row),
                dur_ns: dur.value(row),
                host_start_ns: host_start.value(row),
                host_dur_ns: host_dur.value(row),
                is_complete: is_complete.value(row),
            };
            steps.push((number.value(row), step));
        }
        Ok(true)
    })?;
    steps.sort_by_key(|(number, _)| *number);
    Ok(steps.into_iter().map(|(_, step)| step).collect())
}

/// Threads and streams, by number.
pub(crate) fn tracks(tables: &Tables<'_>) -> Result<Vec<TrackFacts>, ReadError> {
    let mut tracks = Vec::new();
    let columns = ["track_id", "type", "process", "thread", "device_id", "stream_id", "spans", "first_ns", "last_ns"];
    tables.each(&TRACKS, columns.as_slice(), &[], |rows| {
        let (track_id, kind) = (rows.i32("track_id")?, rows.text("type")?);
        let (process, thread) = (rows.text("process")?, rows.text("thread")?);
        let (device_id, stream_id) = (rows.i64("device_id")?, rows.i64("stream_id")?);
        let (spans, first, last) = (rows.i64("spans")?, rows.i64("first_ns")?, rows.i64("last_ns")?);
        for row in 0..rows.len() {
            if kind.get(row) == Some("async") {
                continue;
            }
            tracks.push(TrackFacts {
                track_id: track_id.value(row),
                is_stream: kind.get(row) == Some("stream"),
                process: process.get(row).unwrap_or("None").to_owned(),
                thread: thread.get(row).unwrap_or("None").to_owned(),
                device_id: device_id.iter().nth(row).flatten(),
                stream_id: stream_id.iter().nth(row).flatten(),
                spans: spans.value(row) as u64,
                first_ns: first.iter().nth(row).flatten().unwrap_or(i64::MAX),
                last_ns: last.iter().nth(row).flatten().unwrap_or(i64::MIN),
            });
        }
        Ok(true)
    })?;
    tracks.sort_by_key(|track| track.track_id);
    Ok(tracks)
}

/// Whether spans of a thread cross each other anywhere, so that a span's parents are not all that is open.
pub(crate) fn has_crossing_spans(tables: &Tables<'_>) -> Result<bool, ReadError> {
    let mut crossing = 0;
    tables.each(&HEALTH, &["name", "value"], &[], |rows| {
        let (name, value) = (rows.text("name")?, rows.i64("value")?);
        let found = (0..rows.len()).find(|row| name.get(*row) == Some("crossing_spans"));
        crossing += found.map_or(0, |row| value.value(row));
        Ok(true)
    })?;
    Ok(crossing > 0)
}

/// The thread of the first mark of a step, wherever that is; `None` without marks.
pub(crate) fn script_thread(
    tables: &Tables<'_>,
    tracks: &[TrackFacts],
    recording: &Recording,
) -> Result<Option<u32>, ReadError> {
    let Some(first) = recording.steps.first() else { return Ok(None) };
    let (from_ns, is_mark): (i64, fn(&NameFacts) -> bool) = match recording.step_source {
        StepSource::ProfilerStep => (first.host_start_ns, |facts| facts.is_profiler_step),
        StepSource::ServingAnnotation => (first.host_start_ns, |facts| facts.is_serving_step),
        // The first step begins where the first call of the optimizer ends.
        StepSource::OptimizerStep => (i64::MIN, |facts| facts.is_optimizer_step),
        // Every annotation of these recordings is a step.
        StepSource::StepNum => (first.host_start_ns, |_| true),
        StepSource::DeviceSteps
        | StepSource::FunctionRun
        | StepSource::ModuleRuns
        | StepSource::WholeTrace
        | StepSource::None => return Ok(None),
    };
    let mut earliest: Option<(Moment, i32)> = None;
    let keys = [("start_ns", from_ns..=first.host_start_ns)];
    tables.each(&SPANS, &["track_id", "position", "kind", "name"], &keys, |rows| {
        let (track, start, position) = (rows.i32("track_id")?, rows.i64("start_ns")?, rows.i64("position")?);
        let (kinds, names) = (rows.kinds()?, rows.text("name")?);
        for row in (0..rows.len()).filter(|row| kinds.get(*row) == Some(Kind::Annotation)) {
            let found = ((start.value(row), position.value(row)), track.value(row));
            if names.get(row).is_some_and(|name| is_mark(&NameFacts::of(name)))
                && earliest.is_none_or(|earliest| found < earliest)
            {
                earliest = Some(found);
            }
        }
        Ok(true)
    })?;
    let place = |(_, track_id)| tracks.iter().position(|track| track.track_id == track_id);
    Ok(earliest.and_then(place).map(|place| place as u32))
}
