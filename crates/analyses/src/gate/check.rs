//! The verdict on each metric, and on the run.

use stepscope_figures::gate::{self, Doubt, RUNS_LEAST, Verdict};
use stepscope_figures::statistics::{Comparison, holm, median};
use stepscope_model::{Report, Sentence, say};

use super::fingerprint::{self, Agreement, Field, Fingerprint, POOR};
use super::measured::GateRun;
use super::metric::GateMetric;
use super::verdict::{JudgedMetric, Outcome};
use super::{history, tables};

/// What a check takes as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateOptions {
    /// Lets a baseline of one or two runs decide.
    pub single_run: bool,
    /// Compares runs whose fingerprints differ.
    pub ignore_fingerprint: bool,
}

/// What a check found.
pub struct Checked {
    /// For people and programs.
    pub report: Report,
    /// Each metric.
    pub metrics: Vec<JudgedMetric>,
    /// The worst of them.
    pub outcome: Outcome,
}

/// Compares candidate runs with baseline runs. Earlier runs, if there are any, show where a metric changed.
#[must_use]
pub fn check(
    baseline: &[GateRun],
    candidates: &[GateRun],
    metrics: &[GateMetric],
    options: GateOptions,
    earlier: &[GateRun],
) -> Checked {
    let fields = fingerprint::compare(&fingerprints(baseline), &fingerprints(candidates));
    let doubt = if options.ignore_fingerprint { None } else { doubt_of(&fields, baseline, candidates) };
    let compared: Vec<Option<Comparison>> = metrics
        .iter()
        .map(|metric| Comparison::of_runs(&series(baseline, &metric.name), &series(candidates, &metric.name)))
        .collect();
    let separate: Vec<f64> = compared.iter().flatten().map(|comparison| comparison.p).collect();
    let mut corrected = holm(&separate).into_iter();
    let judged: Vec<JudgedMetric> = metrics
        .iter()
        .zip(compared)
        .map(|(metric, comparison)| {
            let p = comparison.and_then(|_| corrected.next());
            judge(metric, comparison, p, (baseline, candidates), options, doubt.as_ref())
        })
        .collect();
    let outcome = worst(judged.iter().map(|metric| metric.outcome));
    let changes = history::changes(earlier, candidates, metrics);
    let report = tables::report((baseline, candidates), &judged, &fields, outcome, changes);
    Checked { report, metrics: judged, outcome }
}

fn fingerprints(runs: &[GateRun]) -> Vec<&Fingerprint> {
    runs.iter().map(|run| &run.fingerprint).collect()
}

/// The values of each run.
fn series<'a>(runs: &'a [GateRun], metric: &str) -> Vec<&'a [f64]> {
    runs.iter().map(|run| run.values(metric)).collect()
}

/// The values of all runs, one run after another.
fn joined(runs: &[GateRun], metric: &str) -> Vec<f64> {
    runs.iter().flat_map(|run| run.values(metric)).copied().collect()
}

fn worst(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Passed => 0,
        Outcome::Inconclusive => 1,
        Outcome::Regressed => 2,
    };
    outcomes.max_by_key(rank).unwrap_or(Outcome::Inconclusive)
}

/// Why the runs cannot be compared, if they cannot.
fn doubt_of(fields: &[Field], baseline: &[GateRun], candidates: &[GateRun]) -> Option<Sentence> {
    let differing: Vec<String> =
        fields.iter().filter(|field| field.agrees == Agreement::Differs).map(|field| field.name.to_owned()).collect();
    if !differing.is_empty() {
        let hint = "`--ignore-fingerprint` compares them anyway";
        return Some(say!("the runs differ in {}; {}", say::listed(&differing), hint));
    }
    let is_poor = |run: &&GateRun| run.fingerprint.get("grade").is_some_and(|grade| grade == POOR);
    let poor = baseline.iter().chain(candidates).find(is_poor)?;
    Some(say!("the health of trace {} is poor", poor.name.clone()))
}

fn judge(
    metric: &GateMetric,
    comparison: Option<Comparison>,
    p: Option<f64>,
    (baseline, candidates): (&[GateRun], &[GateRun]),
    options: GateOptions,
    doubt: Option<&Sentence>,
) -> JudgedMetric {
    let between_runs = gate::between_runs(baseline.iter().map(|run| run.values(&metric.name)));
    let series = [joined(baseline, &metric.name), joined(candidates, &metric.name)];
    let missing = baseline.iter().chain(candidates).find_map(|run| run.missing(&metric.name));
    let verdict = match (comparison, p) {
        (Some(comparison), Some(p)) => Some(gate::judge(&comparison, p, metric.better, between_runs, &metric.limits)),
        _ => None,
    };
    let (reason, values_needed) = match (doubt, missing, verdict) {
        (Some(doubt), _, _) => (Some(doubt.clone()), None),
        (_, Some(missing), _) => (Some(Sentence::from(missing.to_owned())), None),
        (_, _, Some(Verdict::Inconclusive(doubt))) => (Some(doubt_in_words(doubt, metric)), needed(doubt)),
        (_, _, None) => (Some("no values to compare".into()), None),
        _ => (None, None),
    };
    let few = few_runs(baseline.len()).filter(|_| !options.single_run);
    let word = match verdict {
        Some(verdict) if reason.is_none() => verdict.name(),
        _ => "inconclusive",
    };
    let outcome = match word {
        "inconclusive" => Outcome::Inconclusive,
        _ if few.is_some() => Outcome::Inconclusive,
        "regression" => Outcome::Regressed,
        _ => Outcome::Passed,
    };
    let mut judged = JudgedMetric {
        name: metric.name.clone(),
        verdict: word,
        said: Sentence::default(),
        unit: metric.unit(),
        better: metric.better,
        comparison,
        medians: series.each_ref().map(|values| median(values)),
        counts: series.each_ref().map(Vec::len),
        p,
        between_runs,
        values_needed,
        reason,
        outcome,
    };
    judged.say(few);
    judged
}

/// A baseline that knows nothing of how runs differ, in words.
fn few_runs(count: usize) -> Option<&'static str> {
    match count {
        1 => Some("one run"),
        2 => Some("two runs"),
        _ => None,
    }
    .filter(|_| count < RUNS_LEAST)
}

fn needed(doubt: Doubt) -> Option<u64> {
    if let Doubt::Wide(needed) = doubt { needed } else { None }
}

fn doubt_in_words(doubt: Doubt, metric: &GateMetric) -> Sentence {
    let excluded = say::ratio(metric.limits.exclude_ratio);
    match doubt {
        Doubt::TooFewValues => "fewer than 5 independent values on a side".into(),
        Doubt::NoBaseline => "the baseline is 0, so no change is relative to it".into(),
        Doubt::Wide(Some(needed)) => {
            say!(
                "a change of {} is neither shown nor excluded; about {} values would decide",
                excluded,
                say::count(needed as i64)
            )
        }
        Doubt::Wide(None) => say!("a change of {} is not excluded, but noise may explain it", excluded),
    }
}
