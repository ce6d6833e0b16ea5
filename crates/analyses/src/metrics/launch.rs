//! Launches, how long they take to reach the device, and how many wait there (metrics, section 13).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{NO_DEVICE_EVENTS, NO_LAUNCH_CALLS, NO_ROLLUPS, ZERO_DURATION};
use stepscope_runs::RunError;

use super::{Measuring, distribution, ratio, stream_name};
use crate::launch_queue::{self, IN_ORDER, Queues};

/// How many launches there are, and of what kinds.
pub(crate) const COUNTS: &str = "
    count(*) AS launches,
    count(*) FILTER (WHERE is_graph) AS graph_launches,
    count(*) FILTER (WHERE latency_ns < 0) AS device_before_launch,
    count(*) FILTER (WHERE device_dur_ns < dur_ns) AS shorter_than_call";

/// Names of runtime functions that are listed, most time first.
const LISTED_CALLS: usize = 20;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
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
    let has_device = has_device_events(measuring)?;
    let is_left_out = has_device && measuring.source.are_sums_left_out();
    if is_left_out {
        for name in ["launches", "graph_launches", "device_before_launch", "shorter_than_call", "queue_length"] {
            measuring.missing(&format!("launch.{name}"), NO_ROLLUPS);
            result[name] = Json::Null;
        }
    }
    for (name, figures) in distributions {
        if figures.is_none() {
            let reason = match (is_left_out, has_device) {
                (true, _) => NO_ROLLUPS,
                (_, true) => NO_LAUNCH_CALLS,
                _ => NO_DEVICE_EVENTS,
            };
            measuring.missing(&format!("launch.{name}"), reason);
        }
        result[name] = figures.map_or(Json::Null, Json::Object);
    }
    Ok(result)
}

fn has_device_events(measuring: &Measuring<'_>) -> Result<bool, RunError> {
    let any = measuring.query("SELECT span_id FROM device_events WHERE {source} LIMIT 1")?;
    Ok(any.rows() > 0)
}

/// The functions of the runtime by the time spent in them.
fn runtime_calls(measuring: &Measuring<'_>) -> Result<Json, RunError> {
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

fn queue_lengths(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let mut queues = Queues::default();
    measuring.walk(&launch_queue::statement("{source}"), |rows| queues.take(rows))?;
    let mut result = Map::new();
    for (place, queue) in queues.follow() {
        let name = stream_name(place.device, place.stream);
        if queue.length_ns == 0 {
            measuring.missing(&format!("launch.queue_length.{name}.time_weighted_mean"), ZERO_DURATION);
        }
        let mean = ratio(queue.area as f64, queue.length_ns);
        result.insert(name, json!({ "max": queue.longest, "time_weighted_mean": mean }));
    }
    Ok(Json::Object(result))
}
