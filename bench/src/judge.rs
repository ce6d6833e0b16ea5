//! Findings judged by simulated jobs whose faults, and what each of them costs, are known.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::Value as Json;
use stepscope_simulate::faults::{Fault, FaultyJob, Saving, Truth, population};

use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::series::Series;

/// A fault that saves less of the step is not shown by any rule.
const LEAST: f64 = 0.01;
/// What a prediction may be off without being wrong, as a share of the step.
const TOLERANCE: f64 = 0.01;
/// Of 100 estimates 95 may be off by this share of the step at most. Those that are off by more are named.
const LARGE_ERROR: f64 = 0.08;

/// Which jobs are judged, and by what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jobs {
    /// Jobs that rules were tuned on have other seeds.
    pub first_seed: u64,
    /// Every so many-th of them.
    pub every: usize,
}

/// What was found in a job.
#[derive(Debug, Default)]
struct Judged {
    name: String,
    /// Whether the fault that costs most is the first finding; `None` if no fault costs enough.
    is_first_right: Option<bool>,
    /// Faults that cost no time: how many there are, and how many were found.
    timeless: (usize, usize),
    /// Whether a healthy job has a finding of high severity; `None` if it is not healthy.
    has_alarm: Option<bool>,
    predictions: Vec<Prediction>,
    findings: Vec<(String, Option<f64>)>,
    truth: Vec<(String, f64)>,
}

/// What a finding says about a saving, beside the truth; as shares of the step.
#[derive(Debug)]
struct Prediction {
    fault: &'static str,
    bound: String,
    saving: f64,
    low: f64,
    high: f64,
    truth: f64,
}

impl Prediction {
    fn error(&self) -> f64 {
        (self.saving - self.truth).abs()
    }

    fn is_in_range(&self) -> bool {
        self.truth >= self.low - TOLERANCE && self.truth <= self.high + TOLERANCE
    }

    fn is_on_its_side(&self) -> bool {
        match self.bound.as_str() {
            "at most" => self.truth <= self.saving + TOLERANCE,
            "at least" => self.truth >= self.saving - TOLERANCE,
            _ => true,
        }
    }

    fn is_off(&self) -> bool {
        let is_far = self.bound == "estimate" && self.error() > LARGE_ERROR;
        is_far || !self.is_in_range() || !self.is_on_its_side()
    }
}

/// Judges the findings of the command, and prints what it got wrong.
pub(crate) fn judge(plan: &Plan, asked: Jobs) -> Result<(Vec<Row>, Vec<Series>)> {
    let program = plan.stepscope.as_deref().context("no stepscope command: build it, or give --stepscope")?;
    let jobs: Vec<FaultyJob> = population(asked.first_seed).into_iter().step_by(asked.every.max(1)).collect();
    let judged = all(program, &jobs)?;
    for job in judged.iter().filter(|job| job.is_wrong()) {
        println!("{}", job.in_words());
    }
    Ok((rows(plan, &judged), Vec::new()))
}

/// Two at a time, as half of the work of each is done by one thread.
fn all(program: &Path, jobs: &[FaultyJob]) -> Result<Vec<Judged>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Judged)>> {
        let mut judged = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { return Ok(judged) };
            judged.push((place, one(program, job).with_context(|| job.name())?));
        }
    };
    let parts: Vec<Result<Vec<(usize, Judged)>>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut judged: Vec<(usize, Judged)> =
        parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    judged.sort_by_key(|(place, _)| *place);
    Ok(judged.into_iter().map(|(_, judged)| judged).collect())
}

fn one(program: &Path, job: &FaultyJob) -> Result<Judged> {
    let folder = tempfile::tempdir()?;
    job.write_traces(folder.path())?;
    let output = Command::new(program)
        .args(["diagnose", "-f", "json", "--no-cache", "-q"])
        .arg(folder.path())
        .env("RUST_BACKTRACE", "0")
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Json = serde_json::from_slice(&output.stdout)?;
    let rows = answer["rows"].as_array().context("no rows")?;
    Ok(judged(job, &Truth::of(job), rows))
}

fn judged(job: &FaultyJob, truth: &Truth, rows: &[Json]) -> Judged {
    let step_ns = truth.step_ns();
    let rule = |row: &Json| row["rule"].as_str().unwrap_or_default().to_owned();
    let answers = |fault: Fault, row: &&Json| fault.rules().contains(&rule(row).as_str());
    let costing = truth.savings.iter().filter(|saving| saving.fault.is_some_and(Fault::costs_time));
    let worst = costing.clone().max_by_key(|saving| saving.saving_ns);
    let worst = worst.filter(|worst| worst.saving_ns as f64 >= LEAST * step_ns).and_then(|worst| worst.fault);
    let timeless: Vec<Fault> = job.faults().iter().copied().filter(|fault| !fault.costs_time()).collect();
    let found = timeless.iter().filter(|fault| rows.iter().any(|row| answers(**fault, &row))).count();
    let prediction = |saving: &Saving| {
        let fault = saving.fault?;
        let row = rows.iter().find(|row| answers(fault, row) && !row["saving_ns"].is_null())?;
        let share = |name: &str| row[name].as_f64().unwrap_or(0.0) / step_ns;
        Some(Prediction {
            fault: fault.name(),
            bound: row["bound"].as_str().unwrap_or_default().to_owned(),
            saving: share("saving_ns"),
            low: share("saving_low_ns"),
            high: share("saving_high_ns"),
            truth: saving.saving_ns as f64 / step_ns,
        })
    };
    Judged {
        name: job.name(),
        is_first_right: worst.map(|fault| rows.first().is_some_and(|row| answers(fault, &row))),
        timeless: (timeless.len(), found),
        has_alarm: job.faults().is_empty().then(|| rows.iter().any(|row| row["severity"] == "high")),
        predictions: costing.filter_map(prediction).collect(),
        findings: rows.iter().map(|row| (rule(row), row["saving_ns"].as_f64().map(|ns| ns / step_ns))).collect(),
        truth: truth
            .savings
            .iter()
            .filter_map(|saving| Some((saving.fault?.name().to_owned(), saving.saving_ns as f64 / step_ns)))
            .collect(),
    }
}

impl Judged {
    fn is_wrong(&self) -> bool {
        self.is_first_right == Some(false)
            || self.timeless.0 != self.timeless.1
            || self.has_alarm == Some(true)
            || self.predictions.iter().any(Prediction::is_off)
    }

    /// The job with its truth and its findings, in percent of the step.
    fn in_words(&self) -> String {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let truth: Vec<String> =
            self.truth.iter().map(|(fault, share)| format!("{fault} {}", percent(*share))).collect();
        let findings =
            self.findings.iter().map(|(rule, share)| format!("{rule} {}", share.map_or("-".to_owned(), percent)));
        let off = self.predictions.iter().filter(|prediction| prediction.is_off()).map(|prediction| {
            let Prediction { fault, bound, saving, low, high, truth } = prediction;
            let [saving, low, high, truth] = [saving, low, high, truth].map(|share| percent(*share));
            format!("; {fault}: {bound} {saving} in {low} to {high}, is {truth}")
        });
        let first = if self.is_first_right == Some(false) { "first is wrong: " } else { "" };
        let (truth, findings) = (truth.join(", "), findings.collect::<Vec<_>>().join(", "));
        format!("{}: {first}truth {truth}; found {findings}{}", self.name, off.collect::<String>())
    }
}

fn rows(plan: &Plan, judged: &[Judged]) -> Vec<Row> {
    let percent = |right: usize, of: usize| if of == 0 { 100.0 } else { right as f64 / of as f64 * 100.0 };
    let first: Vec<bool> = judged.iter().filter_map(|job| job.is_first_right).collect();
    let timeless = judged.iter().fold((0, 0), |sum, job| (sum.0 + job.timeless.0, sum.1 + job.timeless.1));
    let healthy: Vec<bool> = judged.iter().filter_map(|job| job.has_alarm).collect();
    let predictions: Vec<&Prediction> = judged.iter().flat_map(|job| &job.predictions).collect();
    let (estimates, bounds): (Vec<&Prediction>, Vec<&Prediction>) =
        predictions.iter().partition(|prediction| prediction.bound == "estimate");
    let mut errors: Vec<f64> = estimates.iter().map(|prediction| prediction.error() * 100.0).collect();
    errors.sort_by(f64::total_cmp);
    let at =
        |percent: usize| errors.get((errors.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0.0);
    let right = |all: &[bool]| all.iter().filter(|is_so| **is_so).count();
    let in_range = estimates.iter().filter(|prediction| prediction.is_in_range()).count();
    let on_side = bounds.iter().filter(|prediction| prediction.is_on_its_side()).count();
    let row = |what: &str, of: usize, value: f64, unit: &'static str, bar: Bar| {
        let is_met = bar.is_met(value);
        let row = Row::figure(format!("findings: {what} ({of})"), value, unit).with_bar(plan.bar(bar));
        Row { status: if is_met { Status::Ok } else { Status::Failed }, ..row }
    };
    vec![
        row(
            "the fault that costs most is the first finding",
            first.len(),
            percent(right(&first), first.len()),
            "%",
            Bar::AtLeast(95.0),
        ),
        row("leak and fragmentation are found", timeless.0, percent(timeless.1, timeless.0), "%", Bar::AtLeast(95.0)),
        row("healthy jobs with high severity", healthy.len(), right(&healthy) as f64, "jobs", Bar::AtMost(1.0)),
        row("estimates: median error, share of the step", estimates.len(), at(50), "%", Bar::AtMost(3.0)),
        row("estimates: 95th percentile of errors", estimates.len(), at(95), "%", Bar::AtMost(LARGE_ERROR * 100.0)),
        row(
            "estimates: truth in the range",
            estimates.len(),
            percent(in_range, estimates.len()),
            "%",
            Bar::AtLeast(90.0),
        ),
        row("bounds: truth on the right side", bounds.len(), percent(on_side, bounds.len()), "%", Bar::AtLeast(95.0)),
    ]
}
