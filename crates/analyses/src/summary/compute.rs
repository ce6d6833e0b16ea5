//! What steps compute, and how near to the peak of the device that is: a line for people, figures for programs.

use stepscope_model::null_reason::{
    EVENTS_NOT_STORED, NO_COMPLETE_STEP, NO_DEVICE_EVENTS, SHAPES_NOT_RECORDED, UNKNOWN_DEVICE_PEAK,
    UNSUPPORTED_EVENT_KIND,
};
use stepscope_model::{Cell, Metric, Missing, Part, Role, Sentence, Text, Unit, say};
use stepscope_runs::RunError;

use crate::device_peaks::peak_of;
use crate::step_times::{Distribution, StepTime};
use crate::{Asking, flop_count};

/// Below this share of device time with FLOPs, their ratio to the peak says nothing.
const LEAST_COVERED: f64 = 0.1;

/// What shapes cover a share of.
const DEVICE_TIME: &str = "device time";

/// A figure, or why it is missing.
type Figure = Result<f64, Sentence>;

struct Compute {
    step_flops: Figure,
    /// Lower bound of what a step computes on the device; the MFU is that of this.
    step_least_flops: Figure,
    achieved_flops_per_s: Figure,
    mfu_ratio: Figure,
    /// Share of device time whose FLOPs are known; of the operators' host time where there is no device.
    coverage_ratio: Figure,
    covers: &'static str,
    /// Of a device, with the type that it is for.
    peak: Option<(f64, &'static str)>,
    /// Devices that a rank uses.
    devices: i64,
}

/// The line and the figures. `missing` gets what people should hear of: how to record more, not what a host cannot have.
pub(super) fn parts(
    asking: &Asking<'_>,
    steps: &[StepTime],
    times: Option<&Distribution>,
    missing: &mut Vec<Missing>,
) -> Result<Vec<Part>, RunError> {
    let compute = match times {
        Some(times) => measure(asking, steps, times)?,
        None => Compute::missing(&NO_COMPLETE_STEP.into()),
    };
    let mut tell = |name: &str, label: &str, figure: &Figure| {
        if let Err(reason) = figure {
            missing.push(Missing { path: name.to_owned(), label: label.to_owned(), reason: reason.clone() });
        }
    };
    if times.is_some() {
        tell("step_flops", "FLOPs", &compute.step_flops);
    }
    if compute.step_flops.is_ok() && compute.covers == DEVICE_TIME {
        tell("mfu_ratio", "MFU", &compute.mfu_ratio);
    }
    let mut parts: Vec<Part> =
        compute.in_words().map(|words| Part::Text(Text::labeled(Role::Compute, vec![words]))).into_iter().collect();
    parts.extend(compute.figures().map(Part::Metric));
    Ok(parts)
}

fn measure(asking: &Asking<'_>, steps: &[StepTime], times: &Distribution) -> Result<Compute, RunError> {
    if asking.without_events() > 0 {
        return Ok(Compute::missing(&EVENTS_NOT_STORED.into()));
    }
    let Some(count) = flop_count::count(asking, steps)? else {
        let shapes = asking.query("SELECT 1 FROM spans WHERE {events} AND input_dims IS NOT NULL LIMIT 1")?;
        return Ok(Compute::missing(
            &if shapes.rows() == 0 { SHAPES_NOT_RECORDED } else { UNSUPPORTED_EVENT_KIND }.into(),
        ));
    };
    let step_flops = count.flops as f64 / times.count() as f64;
    let achieved = count.flops as f64 / times.total() as f64 * 1e9;
    if count.device_ns == 0 {
        return Ok(Compute {
            step_flops: Ok(step_flops),
            achieved_flops_per_s: Ok(achieved),
            coverage_ratio: Ok(count.covered_host_ns as f64 / count.host_ns.max(1) as f64),
            covers: "operator time",
            ..Compute::missing(&NO_DEVICE_EVENTS.into())
        });
    }
    let covered = count.covered_ns as f64 / count.device_ns as f64;
    if covered < LEAST_COVERED {
        let reason = say!("{} for {} of device time", SHAPES_NOT_RECORDED, say::ratio(1.0 - covered));
        return Ok(Compute { coverage_ratio: Ok(covered), ..Compute::missing(&reason) });
    }
    let device = asking.sources.first().and_then(|source| source.devices.as_ref()?.first()?.name.clone());
    let peak = device.as_deref().and_then(peak_of);
    let unknown_peak = || Sentence::from(UNKNOWN_DEVICE_PEAK);
    let least_achieved = count.least_flops as f64 / times.total() as f64 * 1e9;
    let devices = devices_of_a_rank(asking)?;
    Ok(Compute {
        step_flops: Ok(step_flops),
        achieved_flops_per_s: Ok(achieved),
        step_least_flops: Ok(count.least_flops as f64 / times.count() as f64),
        mfu_ratio: peak.map(|(peak, _)| least_achieved / (peak * devices as f64)).ok_or_else(unknown_peak),
        coverage_ratio: Ok(covered),
        covers: DEVICE_TIME,
        peak,
        devices,
    })
}

/// How many devices a rank has work on; the most of all ranks.
fn devices_of_a_rank(asking: &Asking<'_>) -> Result<i64, RunError> {
    let rows = asking.query(
        "SELECT count(DISTINCT device_id) AS devices FROM step_devices WHERE {source} AND busy_ns > 0 GROUP BY rank, \"window\"",
    )?;
    Ok(rows.required_i64("devices")?.into_iter().max().unwrap_or(1).max(1))
}

impl Compute {
    fn missing(reason: &Sentence) -> Self {
        let nothing = || Err(reason.clone());
        Self {
            step_flops: nothing(),
            step_least_flops: nothing(),
            achieved_flops_per_s: nothing(),
            mfu_ratio: nothing(),
            coverage_ratio: nothing(),
            covers: DEVICE_TIME,
            peak: None,
            devices: 1,
        }
    }

    fn in_words(&self) -> Option<Sentence> {
        let (Ok(step_flops), Ok(achieved)) = (&self.step_flops, &self.achieved_flops_per_s) else { return None };
        let mut pieces =
            vec![say!("{} per step", say::flops(*step_flops)), say!("{} achieved", say::flops_per_s(*achieved))];
        if let (Ok(mfu), Some((peak, dtype))) = (&self.mfu_ratio, self.peak) {
            let devices = if self.devices > 1 { format!("{} × ", self.devices) } else { String::new() };
            let peak = say::flops_per_s(peak);
            pieces.push(say!("MFU ≥ {} of {}{} ({} dense)", say::at_least(*mfu), devices, peak, dtype));
        }
        if let Ok(covered) = &self.coverage_ratio {
            pieces.push(say!("shapes cover {} of {}", say::ratio(*covered), self.covers));
        }
        Some(Sentence::facts(pieces))
    }

    fn figures(&self) -> [Metric; 5] {
        let metric = |(name, unit, figure): (&str, Unit, &Figure)| Metric {
            name: name.to_owned(),
            value: figure.as_ref().map_or(Cell::Null, |value| Cell::Float(*value)),
            unit,
            reason: figure.as_ref().err().cloned(),
            is_for_programs: true,
        };
        [
            ("step_flops", Unit::Flops, &self.step_flops),
            ("step_least_flops", Unit::Flops, &self.step_least_flops),
            ("achieved_flops_per_s", Unit::FlopsPerSecond, &self.achieved_flops_per_s),
            ("mfu_ratio", Unit::Ratio, &self.mfu_ratio),
            ("flops_coverage_ratio", Unit::Ratio, &self.coverage_ratio),
        ]
        .map(metric)
    }
}
