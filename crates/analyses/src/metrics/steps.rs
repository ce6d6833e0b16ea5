//! The steps.

use serde_json::{Value as Json, json};
use stepscope_runs::RunError;

use super::{Measuring, breakdown};

/// One step, as far as other figures need it.
pub(super) struct Step {
    pub name: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub host_start_ns: i64,
    pub host_dur_ns: i64,
    pub device_events: i64,
    pub is_complete: bool,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let breakdown = breakdown::read(measuring)?;
    let steps = read(measuring)?.into_iter().enumerate().map(|(number, step)| {
        json!({
            "name": step.name,
            "start_ns": step.start_ns,
            "end_ns": step.end_ns,
            "duration_ns": step.end_ns - step.start_ns,
            "host_start_ns": step.host_start_ns,
            "host_duration_ns": step.host_dur_ns,
            "device_events": step.device_events,
            "complete": step.is_complete,
            "breakdown": breakdown.of_step(number),
        })
    });
    Ok(Json::Array(steps.collect()))
}

/// The steps of the source, in order.
pub(super) fn read(measuring: &Measuring<'_>) -> Result<Vec<Step>, RunError> {
    let rows = measuring.query("SELECT * FROM steps WHERE {source} ORDER BY step")?;
    let (names, complete) = (rows.text("name")?, rows.bool("is_complete")?);
    let (starts, ends) = (rows.required_i64("start_ns")?, rows.required_i64("end_ns")?);
    let (host_starts, host_durs) = (rows.required_i64("host_start_ns")?, rows.required_i64("host_dur_ns")?);
    let device_events = rows.required_i64("device_events")?;
    let step = |row: usize| Step {
        name: names[row].clone().unwrap_or_default(),
        start_ns: starts[row],
        end_ns: ends[row],
        host_start_ns: host_starts[row],
        host_dur_ns: host_durs[row],
        device_events: device_events[row],
        is_complete: complete[row] == Some(true),
    };
    Ok((0..rows.rows()).map(step).collect())
}
