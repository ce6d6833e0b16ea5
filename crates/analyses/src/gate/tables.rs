//! What a check says, for people and programs.

use serde_json::Value as Json;
use stepscope_figures::gate::{Better, RUNS_LEAST};
use stepscope_figures::statistics::{Comparison, HISTORY_LEAST};
use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{Cell, Holds, Look, Part, Report, ReportColumn, ReportTable, Sentence, Text, Unit, say};

use super::fingerprint::{Agreement, Field};
use super::history::{Change, History};
use super::measured::{GateRun, fold_unnamed, joined_path};
use super::verdict::{JudgedMetric, Outcome};
use crate::diff::{explanation, shorten_explanation};

pub(super) fn report(
    (baseline, candidates): (&[GateRun], &[GateRun]),
    judged: &[JudgedMetric],
    fields: &[Field],
    outcome: Outcome,
    history: Option<History>,
) -> Report {
    let headline = headline(judged, outcome);
    let mut parts = vec![Part::Text(Text::headline(headline.clone()))];
    parts.push(Part::Text(about(baseline, candidates).into()));
    parts.push(Part::Table(metrics(judged)));
    if baseline.len() < RUNS_LEAST {
        let (least, hint) = (say::count(RUNS_LEAST as i64), "`--single-run` lets fewer decide");
        parts.push(Part::Text(
            say!("Runs of one job differ, and {} baseline runs or more show by how much. {}.", least, hint).into(),
        ));
    }
    if let Some(history) = &history {
        parts.push(Part::Text(history_in_words(history).into()));
    }
    let refer = |runs: &[GateRun]| joined_path(&runs.iter().filter(|run| run.has_path()).collect::<Vec<&GateRun>>());
    if let (Some(a), Some(mut b)) = (refer(baseline), refer(candidates))
        && !a.steps_ns.is_empty()
        && !b.steps_ns.is_empty()
    {
        fold_unnamed(&mut b, &a);
        parts.extend(explanation(a, b).map(Part::Table));
    }
    parts.push(Part::Table(fingerprint(fields)));
    parts.push(Part::Table(changes(history.and_then(|history| history.changes).unwrap_or_default())));
    let mut report = Report::new("check", parts);
    let word = match outcome {
        Outcome::Passed => "pass",
        Outcome::Regressed => "regression",
        Outcome::Inconclusive => "inconclusive",
    };
    report.data.push(("verdict", Cell::Text(word.to_owned())));
    report.data.push(("exit_code", Cell::Int(i64::from(outcome.exit() as u8))));
    report.data.push(("headline", Cell::Sentence(headline)));
    report
}

/// The worst metric; what else got worse is in the table.
fn headline(judged: &[JudgedMetric], outcome: Outcome) -> Sentence {
    let word = match outcome {
        Outcome::Passed => "Passed",
        Outcome::Regressed => "Failed",
        Outcome::Inconclusive => "Inconclusive",
    };
    let order = |metric: &&JudgedMetric| match metric.verdict {
        "regression" => 0,
        "inconclusive" => 1,
        "improvement" => 2,
        _ => 3,
    };
    let first = judged.iter().min_by_key(order);
    let said = first.map(|metric| metric.said.clone()).unwrap_or_default();
    say!("{}. {}.", word, said)
}

fn about(baseline: &[GateRun], candidates: &[GateRun]) -> Sentence {
    let runs = |runs: &[GateRun]| say::counted(runs.len(), "run");
    Sentence::facts([say!("baseline of {}", runs(baseline)), say!("{} checked", runs(candidates))])
}

fn metrics(judged: &[JudgedMetric]) -> ReportTable {
    let named = ReportColumn::named;
    let number = |name: &str| named(name).holds(Holds::Numbers).null(NOT_APPLICABLE);
    let hidden = |name: &str| number(name).look(Look::Hidden);
    let ratio = |metric: &JudgedMetric, value: fn(&Comparison) -> Option<f64>| {
        let found = metric.comparison.as_ref()?;
        value(found).and_then(|value| found.ratio(value))
    };
    let shown = |metric: &JudgedMetric, side: usize| metric.medians[side].map(|value| in_unit(value, metric.unit));
    let text = |name: &str, label: &str| named(name).holds(Holds::Texts).label(label).null(NOT_APPLICABLE);
    let better = |metric: &JudgedMetric| match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    };
    ReportTable::of("rows", judged)
        .column(named("metric").holds(Holds::Texts), |metric| metric.name.clone())
        .column(named("verdict").holds(Holds::Texts), |metric| metric.verdict)
        .column(text("baseline", "baseline median"), |metric| shown(metric, 0))
        .column(text("candidate", "median now"), |metric| shown(metric, 1))
        .column(number("shift_ratio").label("shift"), |metric| ratio(metric, |found| Some(found.shift)))
        .column(number("low_ratio").label("from"), |metric| ratio(metric, |found| Some(found.interval?.0)))
        .column(number("high_ratio").label("to"), |metric| ratio(metric, |found| Some(found.interval?.1)))
        .column(number("between_runs_ratio").label("runs differ by").from_width(100), |metric| metric.between_runs)
        .column(hidden("p_adjusted"), |metric| metric.p)
        .column(hidden("p"), |metric| metric.comparison.map(|found| found.p))
        .column(hidden("baseline_median"), |metric| metric.medians[0])
        .column(hidden("candidate_median"), |metric| metric.medians[1])
        .column(hidden("baseline_values").holds(Holds::Integers), |metric| metric.counts[0] as i64)
        .column(hidden("candidate_values").holds(Holds::Integers), |metric| metric.counts[1] as i64)
        .column(hidden("inflation"), |metric| metric.comparison.map(|found| found.inflation))
        .column(hidden("values_needed").holds(Holds::Integers), |metric| metric.values_needed.map(|count| count as i64))
        .column(named("better").holds(Holds::Texts).look(Look::Hidden), |metric| better(metric))
        .column(text("reason", "reason").look(Look::Detail), |metric| metric.reason.clone())
        .table()
}

/// A value as people read it: each row of the table has another unit.
fn in_unit(value: f64, unit: Unit) -> Sentence {
    match unit {
        Unit::Nanoseconds => say!("{}", say::ns(value)),
        Unit::Bytes => say!("{}", say::memory(value)),
        Unit::MovedBytes => say!("{}", say::moved(value)),
        Unit::Ratio => say!("{}", say::ratio(value)),
        _ if value.abs() < 100.0 => format!("{value:.2}").into(),
        _ => say!("{}", say::whole(value)),
    }
}

fn fingerprint(fields: &[Field]) -> ReportTable {
    let value = |values: &[Json]| match values {
        [] => None,
        [one] => Some(in_words(one)),
        several => Some(several.iter().map(in_words).collect::<Vec<String>>().join(" or ")),
    };
    let named = |name: &str| ReportColumn::named(name).holds(Holds::Texts);
    let mut table = ReportTable::of("fingerprint", fields)
        .column(named("field"), |field| field.name)
        .column(named("baseline").look(Look::Operator).null(NOT_RECORDED), |field| value(&field.baseline))
        .column(named("candidate").look(Look::Operator).null(NOT_RECORDED), |field| value(&field.candidate))
        .column(named("agreement").label(""), |field| field.agrees.as_text())
        .table();
    table.title = Some("FINGERPRINT".to_owned());
    table
}

const NOT_RECORDED: &str = "not in the trace";

fn in_words(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(in_words).collect::<Vec<String>>().join(", "),
        other => other.to_string(),
    }
}

fn changes(changes: Vec<Change>) -> ReportTable {
    let named = ReportColumn::named;
    let mut table = ReportTable::of("history", changes)
        .column(named("metric").holds(Holds::Texts), |change| change.metric.clone())
        .column(named("run").label("changed with").holds(Holds::Texts).look(Look::Operator), |change| {
            change.run.clone()
        })
        .column(named("change_ratio").label("change").holds(Holds::Numbers), |change| change.ratio)
        .column(named("p").holds(Holds::Numbers), |change| change.p)
        .table();
    table.title = Some("HISTORY".to_owned());
    table
}

fn history_in_words(history: &History) -> Sentence {
    let runs = say::counted(history.runs, "run");
    match &history.changes {
        None => say!("History of {}: {} are needed to find changes.", runs, say::count(HISTORY_LEAST as i64)),
        Some(changes) if changes.is_empty() => say!("History of {}: no change.", runs),
        Some(changes) => say!("History of {}: {}.", runs, say::counted(changes.len(), "change")),
    }
}

/// Leaves out fields that agree, tables without rows, and rows that explain little.
pub fn shorten(report: &mut Report, limit: usize) {
    let agrees = [Agreement::Equal, Agreement::Unknown].map(Agreement::as_text);
    for part in &mut report.parts {
        let Part::Table(table) = part else { continue };
        match table.name.as_str() {
            // A metric that needs no reason has no line for it.
            "rows" => table.rows.iter_mut().filter_map(|row| row.last_mut()).for_each(|reason| {
                if *reason == Cell::Null {
                    *reason = Cell::Text(String::new());
                }
            }),
            "fingerprint" => {
                table
                    .rows
                    .retain(|row| !matches!(row.last(), Some(Cell::Text(text)) if agrees.contains(&text.as_str())));
            }
            "class_rows" | "path_rows" => shorten_explanation(table, limit),
            _ => {}
        }
    }
    report.parts.retain(|part| !matches!(part, Part::Table(table) if table.rows.is_empty()));
}
