//! Runtime calls before the window that waits in it go back to, and the waits that the profiler recorded.

use arrow::array::Array;
use serde_json::Value;
use stepscope_model::Kind;
use stepscope_model::tables::SPANS;

use super::ReadError;
use super::columns::Tables;
use crate::names::{CallRole, NameFacts};
use crate::recording::{RecordedWait, Recording, RuntimeCall, Stream};

/// Fills in recorded waits and earlier calls.
pub(crate) fn read(tables: &Tables<'_>, recording: &mut Recording) -> Result<(), ReadError> {
    let categories = tables.source.events_by_phase_and_category.keys();
    if categories.filter_map(|key| key.split_once('|')).any(|(_, category)| Kind::from_category(category) == Kind::Sync)
    {
        read_waits(tables, recording)?;
    }
    let Some(from_ns) = first_call_of_interest(recording) else { return Ok(()) };
    let has_waits = !recording.waits.is_empty();
    let keys = [("start_ns", from_ns..=recording.window.start_ns.saturating_sub(1))];
    tables.each(&SPANS, &["position", "kind", "name", "correlation"], &keys, |rows| {
        let (start, position) = (rows.i64("start_ns")?, rows.i64("position")?);
        let (correlation, kinds, names) = (rows.i64("correlation")?, rows.kinds()?, rows.text("name")?);
        for row in (0..rows.len()).filter(|row| kinds.get(*row) == Some(Kind::Runtime)) {
            let is_stream_wait = names.get(row).is_some_and(|name| NameFacts::of(name).role == CallRole::StreamWait);
            if is_stream_wait || has_waits {
                recording.earlier_calls.push(RuntimeCall {
                    start_ns: start.value(row),
                    position: position.value(row),
                    correlation: if correlation.is_valid(row) { correlation.value(row) } else { 0 },
                    is_stream_wait,
                });
            }
        }
        Ok(true)
    })
}

/// When the first call that can matter began; `None` if none before the window can. A stream waits between two of its
/// launches, so the last launch before the window is far enough; recorded waits may name any call.
fn first_call_of_interest(recording: &Recording) -> Option<i64> {
    if !recording.waits.is_empty() {
        return Some(i64::MIN);
    }
    let window = &recording.window;
    let devices: Vec<_> = recording.streams.iter().map(|stream| stream.device_id).collect();
    let has_neighbor = |stream: usize| devices.iter().filter(|device| **device == devices[stream]).count() > 1;
    let mut last_before = vec![i64::MIN; devices.len()];
    let mut is_used = vec![false; devices.len()];
    for event in &recording.events {
        let Some(call) = recording.launch_of(event) else { continue };
        let stream = event.stream as usize;
        if window.has_start(call.start_ns) {
            is_used[stream] = true;
        } else if call.start_ns < window.start_ns {
            last_before[stream] = last_before[stream].max(call.start_ns);
        }
    }
    let streams = (0..devices.len()).filter(|&stream| is_used[stream] && has_neighbor(stream));
    streams.map(|stream| last_before[stream]).min()
}

/// Reads the waits: first where they are, as most rows have other arguments, then their arguments.
fn read_waits(tables: &Tables<'_>, recording: &mut Recording) -> Result<(), ReadError> {
    let mut ids = Vec::new();
    tables.each(&SPANS, &["span_id", "kind"], &[], |rows| {
        let (span_id, kinds) = (rows.i64("span_id")?, rows.kinds()?);
        ids.extend((0..rows.len()).filter(|row| kinds.get(*row) == Some(Kind::Sync)).map(|row| span_id.value(row)));
        Ok(true)
    })?;
    let columns = ["span_id", "position", "kind", "name", "correlation", "device_id", "stream_id", "args"];
    for near in ids.chunk_by(|a, b| b - a < 4096) {
        let keys = [("span_id", near[0]..=near[near.len() - 1])];
        tables.each(&SPANS, &columns, &keys, |rows| {
            let (position, kinds, names) = (rows.i64("position")?, rows.kinds()?, rows.text("name")?);
            let (correlation, args) = (rows.i64("correlation")?, rows.text("args")?);
            let (device, stream) = (rows.i64("device_id")?, rows.i64("stream_id")?);
            let cell = |column: &arrow::array::Int64Array, row| column.is_valid(row).then(|| column.value(row));
            for row in (0..rows.len()).filter(|row| kinds.get(*row) == Some(Kind::Sync)) {
                let args: Value = args.get(row).and_then(|args| serde_json::from_str(args).ok()).unwrap_or_default();
                // 0 is not a number here: no call has the correlation 0, and a stream 0 that was meant is found by the
                // calls and times as well.
                let resolved = |key: &str| args.get(key).and_then(Value::as_i64).filter(|number| *number > 0);
                recording.waits.push(RecordedWait {
                    position: position.value(row),
                    correlation: cell(correlation, row).unwrap_or(0),
                    is_stream_wait: names.get(row) == Some("Stream Wait Event"),
                    stream: Stream { device_id: cell(device, row), stream_id: cell(stream, row) },
                    awaited_stream_id: resolved("wait_on_stream"),
                    record_correlation: resolved("wait_on_cuda_event_record_corr_id"),
                });
            }
            Ok(true)
        })?;
    }
    Ok(())
}
