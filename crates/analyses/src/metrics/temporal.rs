//! Where device time goes between the first and the last device event (metrics, section 8).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{NO_COMMUNICATION, NO_DEVICE_EVENTS};
use stepscope_runs::{Frame, RunError};

use super::{Measuring, ratio};

/// Lengths of unions of classes. Every other figure is a difference of two of them.
const UNIONS: &str = "
    min(start_ns) AS first_ns,
    max(end_ns) AS last_ns,
    union_length(start_ns, end_ns) AS busy,
    union_length(start_ns, end_ns) FILTER (WHERE class = 'compute') AS compute,
    union_length(start_ns, end_ns) FILTER (WHERE class = 'communication') AS comm,
    union_length(start_ns, end_ns) FILTER (WHERE class = 'memcpy') AS memcpy,
    union_length(start_ns, end_ns) FILTER (WHERE class = 'memset') AS memset,
    union_length(start_ns, end_ns) FILTER (WHERE class IN ('compute', 'communication')) AS compute_comm,
    union_length(start_ns, end_ns) FILTER (WHERE class <> 'memset') AS all_but_memset,
    union_length(start_ns, end_ns) FILTER (WHERE class IN ('compute', 'memset')) AS compute_memset,
    union_length(start_ns, end_ns) FILTER (WHERE class <> 'memcpy') AS all_but_memcpy";

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let all = measuring.query(&format!("SELECT count(*) AS events, {UNIONS} FROM device_events WHERE {{source}}"))?;
    if all.required_i64("events")?.first() == Some(&0) {
        measuring.missing("temporal.all", NO_DEVICE_EVENTS);
        return Ok(json!({ "all": null, "per_device": {} }));
    }
    let by_device = measuring.query(&format!(
        "SELECT device_id, {UNIONS} FROM device_events WHERE {{source}} GROUP BY device_id ORDER BY device_id"
    ))?;
    let mut per_device = Map::new();
    for (row, device) in by_device.i64("device_id")?.into_iter().enumerate() {
        let device = device.map_or_else(|| "None".to_owned(), |device| device.to_string());
        let figures = figures(measuring, &by_device, row, &format!("temporal.per_device.{device}"))?;
        per_device.insert(device, figures);
    }
    Ok(json!({ "all": figures(measuring, &all, 0, "temporal.all")?, "per_device": per_device }))
}

fn figures(measuring: &mut Measuring<'_>, frame: &Frame, row: usize, path: &str) -> Result<Json, RunError> {
    let get = |name: &str| frame.required_i64(name).map(|values| values[row]);
    let (first, last, busy) = (get("first_ns")?, get("last_ns")?, get("busy")?);
    let (compute, comm, memcpy, memset) = (get("compute")?, get("comm")?, get("memcpy")?, get("memset")?);
    let (compute_comm, compute_memset) = (get("compute_comm")?, get("compute_memset")?);
    let (all_but_memset, all_but_memcpy) = (get("all_but_memset")?, get("all_but_memcpy")?);
    let overlap = compute + comm - compute_comm;
    if comm == 0 {
        measuring.missing(&format!("{path}.comm_compute_overlap_ratio"), NO_COMMUNICATION);
    }
    Ok(json!({
        "window_start_ns": first,
        "window_ns": last - first,
        "busy_ns": busy,
        "idle_ns": last - first - busy,
        "compute_ns": compute,
        "communication_ns": comm,
        "memcpy_ns": memcpy,
        "memset_ns": memset,
        "exposed_communication_ns": compute_comm - compute,
        "exposed_memcpy_ns": all_but_memset - compute_comm,
        "exposed_memset_ns": busy - all_but_memset,
        "comm_compute_overlap_ns": overlap,
        "comm_compute_overlap_ratio": ratio(overlap as f64, comm),
        "memset_as_compute": {
            "compute_ns": compute_memset,
            "exposed_communication_ns": all_but_memcpy - compute_memset,
            "exposed_memcpy_ns": busy - all_but_memcpy,
        },
    }))
}
