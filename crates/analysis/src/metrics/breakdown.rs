//! What the time of steps went to: every instant belongs to the first active class (metrics, section 6).

mod sweep;

use std::rc::Rc;

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::NO_COMPLETE_STEP;

use self::sweep::Sweep;
use super::{Measuring, steps};
use crate::error::AnalysisError;

/// The classes by priority, as in the view `breakdown_spans`; the last one is what no other covers.
const CLASSES: [&str; 8] =
    ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other"];

/// The classes that can be active: all but the last.
const ACTIVE_CLASSES: usize = CLASSES.len() - 1;

const KERNEL: usize = 0;
const COMMUNICATION: usize = 3;

/// The breakdown of every step, and of all there is.
#[derive(Debug)]
pub(crate) struct Breakdown {
    pub(super) steps: Vec<Shares>,
    whole_trace: Option<Shares>,
}

/// How a stretch of time is shared between the classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    by_class: [i64; CLASSES.len()],
    communication_ns: i64,
    overlap_ns: i64,
}

impl Shares {
    fn add(&mut self, is_active: [bool; ACTIVE_CLASSES], length_ns: i64) {
        let class = is_active.iter().position(|is_active| *is_active).unwrap_or(ACTIVE_CLASSES);
        self.by_class[class] += length_ns;
        if is_active[COMMUNICATION] {
            self.communication_ns += length_ns;
            self.overlap_ns += if is_active[KERNEL] { length_ns } else { 0 };
        }
    }

    fn total_ns(&self) -> i64 {
        self.by_class.iter().sum()
    }

    pub(super) fn to_json(&self) -> Json {
        self.map(Json::from)
    }

    /// Every figure through `figure`.
    fn map(&self, figure: impl Fn(i64) -> Json) -> Json {
        let shares = CLASSES.iter().zip(self.by_class).map(|(class, ns)| (format!("{class}_ns"), figure(ns)));
        let mut shares: Map<String, Json> = shares.collect();
        let overlap = json!({
            "computation_ns": figure(self.by_class[KERNEL]),
            "communication_ns": figure(self.communication_ns),
            "overlap_ns": figure(self.overlap_ns),
        });
        shares.insert("overlap".to_owned(), overlap);
        Json::Object(shares)
    }
}

pub(super) fn measure_average(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let breakdown = read(measuring)?;
    let steps = steps::read(measuring)?;
    let complete = || steps.iter().zip(&breakdown.steps).filter(|(step, _)| step.is_complete).map(|(_, shares)| shares);
    let mut sum = Shares::default();
    for shares in complete() {
        sum.by_class.iter_mut().zip(shares.by_class).for_each(|(sum, ns)| *sum += ns);
        sum.communication_ns += shares.communication_ns;
        sum.overlap_ns += shares.overlap_ns;
    }
    let count = complete().count();
    if count == 0 {
        measuring.missing("breakdown_average", NO_COMPLETE_STEP);
        return Ok(Json::Null);
    }
    let mean = |ns: i64| Json::from(ns as f64 / count as f64);
    Ok(with_total(sum.map(mean), mean(sum.total_ns())))
}

pub(super) fn measure_whole_trace(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let breakdown = read(measuring)?;
    let Some(shares) = &breakdown.whole_trace else {
        measuring.missing("breakdown_whole_trace", NO_COMPLETE_STEP);
        return Ok(Json::Null);
    };
    Ok(with_total(shares.to_json(), Json::from(shares.total_ns())))
}

fn with_total(mut shares: Json, total_ns: Json) -> Json {
    shares["total_ns"] = total_ns;
    shares
}

/// The breakdown of the source; worked out once.
pub(super) fn read(measuring: &mut Measuring<'_>) -> Result<Rc<Breakdown>, AnalysisError> {
    if let Some(breakdown) = &measuring.breakdown {
        return Ok(Rc::clone(breakdown));
    }
    let steps = steps::read(measuring)?;
    let mut sweep = Sweep::new(steps.iter().map(|step| (step.start_ns, step.end_ns)));
    measuring.walk(
        "SELECT start_ns, end_ns, priority FROM breakdown_spans WHERE {source} ORDER BY start_ns",
        |rows| {
            let (starts, ends) = (rows.required_i64("start_ns")?, rows.required_i64("end_ns")?);
            for (row, priority) in rows.required_i64("priority")?.into_iter().enumerate() {
                sweep.take(starts[row], ends[row], (priority - 1) as usize);
            }
            Ok(())
        },
    )?;
    let breakdown = Rc::new(sweep.finish());
    measuring.breakdown = Some(Rc::clone(&breakdown));
    Ok(breakdown)
}
