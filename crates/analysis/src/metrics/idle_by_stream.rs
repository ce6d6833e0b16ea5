//! What each stream waited for between its events (metrics, section 8).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::NO_DEVICE_EVENTS;

use super::{Measuring, stream_name};
use crate::error::AnalysisError;

/// A shorter gap behind a launch that was there in time is what it takes to start a kernel.
const SHORT_GAP_NS: i64 = 30_000;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    // A gap begins where the latest of all earlier events ends.
    let streams = measuring.query(&format!(
        "WITH events AS (SELECT * FROM device_events WHERE {{source}}),
              calls AS (SELECT span_id, start_ns FROM runtime_calls WHERE {{source}}),
              gaps AS (
                SELECT device_id, stream_id, events.start_ns, calls.start_ns AS launch_ns,
                       max(end_ns) OVER (
                         PARTITION BY device_id, stream_id ORDER BY events.start_ns, end_ns, position
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_start_ns
                FROM events LEFT JOIN calls ON calls.span_id = launch_id
              ),
              classes AS (
                SELECT device_id, stream_id, start_ns - gap_start_ns AS gap_ns,
                       CASE WHEN gap_start_ns IS NULL OR start_ns <= gap_start_ns THEN 'none'
                            WHEN launch_ns IS NULL THEN 'unknown'
                            WHEN launch_ns > gap_start_ns THEN 'host_wait'
                            WHEN start_ns - gap_start_ns < {SHORT_GAP_NS} THEN 'kernel_wait'
                            ELSE 'other' END AS class
                FROM gaps
              )
         SELECT device_id, stream_id, count(*) AS events,
                coalesce(sum(gap_ns) FILTER (WHERE class = 'host_wait'), 0) AS host_wait,
                coalesce(sum(gap_ns) FILTER (WHERE class = 'kernel_wait'), 0) AS kernel_wait,
                coalesce(sum(gap_ns) FILTER (WHERE class = 'other'), 0) AS other,
                coalesce(sum(gap_ns) FILTER (WHERE class = 'unknown'), 0) AS unknown
         FROM classes GROUP BY device_id, stream_id"
    ))?;
    if streams.rows() == 0 {
        measuring.missing("idle_by_stream", NO_DEVICE_EVENTS);
    }
    let (devices, ids, events) =
        (streams.i64("device_id")?, streams.i64("stream_id")?, streams.required_i64("events")?);
    let (host_wait, kernel_wait) = (streams.required_i64("host_wait")?, streams.required_i64("kernel_wait")?);
    let (other, unknown) = (streams.required_i64("other")?, streams.required_i64("unknown")?);
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
