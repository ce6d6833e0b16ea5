//! Allocations and frees of each device, and the peaks of its memory (metrics, section 16).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{ADDRESSES_NOT_RECORDED, MEMORY_TOTALS_NOT_RECORDED, NO_MEMORY_EVENTS, NO_TIMES};
use stepscope_runs::{Frame, RunError};

use super::Measuring;

/// What is asked about the events of a device.
pub(crate) const SUMS: &str = "
    count(*) AS events,
    count(*) FILTER (WHERE size_bytes > 0) AS allocations,
    coalesce(sum(size_bytes) FILTER (WHERE size_bytes > 0), 0) AS allocated_bytes,
    count(*) FILTER (WHERE size_bytes < 0) AS frees,
    sum(size_bytes) AS net_bytes,
    greatest(max(level_bytes), 0) AS peak_delta_bytes,
    least(min(level_bytes), 0) AS lowest_delta_bytes,
    max(total_allocated_bytes) AS peak_allocated_bytes,
    first_value(ts_ns ORDER BY total_allocated_bytes DESC NULLS LAST, ts_ns) AS peak_allocated_time_ns,
    max(total_reserved_bytes) AS peak_reserved_bytes,
    count(address) AS addresses,
    count(*) FILTER (WHERE size_bytes < 0 AND size_before_bytes > 0) AS paired,
    count(*) FILTER (WHERE size_bytes < 0 AND coalesce(size_before_bytes, -1) < 0) AS free_without_alloc,
    count(*) FILTER (WHERE size_bytes > 0 AND size_after_bytes IS NULL) AS alloc_without_free";

/// Counts of blocks; known only if every event has an address.
pub(crate) const PAIRINGS: [&str; 3] = ["paired", "free_without_alloc", "alloc_without_free"];

/// Maxima of the totals that newer recordings carry.
const PEAKS: [&str; 2] = ["peak_allocated_bytes", "peak_reserved_bytes"];

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let devices = measuring
        .query(&format!("SELECT device, {SUMS} FROM memory_curve WHERE {{source}} GROUP BY device ORDER BY device"))?;
    if devices.rows() == 0 {
        measuring.missing("memory", NO_MEMORY_EVENTS);
    }
    let mut result = Map::new();
    for (row, device) in devices.text("device")?.into_iter().flatten().enumerate() {
        let figures = figures(measuring, &devices, row, &format!("memory.{device}"))?;
        result.insert(device, figures);
    }
    Ok(Json::Object(result))
}

fn figures(measuring: &mut Measuring<'_>, devices: &Frame, row: usize, path: &str) -> Result<Json, RunError> {
    let get = |name: &str| devices.required_i64(name).map(|values| values[row]);
    let (events, addresses) = (get("events")?, get("addresses")?);
    let (allocated, net) = (get("allocated_bytes")?, get("net_bytes")?);
    let mut figures = json!({
        "events": events,
        "allocations": get("allocations")?,
        "allocated_bytes": allocated,
        "frees": get("frees")?,
        "freed_bytes": allocated.saturating_sub(net),
        "net_bytes": net,
        "peak_delta_bytes": get("peak_delta_bytes")?,
        "lowest_delta_bytes": get("lowest_delta_bytes")?,
        "peak_allocated_time_ns": null,
    });
    for name in PEAKS {
        let peak = devices.i64(name)?[row];
        if peak.is_none() {
            measuring.missing(&format!("{path}.{name}"), MEMORY_TOTALS_NOT_RECORDED);
        }
        figures[name] = Json::from(peak);
    }
    let has_totals = !figures["peak_allocated_bytes"].is_null();
    let time_ns = devices.i64("peak_allocated_time_ns")?[row].filter(|_| has_totals);
    if time_ns.is_none() {
        let reason = if has_totals { NO_TIMES } else { MEMORY_TOTALS_NOT_RECORDED };
        measuring.missing(&format!("{path}.peak_allocated_time_ns"), reason);
    }
    figures["peak_allocated_time_ns"] = Json::from(time_ns);
    for name in PAIRINGS {
        figures[name] = if addresses == events { Json::from(get(name)?) } else { Json::Null };
        if addresses < events {
            measuring.missing(&format!("{path}.{name}"), ADDRESSES_NOT_RECORDED);
        }
    }
    Ok(figures)
}
