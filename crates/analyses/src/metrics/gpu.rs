//! Utilization of each device over the complete steps, and the estimates behind it (metrics, section 7).

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{
    NO_COMPLETE_STEP, NO_DEVICE_EVENTS, NO_ROLLUPS, NOT_ON_THIS_VENDOR, ZERO_DURATION, argument_not_recorded,
};
use stepscope_runs::{Frame, RunError};

use super::{Measuring, ratio};
use crate::tensor_cores::TensorCoreNames;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let rows = measuring.query("SELECT * FROM step_devices WHERE {source} AND step IS NULL ORDER BY device_id")?;
    if rows.rows() == 0 {
        measuring.missing("gpu", why_missing(measuring)?);
        return Ok(json!({}));
    }
    let kernels = measuring.query(
        "SELECT device_id, name, sum(total_ns) AS total_ns FROM kernel_rollup WHERE {source} GROUP BY device_id, name",
    )?;
    let mut result = Map::new();
    for (row, device) in rows.i64("device_id")?.into_iter().enumerate() {
        let name = device.map_or_else(|| "None".to_owned(), |device| device.to_string());
        let path = format!("gpu.{name}");
        let mut figures = window_figures(measuring, &rows, row, &path)?;
        let (bound, listed) = tensor_cores(measuring, device, &kernels, &path)?;
        figures["tensor_core_lower_bound_ratio"] = bound;
        figures["tensor_core_tb_list_ratio"] = listed;
        result.insert(name, figures);
    }
    Ok(Json::Object(result))
}

fn why_missing(measuring: &Measuring<'_>) -> Result<&'static str, RunError> {
    let any = measuring.query("SELECT span_id FROM device_events WHERE {source} LIMIT 1")?;
    Ok(match (any.rows(), measuring.source.are_sums_left_out()) {
        (0, _) => NO_DEVICE_EVENTS,
        (_, true) => NO_ROLLUPS,
        _ => NO_COMPLETE_STEP,
    })
}

/// The figures of a device over the complete steps.
fn window_figures(measuring: &mut Measuring<'_>, rows: &Frame, row: usize, path: &str) -> Result<Json, RunError> {
    let integer = |name: &str| rows.required_i64(name).map(|values| values[row]);
    let float = |name: &str| rows.f64(name).map(|values| values[row].unwrap_or(0.0));
    let (start, end) = (integer("start_ns")?, integer("end_ns")?);
    let length = end - start;
    let (kernel_ns, with_blocks) = (integer("kernel_ns")?, integer("with_blocks_per_sm_ns")?);
    let with_occupancy = integer("with_occupancy_ns")?;
    for figure in ["blocks_per_sm_coverage_ratio", "occupancy_coverage_ratio"].into_iter().filter(|_| kernel_ns == 0) {
        measuring.missing(&format!("{path}.{figure}"), ZERO_DURATION);
    }
    let device = rows.i64("device_id")?[row];
    let not_recorded = |measuring: &Measuring<'_>, argument: &str| {
        if is_tpu(measuring, device) { NOT_ON_THIS_VENDOR.to_owned() } else { argument_not_recorded(argument) }
    };
    if with_blocks == 0 {
        let reason = not_recorded(measuring, "blocks per SM");
        measuring.missing(&format!("{path}.est_sm_efficiency_ratio"), reason);
    }
    if with_occupancy == 0 {
        let reason = not_recorded(measuring, "est. achieved occupancy %");
        measuring.missing(&format!("{path}.est_achieved_occupancy_ratio"), reason);
    }
    Ok(json!({
        "window_start_ns": start,
        "window_end_ns": end,
        "kernel_busy_ns": integer("kernel_busy_ns")?,
        "gpu_utilization_ratio": ratio(integer("kernel_busy_ns")? as f64, length),
        "gpu_busy_ratio": ratio(integer("busy_ns")? as f64, length),
        "est_sm_efficiency_ratio": if with_blocks == 0 { Json::Null } else { ratio(float("sm_busy_ns")?, length) },
        "blocks_per_sm_coverage_ratio": ratio(with_blocks as f64, kernel_ns),
        "est_achieved_occupancy_ratio": ratio(float("occupancy_ns")?, with_occupancy),
        "occupancy_coverage_ratio": ratio(with_occupancy as f64, kernel_ns),
    }))
}

fn is_tpu(measuring: &Measuring<'_>, device: Option<i64>) -> bool {
    let mut devices = measuring.source.devices.iter().flatten();
    devices.any(|known| known.id == device && known.name.as_deref().is_some_and(|name| name.contains("TPU")))
}

/// Share of kernel time whose names say tensor cores: by both lists, and by the older one alone.
fn tensor_cores(
    measuring: &mut Measuring<'_>,
    device: Option<i64>,
    kernels: &Frame,
    path: &str,
) -> Result<(Json, Json), RunError> {
    let (devices, times) = (kernels.i64("device_id")?, kernels.required_i64("total_ns")?);
    let of_device = kernels.text("name")?.into_iter().zip(times).zip(devices).filter(|(_, of)| *of == device);
    let tensor_cores = TensorCoreNames::new()?;
    let (mut all, mut listed, mut matched) = (0, 0, 0);
    for ((name, time), _) in of_device {
        let name = name.unwrap_or_default();
        let is_listed = TensorCoreNames::are_listed(&name);
        all += time;
        listed += if is_listed { time } else { 0 };
        matched += if tensor_cores.are_used(&name) { time } else { 0 };
    }
    let properties =
        measuring.source.devices.iter().flatten().find(|properties| device.is_some() && properties.id == device);
    let has_none = properties.and_then(|properties| properties.compute_major).is_some_and(|major| major < 7)
        || is_tpu(measuring, device);
    for figure in ["tensor_core_lower_bound_ratio", "tensor_core_tb_list_ratio"].into_iter().filter(|_| all == 0) {
        measuring.missing(&format!("{path}.{figure}"), ZERO_DURATION);
    }
    if has_none {
        measuring.missing(&format!("{path}.tensor_core_lower_bound_ratio"), NOT_ON_THIS_VENDOR);
    }
    let bound = if has_none { Json::Null } else { ratio(matched as f64, all) };
    Ok((bound, ratio(listed as f64, all)))
}
