//! The rules of findings, with their thresholds.

use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{Look, Part, Report, ReportColumn, ReportTable};
use stepscope_rules::{Causes, RULES, Rule, Thresholds, Weight};

/// One row per rule, and one per threshold.
#[must_use]
pub fn report(thresholds: &Thresholds) -> Report {
    let named = ReportColumn::named;
    let change = |rule: &Rule| match rule.weight {
        Weight::Saving(remedy) => Some(remedy.change()),
        Weight::Fixed(_) => None,
    };
    let severity = |rule: &Rule| match rule.weight {
        Weight::Saving(_) => None,
        Weight::Fixed(severity) => Some(severity.as_text()),
    };
    let rules = ReportTable::of("rows", RULES)
        .column(named("rule"), |rule| rule.name)
        .column(named("label").label("about"), |rule| rule.label)
        .column(named("change").null(NOT_APPLICABLE), |rule| change(rule))
        .column(named("severity").label("fixed severity").null(NOT_APPLICABLE), |rule| severity(rule))
        .column(named("is_symptom").look(Look::Hidden), |rule| rule.explained_by != Causes::None)
        .column(named("what").look(Look::Hidden), |rule| rule.what(thresholds))
        .column(named("why").look(Look::Hidden), |rule| rule.why)
        .column(named("not_this").look(Look::Hidden), |rule| rule.not_this)
        .table();
    let limits = ReportTable::of("thresholds", Thresholds::all())
        .column(named("rule"), |(rule, _)| *rule)
        .column(named("threshold"), |(_, threshold)| threshold.name)
        .column(named("value"), |(rule, threshold)| thresholds.value(rule, threshold))
        .column(named("usual").look(Look::Hidden), |(_, threshold)| threshold.value)
        .column(named("meaning"), |(_, threshold)| threshold.meaning)
        .table();
    Report::new("rules", vec![Part::Table(rules), Part::Table(limits)])
}
