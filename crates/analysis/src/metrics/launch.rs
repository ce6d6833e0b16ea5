//! Launches, how long they take to reach the device, and how many wait there (metrics, section 13).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{NO_DEVICE_EVENTS, NO_LAUNCH_CALLS, ZERO_DURATION};

use super::{Measuring, distribution, ratio, stream_name};
use crate::error::AnalysisError;

/// A device cannot start what was not launched; such pairs tell of clocks that disagree.
pub(crate) const IN_ORDER: &str = "latency_ns >= 0";

/// How many launches there are, and of what kinds.
pub(crate) const COUNTS: &str = "
    count(*) AS launches,
    count(*) FILTER (WHERE is_graph) AS graph_launches,
    count(*) FILTER (WHERE latency_ns < 0) AS device_before_launch,
    count(*) FILTER (WHERE device_dur_ns < dur_ns) AS shorter_than_call";

/// Names of runtime functions that are listed, those with the most time first.
const LISTED_CALLS: usize = 20;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let launches = measuring.query(&format!(
        "SELECT {COUNTS}, {}, {}, {} FROM launches WHERE {{source}}",
        distribution::columns("call", "dur_ns", "true"),
        distribution::columns("latency", "latency_ns", IN_ORDER),
        distribution::columns("delay", "delay_ns", IN_ORDER),
    ))?;
    let count = |name: &str| launches.required_i64(name).map(|values| values.first().copied().unwrap_or(0));
    let figures = |prefix: &str| distribution::figures(&launches, prefix).map(|rows| rows.into_iter().flatten().next());
    let distributions = [
        ("call_duration", figures("call")?),
        ("launch_latency", figures("latency")?),
        ("launch_delay", figures("delay")?),
    ];
    let mut result = json!({
        "launches": count("launches")?,
        "graph_launches": count("graph_launches")?,
        "device_before_launch": count("device_before_launch")?,
        "shorter_than_call": count("shorter_than_call")?,
        "runtime_calls": runtime_calls(measuring)?,
        "queue_length": queue_lengths(measuring)?,
    });
    for (name, figures) in distributions {
        if figures.is_none() {
            let reason = if has_device_events(measuring)? { NO_LAUNCH_CALLS } else { NO_DEVICE_EVENTS };
            measuring.missing(&format!("launch.{name}"), reason);
        }
        result[name] = figures.map_or(Json::Null, Json::Object);
    }
    Ok(result)
}

fn has_device_events(measuring: &Measuring<'_>) -> Result<bool, AnalysisError> {
    let any = measuring.query("SELECT span_id FROM device_events WHERE {source} LIMIT 1")?;
    Ok(any.rows() > 0)
}

/// The functions of the runtime by the time spent in them.
fn runtime_calls(measuring: &Measuring<'_>) -> Result<Json, AnalysisError> {
    let calls = measuring.query(&format!(
        "SELECT name, {} FROM runtime_calls WHERE {{source}} GROUP BY name ORDER BY dur_total DESC, name LIMIT {LISTED_CALLS}",
        distribution::columns("dur", "dur_ns", "true")
    ))?;
    let names = calls.text("name")?.into_iter();
    let rows = names.zip(distribution::figures(&calls, "dur")?).filter_map(|(name, figures)| {
        let mut row = figures?;
        row.insert("name".to_owned(), Json::from(name));
        Some(Json::Object(row))
    });
    Ok(Json::Array(rows.collect()))
}

/// How many launches wait for each stream of a recording: one more when a call starts, one less when its work does.
/// Every launch waits for its latency, so the sum of these is the area below the curve.
pub(crate) fn queues(condition: &str) -> String {
    format!(
        "WITH changes AS (
           SELECT rank, \"window\", device_id, stream_id, latency_ns,
             unnest(make_array(start_ns, device_start_ns)) AS time_ns, unnest(make_array(1, -1)) AS change
           FROM launches WHERE {condition} AND {IN_ORDER}
         ),
         curve AS (
           SELECT rank, \"window\", device_id, stream_id, time_ns, change, latency_ns,
             sum(change) OVER (
               PARTITION BY rank, \"window\", device_id, stream_id ORDER BY time_ns, change
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS waiting
           FROM changes
         )
         SELECT rank, \"window\", device_id, stream_id, max(waiting) AS longest,
           sum(latency_ns) FILTER (WHERE change = 1) AS area, max(time_ns) - min(time_ns) AS length_ns
         FROM curve GROUP BY rank, \"window\", device_id, stream_id"
    )
}

fn queue_lengths(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let queues = measuring.query(&queues("{source}"))?;
    let (devices, streams, longest) =
        (queues.i64("device_id")?, queues.i64("stream_id")?, queues.required_i64("longest")?);
    let (areas, lengths) = (queues.required_i64("area")?, queues.required_i64("length_ns")?);
    let mut result = Map::new();
    for (row, longest) in longest.into_iter().enumerate() {
        let name = stream_name(devices[row], streams[row]);
        if lengths[row] == 0 {
            measuring.missing(&format!("launch.queue_length.{name}.time_weighted_mean"), ZERO_DURATION);
        }
        let mean = ratio(areas[row] as f64, lengths[row]);
        result.insert(name, json!({ "max": longest, "time_weighted_mean": mean }));
    }
    Ok(Json::Object(result))
}
