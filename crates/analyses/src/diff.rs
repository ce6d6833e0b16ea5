//! What differs between two runs: their steps as distributions, and where the difference per step goes, exactly (A10).

mod choices;
mod document;
mod kernels;
mod noise;
mod rows;
mod side;
mod tables;

use serde_json::Value as Json;
use stepscope_figures::gate::{self, Better, Limits, VALUES_LEAST, Verdict};
use stepscope_figures::statistics::Comparison;
use stepscope_model::{Cell, Missing, Part, Report, ReportTable, Sentence, Text, say};
use stepscope_replay::PathClass;
use stepscope_runs::{OpenRun, RunError};

pub use self::choices::{Choice, choices};
use self::rows::{Steps, Sums};
use self::side::Side;
pub(crate) use self::side::{PathOfSteps, PerStep};
use crate::critical::class_in_words;
use crate::{Asking, Question};

/// Why steps are not tested.
const TOO_FEW_STEPS: &str = "fewer than 5 independent steps";

/// Why steps cannot be compared.
const STEP_SOURCES_DIFFER: &str = "step sources differ";

/// One run of a comparison, ready to be compared with others.
pub struct DiffSide(Result<Side, &'static str>);

impl DiffSide {
    /// The usual window of the first recording that is asked about.
    pub fn of(run: &OpenRun, question: &Question) -> Result<Self, RunError> {
        Ok(Self(Side::of(&Asking::of(run, question)?)?))
    }
}

/// Compares two runs.
#[must_use]
pub fn diff(a: &DiffSide, b: &DiffSide) -> Report {
    match (&a.0, &b.0) {
        (Ok(a), Ok(b)) if a.step_source != b.step_source => without(STEP_SOURCES_DIFFER),
        (Ok(a), Ok(b)) => between(a, b),
        (Err(reason), _) | (_, Err(reason)) => without(reason),
    }
}

fn between(a: &Side, b: &Side) -> Report {
    let headline = headline(a, b);
    let mut parts = vec![Part::Text(Text::headline(headline.clone())), Part::Text(tested(a, b).into())];
    parts.extend(came_and_went(a, b).map(Part::Text));
    let tables = [
        tables::classes(a, b),
        tables::path(a, b),
        tables::operators(a, b),
        tables::kernels(a, b),
        tables::moved(a, b),
        tables::modules(a, b),
        tables::collectives(a, b),
        tables::memory(a, b),
        tables::verdict(a, b),
        tables::steps(a, b),
    ];
    parts.extend(tables.map(Part::Table));
    for (name, side) in [("A", a), ("B", b)] {
        let limits = side.limits.iter().map(|limit| say!("{}: {}.", name, limit.clone()));
        parts.extend(limits.map(|limit| Part::Text(limit.into())));
    }
    let mut report = Report::new("diff", parts);
    if let Json::Object(members) = document::document(a, b) {
        report.data = document::MEMBERS.iter().map(|name| (*name, Cell::Json(members[*name].clone()))).collect();
    }
    report.data.push(("headline", Cell::Sentence(headline)));
    report
}

/// What adds up to the difference between the steps of two sides, by class and by name.
pub(crate) fn explanation(a: PathOfSteps, b: PathOfSteps) -> [ReportTable; 2] {
    let (a, b) = (Side::from(a), Side::from(b));
    let path = ReportTable { name: "path_rows".to_owned(), ..tables::path(&a, &b) };
    [tables::classes(&a, &b), path].map(|mut table| {
        let labels =
            [("a_per_step_ns", "baseline"), ("b_per_step_ns", "now"), ("difference_per_step_ns", "change per step")];
        for column in &mut table.columns {
            if let Some((_, label)) = labels.iter().find(|(name, _)| *name == column.name) {
                column.label = Some((*label).to_owned());
            }
        }
        table
    })
}

/// The largest rows of it, and the rest.
pub(crate) fn shorten_explanation(table: &mut ReportTable, limit: usize) {
    let step = table.total.as_ref().and_then(|total| {
        let place = table.columns.iter().position(|column| column.name == "a_per_step_ns")?;
        if let Cell::Float(step_ns) = total[place] { Some(step_ns) } else { None }
    });
    if !tables::shorten(table, limit, SHOWN_LEAST * step.unwrap_or(0.0)) {
        table.rows.clear();
    }
}

/// The smallest difference that people are shown as a row, as a share of the step.
const SHOWN_LEAST: f64 = 0.001;

/// Keeps the largest differences of each table, as many as fit on a screen; a row has the rest. Tables without a
/// difference become a sentence.
pub fn shorten(report: &mut Report, limit: usize, are_rows_shaped: bool) {
    let sum = |name: &str| {
        let cell = report.data.iter().find(|(member, _)| *member == name).map(|(_, cell)| cell);
        if let Some(Cell::Json(value)) = cell { value.as_f64() } else { None }
    };
    let (Some(sum_ns), Some(steps)) = (sum("step_sum_a_ns"), sum("steps_a")) else { return };
    let least_ns = SHOWN_LEAST * sum_ns / steps;
    let mut alike = Vec::new();
    for part in &mut report.parts {
        if let Part::Table(table) = part
            && tables::FOR_PROGRAMS.contains(&table.name.as_str())
        {
            table.rows.clear();
        } else if let Part::Table(table) = part
            && !(are_rows_shaped && table.name == "rows")
        {
            let is_shown = tables::shorten(table, limit, least_ns);
            let noun = tables::NOUNS.iter().find(|(name, _)| *name == table.name);
            if let Some((_, noun)) = noun.filter(|_| !is_shown && !table.rows.is_empty()) {
                alike.push((*noun).to_owned());
            }
            if !is_shown {
                table.rows.clear();
            }
        }
    }
    report.parts.retain(|part| !matches!(part, Part::Table(table) if table.rows.is_empty()));
    if !alike.is_empty() {
        let line = say!("No difference above {} of the step: {}.", say::ratio(SHOWN_LEAST), say::listed(&alike));
        report.parts.push(Part::Text(line.into()));
    }
}

/// Operators that are on one side only.
fn came_and_went(a: &Side, b: &Side) -> Option<Text> {
    const NAMED: usize = 4;
    let names = |side: &Side, other: &Side| -> Vec<Sentence> {
        let spans = |side: &Side, name: &str| side.operators.get(name).map_or(0, |operator| operator.spans.total);
        let is_new = |name: &&String| spans(side, name) > 0 && spans(other, name) == 0;
        side.operators.keys().filter(is_new).map(|name| name.as_str().into()).collect()
    };
    let listed = |names: Vec<Sentence>, verb: &'static str| {
        let more = names.len().saturating_sub(NAMED);
        let count = say::counted(names.len(), "operator");
        let first = Sentence::joined(names.iter().take(NAMED).cloned(), ", ");
        let rest = if more > 0 { say!(" and {} more", say::count(more as i64)) } else { Sentence::default() };
        (!names.is_empty()).then(|| say!("{} {}: {}{}.", count, verb, first, rest))
    };
    let lines = [listed(names(b, a), "only in B"), listed(names(a, b), "only in A")];
    let lines: Vec<Sentence> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| Text { lines, ..Text::default() })
}

/// How much longer a step of B takes, and the classes that change most.
fn headline(a: &Side, b: &Side) -> Sentence {
    const TOLD: usize = 3;
    const LEAST: f64 = 0.005;
    let steps = Steps::of(a, b);
    let sums = Sums { a: a.steps_ns.iter().sum(), b: b.steps_ns.iter().sum() };
    if steps.numerator(sums) == 0 {
        return say!("A and B take equally long: {} per step.", say::ns(a.mean_ns()));
    }
    let (before_ns, change_ns) = (sums.a as f64 / steps.a as f64, steps.difference(sums));
    let word = if change_ns < 0.0 { "faster" } else { "slower" };
    let share = say::ratio(change_ns.abs() / before_ns.max(1.0));
    let doubt = match in_words(compared(a, b).as_ref()) {
        "no change" => ", within noise",
        "inconclusive" => ", inconclusive",
        "not tested" => ", not tested",
        _ => "",
    };
    let [before, after] = [(sums.a, steps.a), (sums.b, steps.b)].map(|(sum, steps)| say::ns(sum as f64 / steps as f64));
    let first = say!(
        "B is {} {} per step ({}{}), {} instead of {}",
        say::ns(change_ns.abs()),
        word,
        share,
        doubt,
        after,
        before
    );
    let mut changes: Vec<(PathClass, f64)> = rows::classes(a, b)
        .into_iter()
        .map(|(class, sums)| (class, steps.difference(sums)))
        .filter(|(_, change_ns)| change_ns.abs() >= LEAST * before_ns)
        .collect();
    changes.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let told = changes.into_iter().take(TOLD).map(|(class, change_ns)| {
        let sign = if change_ns > 0.0 { "+" } else { "" };
        say!("{} {}{}", class_in_words(class), sign, say::ns(change_ns))
    });
    let told: Vec<Sentence> = told.collect();
    if told.is_empty() { say!("{}.", first) } else { say!("{}: {}.", first, Sentence::joined(told, ", ")) }
}

/// How sure that is.
fn tested(a: &Side, b: &Side) -> Sentence {
    let steps = say!("{} and {} steps", say::count(a.steps_ns.len() as i64), say::count(b.steps_ns.len() as i64));
    let Some(found) = compared(a, b) else {
        return Sentence::facts([steps, "not tested: 5 independent steps on each side are needed".into()]);
    };
    let ratio = |value: f64| say::ratio(found.ratio(value).unwrap_or(0.0));
    let shift = found
        .interval
        .map(|(low, high)| say!("median shift {}, {} to {}", ratio(found.shift), ratio(low), ratio(high)));
    let chance = if found.p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {:.3}", found.p) };
    let verdict = Some(in_words(Some(&found)).into());
    Sentence::facts([verdict, Some(steps), shift, Some(chance.into())].into_iter().flatten())
}

/// The steps of B against those of A; `None` if they are too few.
fn compared(a: &Side, b: &Side) -> Option<Comparison> {
    let comparison = Comparison::new(&a.step_values(), &b.step_values())?;
    (comparison.effective_count() >= VALUES_LEAST).then_some(comparison)
}

/// What steps are against those of another run.
fn in_words(comparison: Option<&Comparison>) -> &'static str {
    let Some(comparison) = comparison else { return "not tested" };
    let limits = Limits::default();
    // A pass excludes a slowdown alone.
    let low = comparison.interval.and_then(|(low, _)| comparison.ratio(low));
    match gate::judge(comparison, comparison.p, Better::Lower, None, &limits) {
        Verdict::Regression => "slower",
        Verdict::Improvement => "faster",
        Verdict::Pass if low.is_some_and(|low| low > -limits.exclude_ratio) => "no change",
        Verdict::Pass | Verdict::Inconclusive(_) => "inconclusive",
    }
}

/// The report about runs that cannot be compared.
fn without(reason: &'static str) -> Report {
    let mut report = Report::new("diff", vec![Part::Text(Text::headline(say!("No comparison: {}.", reason)))]);
    report.data = document::MEMBERS.iter().map(|name| (*name, Cell::Null)).collect();
    let missing = |name: &&'static str| Missing {
        path: (*name).to_owned(),
        label: "comparison".to_owned(),
        reason: reason.into(),
    };
    report.missing = document::MEMBERS.iter().map(missing).collect();
    report
}
