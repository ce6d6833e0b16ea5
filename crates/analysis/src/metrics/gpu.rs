//! Utilisation of each device over the complete steps, and the estimates behind it (metrics, section 7).

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{NO_COMPLETE_STEP, NO_DEVICE_EVENTS, NOT_ON_THIS_VENDOR, argument_not_recorded};

use super::{Measuring, ratio, steps};
use crate::error::AnalysisError;
use crate::tensor_cores::TensorCoreNames;

/// A kernel clipped to the window.
struct Kernel {
    start: i64,
    end: i64,
    blocks_per_sm: Option<f64>,
    occupancy_percent: Option<f64>,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let steps = steps::read(measuring)?;
    let complete = || steps.iter().filter(|step| step.is_complete);
    let window = complete().next().map(|step| step.start_ns).zip(complete().map(|step| step.end_ns).max());
    let devices = measuring
        .query("SELECT DISTINCT device_id FROM device_events WHERE {source} ORDER BY device_id")?
        .i64("device_id")?;
    let Some((start, end)) = window.filter(|_| !devices.is_empty()) else {
        measuring.missing("gpu", if devices.is_empty() { NO_DEVICE_EVENTS } else { NO_COMPLETE_STEP });
        return Ok(json!({}));
    };
    let mut result = Map::new();
    for device in devices {
        let name = device.map_or_else(|| "None".to_owned(), |device| device.to_string());
        let figures = measure_device(measuring, device, &format!("gpu.{name}"), start, end)?;
        result.insert(name, figures);
    }
    Ok(Json::Object(result))
}

fn measure_device(
    measuring: &mut Measuring<'_>,
    device: Option<i64>,
    path: &str,
    start: i64,
    end: i64,
) -> Result<Json, AnalysisError> {
    let condition = device.map_or_else(|| "device_id IS NULL".to_owned(), |device| format!("device_id = {device}"));
    let clipped = format!("greatest(start_ns, {start}), least(end_ns, {end})");
    let busy = measuring.query(&format!(
        "SELECT union_length({clipped}) AS busy, union_length({clipped}) FILTER (WHERE kind = 'kernel') AS kernel_busy
         FROM device_events WHERE {{source}} AND {condition}"
    ))?;
    let busy = |name: &str| busy.required_i64(name).map(|values| values.first().copied().unwrap_or(0));
    let (any_busy, kernel_busy) = (busy("busy")?, busy("kernel_busy")?);
    let kernels = kernels(measuring, &condition, start, end)?;
    let length = end - start;
    let kernel_time: i64 = kernels.iter().map(|kernel| kernel.end - kernel.start).sum();
    let (sm_integral, with_blocks) = sm_integral(&kernels);
    let (occupancy_sum, with_occupancy) = occupancy(&kernels);
    if with_blocks == 0 {
        measuring.missing(&format!("{path}.est_sm_efficiency_ratio"), argument_not_recorded("blocks per SM"));
    }
    if with_occupancy == 0 {
        let reason = argument_not_recorded("est. achieved occupancy %");
        measuring.missing(&format!("{path}.est_achieved_occupancy_ratio"), reason);
    }
    let (tensor_core, tensor_core_listed) = tensor_cores(measuring, device, &condition, path)?;
    Ok(json!({
        "window_start_ns": start,
        "window_end_ns": end,
        "kernel_busy_ns": kernel_busy,
        "gpu_utilization_ratio": ratio(kernel_busy as f64, length),
        "gpu_busy_ratio": ratio(any_busy as f64, length),
        "est_sm_efficiency_ratio": if with_blocks == 0 { Json::Null } else { ratio(sm_integral, length) },
        "blocks_per_sm_coverage_ratio": ratio(with_blocks as f64, kernel_time),
        "est_achieved_occupancy_ratio": ratio(occupancy_sum / 100.0, with_occupancy),
        "occupancy_coverage_ratio": ratio(with_occupancy as f64, kernel_time),
        "tensor_core_lower_bound_ratio": tensor_core,
        "tensor_core_tb_list_ratio": tensor_core_listed,
    }))
}

/// The kernels of a device that run inside the window, clipped to it.
fn kernels(measuring: &Measuring<'_>, condition: &str, start: i64, end: i64) -> Result<Vec<Kernel>, AnalysisError> {
    let rows = measuring.query(&format!(
        "SELECT greatest(start_ns, {start}) AS start_ns, least(end_ns, {end}) AS end_ns, blocks_per_sm, est_achieved_occupancy_percent
         FROM device_events
         WHERE {{source}} AND {condition} AND kind = 'kernel' AND least(end_ns, {end}) > greatest(start_ns, {start})"
    ))?;
    let (starts, ends) = (rows.required_i64("start_ns")?, rows.required_i64("end_ns")?);
    let (blocks, occupancies) = (rows.f64("blocks_per_sm")?, rows.f64("est_achieved_occupancy_percent")?);
    let kernel = |row: usize| Kernel {
        start: starts[row],
        end: ends[row],
        blocks_per_sm: blocks[row],
        occupancy_percent: occupancies[row],
    };
    Ok((0..rows.rows()).map(kernel).collect())
}

/// ∫ min(Σ blocks per SM of the kernels that run, 1) dt, and the time of the kernels that carry the value.
fn sm_integral(kernels: &[Kernel]) -> (f64, i64) {
    let mut covered = 0;
    let mut changes: Vec<(i64, bool, usize, f64)> = Vec::new();
    for (id, kernel) in kernels.iter().enumerate() {
        if let Some(blocks) = kernel.blocks_per_sm.filter(|&blocks| blocks > 0.0) {
            covered += kernel.end - kernel.start;
            changes.push((kernel.start, false, id, blocks));
            changes.push((kernel.end, true, id, blocks));
        }
    }
    changes.sort_unstable_by_key(|&(time, is_end, id, _)| (time, is_end, id));
    // Summed afresh at every change: adding and subtracting would collect rounding errors.
    let mut running: BTreeMap<usize, f64> = BTreeMap::new();
    let mut integral = 0.0;
    let mut last = 0;
    for (time, is_end, id, blocks) in changes {
        if !running.is_empty() && time > last {
            integral += running.values().sum::<f64>().min(1.0) * (time - last) as f64;
        }
        last = time;
        if is_end {
            running.remove(&id)
        } else {
            running.insert(id, blocks)
        };
    }
    (integral, covered)
}

/// Σ occupancy × time, and the time of the kernels that carry it.
fn occupancy(kernels: &[Kernel]) -> (f64, i64) {
    let carrying = kernels.iter().filter_map(|kernel| {
        Some((kernel.occupancy_percent.filter(|&percent| percent >= 0.0)?, kernel.end - kernel.start))
    });
    carrying.fold((0.0, 0), |(sum, time), (percent, length)| (sum + percent * length as f64, time + length))
}

/// Share of kernel time whose names say tensor cores: by both lists, and by the older one alone.
fn tensor_cores(
    measuring: &mut Measuring<'_>,
    device: Option<i64>,
    condition: &str,
    path: &str,
) -> Result<(Json, Json), AnalysisError> {
    let rows = measuring.query(&format!(
        "SELECT name, sum(dur_ns) AS time_ns FROM device_events WHERE {{source}} AND {condition} AND kind = 'kernel' GROUP BY name"
    ))?;
    let (names, times) = (rows.text("name")?, rows.required_i64("time_ns")?);
    let tensor_cores = TensorCoreNames::new()?;
    let (mut all, mut listed, mut matched) = (0, 0, 0);
    for (name, time) in names.into_iter().zip(times) {
        let name = name.unwrap_or_default();
        let is_listed = TensorCoreNames::are_listed(&name);
        all += time;
        listed += if is_listed { time } else { 0 };
        matched += if tensor_cores.are_used(&name) { time } else { 0 };
    }
    let properties =
        measuring.source.devices.iter().flatten().find(|properties| device.is_some() && properties.id == device);
    let has_none = properties.and_then(|properties| properties.compute_major).is_some_and(|major| major < 7);
    if has_none {
        measuring.missing(&format!("{path}.tensor_core_lower_bound_ratio"), NOT_ON_THIS_VENDOR);
    }
    let bound = if has_none { Json::Null } else { ratio(matched as f64, all) };
    Ok((bound, ratio(listed as f64, all)))
}
