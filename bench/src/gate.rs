//! How often the gate is right on series of steps whose truth is known.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use stepscope_figures::gate::{Better, Limits, between_runs, judge};
use stepscope_figures::statistics::Comparison;
use stepscope_testkit::Random;

use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::series::Series;

/// Verdicts on one kind of series, each with how often it came.
type Verdicts = BTreeMap<&'static str, u32>;

/// How often the gate is asked about each kind of series.
const TRIALS: u32 = 1000;

/// Correlations between a step and the next.
const CORRELATIONS: [f64; 4] = [0.0, 0.3, 0.6, 0.9];

pub(crate) fn gate(plan: &Plan) -> Result<(Vec<Row>, Vec<Series>)> {
    let trials = if plan.is_quick { TRIALS / 10 } else { TRIALS };
    Ok((rows(trials)?, Vec::new()))
}

fn rows(trials: u32) -> Result<Vec<Row>> {
    let (equal, slower) = (pairs(trials, 1.0, &CORRELATIONS)?, pairs(trials, 1.05, &CORRELATIONS[..1])?);
    let (equal_runs, slower_runs) = (runs(trials, 1.0)?, runs(trials, 1.08)?);
    let row = |what: &str, verdicts: &Verdicts, verdict: &str, bar: Bar| {
        let share = f64::from(verdicts.get(verdict).copied().unwrap_or(0)) / f64::from(trials);
        let said: Vec<String> = verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        Row::figure(what, 100.0 * share, "%").with_bar(Some(bar)).with_note(&said.join(", "))
    };
    Ok(vec![
        row("equal, 20 steps per side: false regressions", &equal, "regression", Bar::AtMost(2.0)),
        row("5 % slower at 3 % noise: found", &slower, "regression", Bar::AtLeast(95.0)),
        row("5 % slower at 3 % noise: called pass", &slower, "pass", Bar::AtMost(1.0)),
        row("equal, 5 runs of 30 steps: false regressions", &equal_runs, "regression", Bar::AtMost(2.0)),
        row("8 % slower than 5 runs: found", &slower_runs, "regression", Bar::AtLeast(95.0)),
        row("8 % slower than 5 runs: called pass", &slower_runs, "pass", Bar::AtMost(0.0)),
    ])
}

/// Verdicts on 20 steps against 20 others with the same noise of 3 %.
fn pairs(trials: u32, level: f64, correlations: &[f64]) -> Result<Verdicts> {
    let random = &mut Random::new(1);
    let mut verdicts = Verdicts::new();
    for correlation in correlations.iter().cycle().take(trials as usize) {
        let mut side = |level: f64| steps(random, 20, 0.03, *correlation, level);
        let (baseline, candidate) = (side(1.0), side(level));
        *verdicts.entry(verdict(&[baseline], &candidate)?).or_default() += 1;
    }
    Ok(verdicts)
}

/// Verdicts on a run against five others: steps differ by 2 %, runs by 1 %.
fn runs(trials: u32, level: f64) -> Result<Verdicts> {
    let random = &mut Random::new(2);
    let mut verdicts = Verdicts::new();
    for _ in 0..trials {
        let mut run = |level: f64| {
            let level = level * (1.0 + 0.01 * random.normal());
            steps(random, 30, 0.02, 0.0, level)
        };
        let baseline: Vec<Vec<f64>> = (0..5).map(|_| run(1.0)).collect();
        *verdicts.entry(verdict(&baseline, &run(level))?).or_default() += 1;
    }
    Ok(verdicts)
}

/// Durations of steps around a level. Noise is a share of the step, and a part of it stays from one step to the next.
fn steps(random: &mut Random, count: usize, noise: f64, correlation: f64, level: f64) -> Vec<f64> {
    let mut state = random.normal();
    let mut step = || {
        state = correlation * state + (1.0 - correlation * correlation).sqrt() * random.normal();
        (1e8 * level * (1.0 + noise * state)).round()
    };
    (0..count).map(|_| step()).collect()
}

fn verdict(baseline: &[Vec<f64>], candidate: &[f64]) -> Result<&'static str> {
    let runs: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let comparison = Comparison::of_runs(&runs, &[candidate]).context("a side has no steps")?;
    let between = between_runs(baseline.iter().map(Vec::as_slice));
    Ok(judge(&comparison, comparison.p, Better::Lower, between, &Limits::default()).name())
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn a_tenth_of_the_series_meets_every_bar() {
        for row in rows(100).unwrap() {
            let figure = row.figure.unwrap();
            assert!(row.bar.unwrap().is_met(figure), "{}: {figure} ({})", row.what, row.note);
        }
    }
}
