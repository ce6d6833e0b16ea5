//! How much memory is in use over time, thinned out for drawing.

use stepscope_model::{Series, Unit};
use stepscope_runs::RunError;

use super::Device;
use crate::Asking;

/// Points of a curve at most.
const POINTS: usize = 200;

/// The curves of the recording that reaches the highest peak, one per device and figure. Of many points, the highest of
/// each stretch of time stays.
pub(super) fn read(asking: &Asking<'_>, moments: &str, highest: &Device) -> Result<Vec<Series>, RunError> {
    let Device { rank, window, .. } = *highest;
    let highest_of = |value: &str, name: &str| {
        format!(
            "max({value}) AS {name}, first_value(ts_ns ORDER BY {value} DESC NULLS LAST, ts_ns, event_index, position) AS {name}_ns"
        )
    };
    let frame = asking.query(&format!(
        "WITH curve AS (
           SELECT *, min(ts_ns) OVER device_memory AS first_ns, max(ts_ns) OVER device_memory AS last_ns,
             count(*) OVER device_memory AS events,
             row_number() OVER (PARTITION BY device ORDER BY ts_ns, event_index, position) AS place
           FROM memory_curve WHERE rank = {rank} AND \"window\" = {window} AND {moments}
           WINDOW device_memory AS (PARTITION BY device)
         ),
         stretches AS (
           SELECT *, CASE WHEN events <= {POINTS} THEN place
             ELSE (ts_ns - first_ns) * {POINTS} / (last_ns - first_ns + 1) END AS stretch
           FROM curve
         )
         SELECT device, stretch, {}, {}, {} FROM stretches GROUP BY device, stretch ORDER BY device, stretch",
        highest_of("total_allocated_bytes", "allocated_bytes"),
        highest_of("total_reserved_bytes", "reserved_bytes"),
        highest_of("level_bytes", "growth_bytes"),
    ))?;
    let devices = frame.text("device")?;
    let mut curves: Vec<Series> = Vec::new();
    for figure in ["allocated_bytes", "reserved_bytes", "growth_bytes"] {
        let (values, times) = (frame.i64(figure)?, frame.i64(&format!("{figure}_ns"))?);
        for (row, device) in devices.iter().enumerate() {
            let name = format!("{}_{figure}", device.as_deref().unwrap_or_default());
            let Some((value, time)) = values[row].zip(times[row]) else { continue };
            let point = (asking.since_start(rank, window, time), value as f64);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Series { name, unit: Unit::Bytes, points: vec![point] }),
            }
        }
    }
    // What is in use says more than how it grew.
    let is_told = |curves: &[Series], name: &str| curves.iter().any(|curve| curve.name == name);
    let kept = |curve: &Series| {
        let device = curve.name.strip_suffix("_growth_bytes");
        device.is_none_or(|device| !is_told(&curves, &format!("{device}_allocated_bytes")))
    };
    let mut kept: Vec<Series> = curves.iter().filter(|curve| kept(curve)).cloned().collect();
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(kept)
}
