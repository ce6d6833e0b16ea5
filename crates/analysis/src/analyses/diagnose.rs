//! Findings: what is slow and why, with evidence, the code to change, and when it is a false alarm.

use std::collections::BTreeMap;

use serde_json::json;
use stepscope_model::null_reason::{NO_ROLLUPS, NOT_APPLICABLE};
use stepscope_model::{
    Cell, Finding, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Severity, Text, Tone, Unit,
};

use super::gather::steps_and_facts;
use super::step_times::{self, Distribution};
use super::{Analysis, Asking, Content};
use crate::error::AnalysisError;
use crate::rules::{Facts, findings};
use crate::words;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "diagnose",
    title: "Findings",
    about: "Findings: what is slow, why, and the code to change",
    examples: &[
        ("stepscope diagnose trace.json.gz", "the worst first"),
        ("stepscope diagnose runs/ --rank 3", "of one rank"),
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

fn answer(asking: &Asking<'_>) -> Result<Report, AnalysisError> {
    let (steps, facts) = steps_and_facts(asking)?;
    let (findings, missing) = found(asking, &facts);
    let times = Distribution::of(steps.iter().filter(|step| step.is_complete).map(|step| step.dur_ns));
    let of_steps = times.map_or_else(
        || "no complete step".to_owned(),
        |times| format!("{} of {}", words::counted(times.count(), "step"), words::ns(times.mean())),
    );
    let version = env!("CARGO_PKG_VERSION");
    let count = match missing {
        Some(_) => "findings are not known".to_owned(),
        None => words::counted(findings.len(), "finding"),
    };
    let heading = format!("{count} · {of_steps} · rules of Stepscope {version}");
    let mut parts = vec![Part::Text(Text { text: heading, tone: Tone::Strong, ..Text::default() })];
    parts.extend(findings.iter().flat_map(|finding| in_words(asking, finding)).map(Part::Text));
    parts.extend(nothing_but_the_device(asking, &findings, &facts).map(Part::Text));
    parts.push(Part::Table(rows(asking, &findings)));
    let mut report = Report::new("diagnose", parts);
    report.missing.extend(missing);
    Ok(report)
}

/// What the rules find, or why they could not look.
pub(super) fn found(asking: &Asking<'_>, facts: &Facts) -> (Vec<Finding>, Option<Missing>) {
    if asking.are_sums_left_out() {
        let (path, label, reason) = ("findings".to_owned(), "findings".to_owned(), NO_ROLLUPS.to_owned());
        return (Vec::new(), Some(Missing { path, label, reason }));
    }
    (findings(facts), None)
}

/// What to say where no rule finds anything and the device is the limit.
pub(super) fn nothing_but_the_device(asking: &Asking<'_>, findings: &[Finding], facts: &Facts) -> Option<Text> {
    let bound = facts.bound().filter(|_| findings.is_empty())?;
    let command = asking.question.in_command("stepscope kernels --group-by category");
    let text = format!("No finding: {} Show where it goes: {command}", step_times::busy_with(bound));
    Some(Text::from(text))
}

/// A finding as text.
fn in_words(asking: &Asking<'_>, finding: &Finding) -> Vec<Text> {
    let mark = match finding.severity {
        Severity::High => "!! ",
        Severity::Medium => "!  ",
        Severity::Low => "   ",
    };
    let stake = finding.at_stake_ns.map(|ns| format!("{} per step", words::ns(ns)));
    let heading =
        Text { text: format!("{mark}{}", finding.title), right: stake, tone: Tone::Strong, ..Text::default() };
    let evidence = Text::labelled("evidence", finding.evidence.join("\n"));
    let [rule, not_this] =
        [("rule", finding.rule), ("not this", finding.not_this)].map(|(label, text)| Text::labelled(label, text));
    let [fix, show] = [("fix", finding.fix.clone()), ("show", asking.question.in_command(finding.show))]
        .map(|(label, text)| Text::code(label, text));
    vec![heading, rule, evidence, fix, not_this, show]
}

/// The same for programs.
fn rows(asking: &Asking<'_>, findings: &[Finding]) -> ReportTable {
    let names = ["rule", "severity", "title", "at_stake_ns", "evidence", "fix", "not_this", "show", "figures"];
    let column = |name: &str| match name {
        "at_stake_ns" => ReportColumn::named(name).holds(Holds::Numbers).null(NOT_APPLICABLE),
        _ => ReportColumn::named(name).holds(Holds::Texts),
    };
    let columns = names.map(|name| column(name).look(Look::Hidden)).to_vec();
    let text = |text: &str| Cell::Text(text.to_owned());
    let row = |finding: &Finding| {
        vec![
            text(finding.rule),
            text(finding.severity.as_text()),
            text(&finding.title),
            finding.at_stake_ns.map_or(Cell::Null, Cell::Float),
            Cell::Json(json!(finding.evidence)),
            text(&finding.fix),
            text(finding.not_this),
            text(&asking.question.in_command(finding.show)),
            figures_of(finding),
        ]
    };
    ReportTable::rows(columns, findings.iter().map(row).collect())
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
    let columns = vec![
        ReportColumn::named("severity").label("").look(Look::Severity),
        ReportColumn::named("title"),
        ReportColumn::named("evidence").look(Look::Detail),
        ReportColumn::named("at_stake_ns").label("at stake per step").unit(Unit::Nanoseconds).null(NOT_APPLICABLE),
        ReportColumn::named("rule").look(Look::Hidden),
    ];
    let row = |finding: &Finding| {
        vec![
            Cell::Text(finding.severity.as_text().to_owned()),
            Cell::Text(finding.title.clone()),
            Cell::Text(finding.evidence.first().cloned().unwrap_or_default()),
            finding.at_stake_ns.map_or(Cell::Null, Cell::Float),
            Cell::Text(finding.rule.to_owned()),
        ]
    };
    let rows = findings.iter().map(row).collect();
    ReportTable { title: Some("FINDINGS".to_owned()), ..ReportTable::named("findings", columns, rows) }
}
