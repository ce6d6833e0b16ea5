//! The gate for values that Python measured: the same verdict as `stepscope check` gives on traces.

use pyo3::prelude::*;
use serde_json::json;
use stepscope_figures::gate::{Better, Limits};
use stepscope_report::sentence;
use stepscope_workspace::{GateMetric, GateOptions, GateRun, check};

/// Compares values of candidate runs with those of baseline runs; one list per run. The answer is JSON.
#[pyfunction]
#[pyo3(signature = (name, baseline, candidates, *, is_higher_better, alpha, report_ratio, exclude_ratio, single_run))]
#[expect(clippy::too_many_arguments, reason = "the names are the interface")]
pub(crate) fn judge_series(
    py: Python<'_>,
    name: &str,
    baseline: Vec<Vec<f64>>,
    candidates: Vec<Vec<f64>>,
    is_higher_better: bool,
    alpha: f64,
    report_ratio: f64,
    exclude_ratio: f64,
    single_run: bool,
) -> String {
    let better = if is_higher_better { Better::Higher } else { Better::Lower };
    let metric = GateMetric::of_values(name, better, Limits { alpha, report_ratio, exclude_ratio });
    let runs = |series: Vec<Vec<f64>>| -> Vec<GateRun> {
        series.into_iter().map(|values| GateRun::of_values(name, values)).collect()
    };
    let options = GateOptions { single_run, ignore_fingerprint: false };
    py.detach(|| {
        let checked = check(&runs(baseline), &runs(candidates), &[metric], options, &[]);
        let judged = checked.metrics.first().map(|metric| {
            let mut figures = metric.to_json(checked.outcome);
            figures["reason"] = json!(metric.reason.as_ref().map(sentence::written));
            figures
        });
        judged.unwrap_or_default().to_string()
    })
}
