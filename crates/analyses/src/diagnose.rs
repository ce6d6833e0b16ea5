//! Findings: what is slow and why, with evidence, the code to change, and when it is a false alarm.

use std::collections::BTreeMap;

use serde_json::json;
use stepscope_model::null_reason::{NO_ROLLUPS, NOT_APPLICABLE};
use stepscope_model::{
    Cell, Finding, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, Severity, Status,
    Target, Text, Tone, Unit, say,
};
use stepscope_rules::{Facts, findings};
use stepscope_runs::RunError;

use super::gather::steps_and_facts;
use super::step_times::{self, Distribution};
use super::{Analysis, Asking, Content};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "diagnose",
    title: "Findings",
    about: "List findings: what is slow, why, and the code to change",
    examples: &[
        ("stepscope diagnose trace.json.gz", "the worst first"),
        ("stepscope diagnose runs/ --rank 3", "one rank"),
        ("stepscope diagnose trace.json.gz -f json", "for scripts and agents"),
    ],
    groupings: &[],
    usual_rows: None,
    has_rows: true,
    reads: &[Content::Events],
    has_section: false,
    page: None,
    answer,
};

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let (steps, facts) = steps_and_facts(asking)?;
    let (findings, missing) = found(asking, &facts);
    let times = Distribution::of(steps.iter().filter(|step| step.is_complete).map(|step| step.dur_ns));
    let of_steps = times.map_or_else(
        || "no complete step".into(),
        |times| say!("{} of {}", say::counted(times.count(), "step"), say::ns(times.mean())),
    );
    let version = env!("CARGO_PKG_VERSION");
    let count = match missing {
        Some(_) => "findings are not known".into(),
        None => say::counted(findings.len(), "finding"),
    };
    let heading = Sentence::facts([count, of_steps, format!("rules of Stepscope {version}").into()]);
    let mut parts = vec![Part::Text(Text::headline(heading))];
    parts.extend(findings.iter().flat_map(in_words).map(Part::Text));
    parts.extend(nothing_but_the_device(&findings, &facts).map(Part::Text));
    parts.push(Part::Table(rows(&findings)));
    let mut report = Report::new("diagnose", parts);
    report.missing.extend(missing);
    Ok(report)
}

/// What the rules find, or why they could not look.
pub(super) fn found(asking: &Asking<'_>, facts: &Facts) -> (Vec<Finding>, Option<Missing>) {
    if asking.are_sums_left_out() {
        let (path, label, reason) = ("findings".to_owned(), "findings".to_owned(), NO_ROLLUPS.into());
        return (Vec::new(), Some(Missing { path, label, reason }));
    }
    (findings(facts), None)
}

/// What to say where no rule finds anything and the device is the limit.
pub(super) fn nothing_but_the_device(findings: &[Finding], facts: &Facts) -> Option<Text> {
    let bound = facts.bound().filter(|_| findings.is_empty())?;
    let kernels = Target::of("kernels").grouped_by("category");
    Some(Text::from(say!("No finding: {} Show where it goes: {}", step_times::busy_with(bound), kernels)))
}

/// A finding as text.
fn in_words(finding: &Finding) -> Vec<Text> {
    let mark = match finding.severity {
        Severity::High => "!! ",
        Severity::Medium => "!  ",
        Severity::Low => "   ",
    };
    let heading = Text {
        role: Role::Finding,
        lines: vec![say!("{}{}", mark, finding.title.clone())],
        right: finding.at_stake_ns.map(Status::AtStake),
        tone: Tone::Strong,
        ..Text::default()
    };
    vec![
        heading,
        Text::labeled(Role::Rule, vec![finding.rule.into()]),
        Text::labeled(Role::What, vec![finding.what.into()]),
        Text::labeled(Role::Why, vec![finding.why.into()]),
        Text::labeled(Role::Evidence, finding.evidence.clone()),
        Text::code(Role::Fix, finding.fix.lines().map(Sentence::from).collect()),
        Text::labeled(Role::NotThis, vec![finding.not_this.into()]),
        Text::code(Role::Show, shown(finding).collect()),
    ]
}

/// The same for programs.
fn rows(findings: &[Finding]) -> ReportTable {
    let texts = |name: &str| ReportColumn::named(name).holds(Holds::Texts).look(Look::Hidden);
    let at_stake = ReportColumn::named("at_stake_ns").holds(Holds::Numbers).look(Look::Hidden).null(NOT_APPLICABLE);
    ReportTable::of("rows", findings)
        .column(texts("rule"), |finding| finding.rule)
        .column(texts("severity"), |finding| finding.severity.as_text())
        .column(texts("title"), |finding| finding.title.clone())
        .column(at_stake, |finding| finding.at_stake_ns)
        .column(texts("evidence"), |finding| finding.evidence.clone())
        .column(texts("fix"), |finding| finding.fix.clone())
        .column(texts("not_this"), |finding| finding.not_this)
        .column(texts("show"), |finding| Sentence::joined(shown(finding), "\n"))
        .column(texts("figures"), |finding| figures_of(finding))
        .column(texts("what"), |finding| finding.what)
        .column(texts("why"), |finding| finding.why)
        .table()
}

/// What to ask to see more of it.
fn shown(finding: &Finding) -> impl Iterator<Item = Sentence> {
    finding.show.iter().map(|target| Sentence::from(*target))
}

/// The figures by name; of several with one name, a list.
fn figures_of(finding: &Finding) -> Cell {
    let mut figures: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in &finding.figures {
        figures.entry(name).or_default().push(*value);
    }
    let value = |values: Vec<f64>| if let [value] = values[..] { json!(value) } else { json!(values) };
    Cell::Json(figures.into_iter().map(|(name, values)| (name.to_owned(), value(values))).collect())
}

/// Findings in a few lines, for the summary.
pub(super) fn table(findings: &[Finding]) -> ReportTable {
    let named = ReportColumn::named;
    let at_stake = named("at_stake_ns").label("at stake per step").unit(Unit::Nanoseconds).null(NOT_APPLICABLE);
    let table = ReportTable::of("findings", findings)
        .column(named("severity").label("").look(Look::Severity), |finding| finding.severity.as_text())
        .column(named("title"), |finding| finding.title.clone())
        .column(named("evidence").look(Look::Detail), |finding| finding.evidence.first().cloned().unwrap_or_default())
        .column(at_stake, |finding| finding.at_stake_ns)
        .column(named("rule").look(Look::Hidden), |finding| finding.rule)
        .table();
    ReportTable { title: Some("FINDINGS".to_owned()), ..table }
}
