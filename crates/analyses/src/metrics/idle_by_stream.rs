//! What each stream waited for between its events (metrics, section 8).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::NO_DEVICE_EVENTS;
use stepscope_runs::RunError;

use super::{Measuring, stream_name};

/// What the streams waited for, a row each. `keys` are columns to tell rows apart besides device and stream, and
/// `condition` says which events and gaps.
pub(crate) fn statement(keys: &str, condition: &str) -> String {
    format!(
        "SELECT {keys}device_id, stream_id, count(*) FILTER (WHERE waits_for = 'event') AS events,
           coalesce(sum(gap_ns) FILTER (WHERE waits_for = 'host_wait'), 0) AS host_wait_ns,
           coalesce(sum(gap_ns) FILTER (WHERE waits_for = 'kernel_wait'), 0) AS kernel_wait_ns,
           coalesce(sum(gap_ns) FILTER (WHERE waits_for = 'other'), 0) AS other_ns,
           coalesce(sum(gap_ns) FILTER (WHERE waits_for = 'unknown'), 0) AS unknown_ns
         FROM (
           SELECT rank, \"window\", device_id, stream_id, step, waits_for, gap_ns FROM stream_gaps WHERE {condition}
           UNION ALL
           SELECT rank, \"window\", device_id, stream_id, step, 'event', 0 FROM device_events WHERE {condition}
         )
         GROUP BY ALL"
    )
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let statement = statement("", "{source}");
    let streams = measuring.query(&format!("{statement} ORDER BY device_id, stream_id"))?;
    if streams.rows() == 0 {
        measuring.missing("idle_by_stream", NO_DEVICE_EVENTS);
    }
    let (devices, ids, events) =
        (streams.i64("device_id")?, streams.i64("stream_id")?, streams.required_i64("events")?);
    let (host_wait, kernel_wait) = (streams.required_i64("host_wait_ns")?, streams.required_i64("kernel_wait_ns")?);
    let (other, unknown) = (streams.required_i64("other_ns")?, streams.required_i64("unknown_ns")?);
    let stream = |row: usize| {
        let figures = json!({
            "events": events[row],
            "host_wait_ns": host_wait[row],
            "kernel_wait_ns": kernel_wait[row],
            "other_ns": other[row],
            "unknown_ns": unknown[row],
        });
        (stream_name(devices[row], ids[row]), figures)
    };
    Ok(Json::Object((0..streams.rows()).map(stream).collect::<Map<_, _>>()))
}
