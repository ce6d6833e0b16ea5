//! What the time of steps went to: every instant belongs to the first active class (metrics, section 6).

use std::rc::Rc;

use serde_json::{Map, Value as Json, json};
use stepscope_model::Class;
use stepscope_model::null_reason::{NO_COMPLETE_STEP, NO_ROLLUPS};
use stepscope_runs::RunError;

use super::{Measuring, steps};

/// The breakdown of every step, and of all there is.
#[derive(Debug)]
pub(crate) struct Breakdown {
    /// By step; empty when sums were left out.
    steps: Vec<Shares>,
    whole_trace: Option<Shares>,
}

/// How a stretch of time is shared between the classes.
#[derive(Clone, Debug, Default)]
struct Shares {
    by_class: [i64; Class::ALL.len()],
    communication_ns: i64,
    overlap_ns: i64,
}

impl Breakdown {
    /// The breakdown of a step as it stands in the document.
    pub(super) fn of_step(&self, step: usize) -> Json {
        self.steps.get(step).map_or(Json::Null, |shares| shares.map(Json::from))
    }
}

impl Shares {
    fn total_ns(&self) -> i64 {
        self.by_class.iter().sum()
    }

    /// Every figure through `figure`.
    fn map(&self, figure: impl Fn(i64) -> Json) -> Json {
        let shares = Class::ALL.iter().zip(self.by_class);
        let mut shares: Map<String, Json> =
            shares.map(|(class, ns)| (format!("{}_ns", class.as_text()), figure(ns))).collect();
        let overlap = json!({
            "computation_ns": figure(self.by_class[Class::Kernel as usize]),
            "communication_ns": figure(self.communication_ns),
            "overlap_ns": figure(self.overlap_ns),
        });
        shares.insert("overlap".to_owned(), overlap);
        Json::Object(shares)
    }
}

pub(super) fn measure_average(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
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
        measuring.missing("breakdown_average", why_missing(measuring));
        return Ok(Json::Null);
    }
    let mean = |ns: i64| Json::from(ns as f64 / count as f64);
    Ok(with_total(sum.map(mean), mean(sum.total_ns())))
}

pub(super) fn measure_whole_trace(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let breakdown = read(measuring)?;
    let Some(shares) = &breakdown.whole_trace else {
        measuring.missing("breakdown_whole_trace", why_missing(measuring));
        return Ok(Json::Null);
    };
    Ok(with_total(shares.map(Json::from), Json::from(shares.total_ns())))
}

fn why_missing(measuring: &Measuring<'_>) -> &'static str {
    if measuring.source.are_sums_left_out() { NO_ROLLUPS } else { NO_COMPLETE_STEP }
}

fn with_total(mut shares: Json, total_ns: Json) -> Json {
    shares["total_ns"] = total_ns;
    shares
}

/// The breakdown of the source; asked for once.
pub(super) fn read(measuring: &mut Measuring<'_>) -> Result<Rc<Breakdown>, RunError> {
    if let Some(breakdown) = &measuring.breakdown {
        return Ok(Rc::clone(breakdown));
    }
    let rows = measuring.query("SELECT * FROM step_breakdown WHERE {source} ORDER BY step NULLS LAST")?;
    let mut all = vec![Shares::default(); rows.rows()];
    for class in Class::ALL {
        for (shares, ns) in all.iter_mut().zip(rows.required_i64(&format!("{}_ns", class.as_text()))?) {
            shares.by_class[class as usize] = ns;
        }
    }
    let overlaps = rows.required_i64("all_communication_ns")?.into_iter().zip(rows.required_i64("overlap_ns")?);
    for (shares, (communication_ns, overlap_ns)) in all.iter_mut().zip(overlaps) {
        shares.communication_ns = communication_ns;
        shares.overlap_ns = overlap_ns;
    }
    let has_whole = rows.i64("step")?.last().is_some_and(Option::is_none);
    let whole_trace = if has_whole { all.pop() } else { None };
    let breakdown = Rc::new(Breakdown { steps: all, whole_trace });
    measuring.breakdown = Some(Rc::clone(&breakdown));
    Ok(breakdown)
}
