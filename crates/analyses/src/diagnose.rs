//! Findings: what is slow and why, with evidence, the code to change, and when it is a false alarm.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{EVENTS_NOT_STORED, NO_ROLLUPS, NOT_APPLICABLE};
use stepscope_model::{
    Cell, Finding, Holds, Look, Missing, Part, PredictedSaving, Report, ReportColumn, ReportTable, Role, Sentence,
    Severity, Status, Target, Text, Tone, Unit, say,
};
use stepscope_rules::{Facts, Fired, LeftOut, Part as Removed, Remedy, Rule, StepTimes, Verdict, Weight, fired, judge};
use stepscope_runs::RunError;

use super::gather::{Measured, measure};
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
    let measured = measure(asking)?;
    let (Verdict { findings, left_out }, missing) = found(asking, &measured)?;
    let Measured { steps, facts, replays } = &measured;
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
    let replayed = replays.ranks();
    let some_ranks = (replayed.len() < asking.ranks().len() && !replayed.is_empty())
        .then(|| say!("{} replayed: {}", say::counted(replayed.len(), "rank"), numbers(&replayed)));
    let facts_of_all = [Some(count), Some(of_steps), some_ranks, Some(format!("rules of Stepscope {version}").into())];
    let heading = Sentence::facts(facts_of_all.into_iter().flatten());
    let mut parts = vec![Part::Text(Text::headline(heading))];
    parts.extend(findings.iter().flat_map(in_words).map(Part::Text));
    parts.extend(nothing_but_the_device(&findings, facts, asking.device_noun()).map(Part::Text));
    parts.push(Part::Table(rows(&findings)));
    let mut report = Report::new("diagnose", parts);
    report.missing.extend(missing);
    report.data.push(("replayed_ranks", Cell::Json(json!(replayed))));
    report.data.push(("left_out", Cell::Json(left_out.iter().map(not_shown).collect())));
    Ok(report)
}

fn numbers(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// What a rule found that is not worth showing, for programs.
fn not_shown(left_out: &LeftOut) -> Json {
    let mut members = json!({ "rule": left_out.rule, "reason": left_out.reason });
    if let Some(saving_ns) = left_out.saving_ns {
        members["saving_ns"] = saving_ns.into();
    }
    members
}

/// What the rules find, weighed by what their changes save; or why they could not look.
pub(super) fn found(asking: &Asking<'_>, measured: &Measured<'_>) -> Result<(Verdict, Option<Missing>), RunError> {
    let no_sums = asking.are_sums_left_out().then_some(NO_ROLLUPS);
    if let Some(reason) = no_sums.or((asking.without_events() > 0).then_some(EVENTS_NOT_STORED)) {
        let (path, label, reason) = ("findings".to_owned(), "findings".to_owned(), reason.into());
        return Ok((Verdict::default(), Some(Missing { path, label, reason })));
    }
    let Measured { facts, replays, .. } = measured;
    let thresholds = &asking.question.thresholds;
    let mut fired = fired(facts, thresholds);
    // Collectives of the host run on threads of their own, which no replay connects with the script.
    let is_host_alone = facts.device_events == 0;
    let waits = fired.iter().filter(|fired| remedy_of(fired.rule) == Some(Remedy::EqualRanks));
    let wait_ns = waits.filter_map(Fired::at_stake_ns).fold(0.0, f64::max);
    for fired in &mut fired {
        fired.saving = match remedy_of(fired.rule) {
            Some(Remedy::EvenSteps) => facts.step_times.map(|times| Ok(even_steps(times))),
            Some(Remedy::EqualRanks) if is_host_alone => fired.at_stake_ns().map(|wait_ns| Ok(of_waiting(wait_ns))),
            Some(remedy) => Some(replays.saving(&[remedy])?),
            None => None,
        };
    }
    // What the profiler costs is in every figure.
    let overhead = Some(Remedy::Remove(Removed::ProfilerOverhead));
    if fired.iter().any(|fired| remedy_of(fired.rule) == overhead) {
        for saving in fired.iter_mut().filter_map(|fired| fired.saving.as_mut()?.as_mut().ok()) {
            saving.confidence = if saving.confidence == "high" { "medium" } else { "low" };
        }
    }
    let mut failure = None;
    let verdict = judge(fired, replays.step_ns(), (facts, thresholds), |rules| {
        let remedies: Vec<Remedy> = rules.iter().copied().filter_map(remedy_of).collect();
        // What that saves follows from the lengths of the steps alone.
        if remedies.contains(&Remedy::EvenSteps) {
            return None;
        }
        let (waits, others): (Vec<Remedy>, Vec<Remedy>) =
            remedies.into_iter().partition(|remedy| is_host_alone && *remedy == Remedy::EqualRanks);
        let unreplayed_ns = if waits.is_empty() { 0.0 } else { wait_ns };
        if others.is_empty() {
            return Some(unreplayed_ns);
        }
        match replays.saving(&others) {
            Ok(saving) => saving.ok().map(|saving| saving.saving_ns + unreplayed_ns),
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    });
    failure.map_or(Ok((verdict, None)), Err)
}

/// What is saved if every step takes as long as the median step.
fn even_steps(times: StepTimes) -> PredictedSaving {
    let saving_ns = (times.mean_ns - times.p50_ns as f64).max(0.0);
    PredictedSaving { saving_ns, low_ns: saving_ns, high_ns: saving_ns, bound: "estimate", confidence: "medium" }
}

/// What is saved at most if nobody waits: the waiting that was measured.
fn of_waiting(wait_ns: f64) -> PredictedSaving {
    PredictedSaving { saving_ns: wait_ns, low_ns: 0.0, high_ns: wait_ns, bound: "at most", confidence: "low" }
}

fn remedy_of(rule: &Rule) -> Option<Remedy> {
    if let Weight::Saving(remedy) = rule.weight { Some(remedy) } else { None }
}

/// What to say where no rule finds anything and the device is the limit.
pub(super) fn nothing_but_the_device(findings: &[Finding], facts: &Facts, device: &str) -> Option<Text> {
    let bound = facts.bound().filter(|_| findings.is_empty())?;
    let kernels = Target::of("kernels").grouped_by("category");
    Some(Text::from(say!("No finding: {} Show where it goes: {}", step_times::busy_with(bound, device), kernels)))
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
        right: match &finding.saving {
            Ok(saving) => Some(Status::Saving(saving.saving_ns)),
            Err(_) => finding.at_stake_ns.map(Status::AtStake),
        },
        tone: Tone::Strong,
        ..Text::default()
    };
    let saving = match &finding.saving {
        Ok(saving) => Some(in_range(saving, finding.change)),
        Err(reason) => finding.change.is_some().then(|| say!("not known: {}", reason)),
    };
    let mut texts = vec![
        heading,
        Text::labeled(Role::Rule, vec![finding.rule.into()]),
        Text::labeled(Role::What, vec![finding.what.clone().into()]),
        Text::labeled(Role::Why, vec![finding.why.into()]),
        Text::labeled(Role::Evidence, finding.evidence.clone()),
    ];
    texts.extend(saving.map(|saving| Text::labeled(Role::Saving, vec![saving])));
    texts.extend([
        Text::code(Role::Fix, finding.fix.lines().map(Sentence::from).collect()),
        Text::labeled(Role::NotThis, vec![finding.not_this.into()]),
        Text::code(Role::Show, shown(finding).collect()),
    ]);
    texts
}

/// A saving with its range, what it is worth and what was changed.
fn in_range(saving: &PredictedSaving, change: Option<&'static str>) -> Sentence {
    let range = say!("{} to {} per step", say::ns(saving.low_ns), say::ns(saving.high_ns));
    let how = format!("{}, confidence {}, by {}", saving.bound, saving.confidence, change.unwrap_or_default());
    say!("{}; {}", range, how)
}

/// The same for programs.
fn rows(findings: &[Finding]) -> ReportTable {
    let texts = |name: &str| ReportColumn::named(name).holds(Holds::Texts).look(Look::Hidden);
    let at_stake = ReportColumn::named("at_stake_ns").holds(Holds::Numbers).look(Look::Hidden).null(NOT_APPLICABLE);
    let reason = saving_null(findings);
    let of_saving = |name: &str| ReportColumn::named(name).look(Look::Hidden).null(reason);
    let numbers = |name: &str| of_saving(name).holds(Holds::Numbers);
    let words = |name: &str| of_saving(name).holds(Holds::Texts);
    let change = texts("change").null(NOT_APPLICABLE);
    let saving_null = texts("saving_null").null(NOT_APPLICABLE);
    let saving = |finding: &Finding| finding.saving.clone().ok();
    ReportTable::of("rows", findings)
        .column(texts("rule"), |finding| finding.rule)
        .column(texts("severity"), |finding| finding.severity.as_text())
        .column(texts("title"), |finding| finding.title.clone())
        .column(numbers("saving_ns"), |finding| saving(finding).map(|saving| saving.saving_ns))
        .column(numbers("saving_low_ns"), |finding| saving(finding).map(|saving| saving.low_ns))
        .column(numbers("saving_high_ns"), |finding| saving(finding).map(|saving| saving.high_ns))
        .column(words("bound"), |finding| saving(finding).map(|saving| saving.bound))
        .column(words("confidence"), |finding| saving(finding).map(|saving| saving.confidence))
        .column(change, |finding| finding.change)
        .column(saving_null, |finding| finding.saving.clone().err())
        .column(at_stake, |finding| finding.at_stake_ns)
        .column(texts("evidence"), |finding| finding.evidence.clone())
        .column(texts("fix"), |finding| finding.fix.clone())
        .column(texts("not_this"), |finding| finding.not_this)
        .column(texts("show"), |finding| Sentence::joined(shown(finding), "\n"))
        .column(texts("figures"), |finding| figures_of(finding))
        .column(texts("what"), |finding| finding.what.clone())
        .column(texts("why"), |finding| finding.why)
        .table()
}

/// Why savings are not known: of a rule that has a change, if any. Each row says its own reason.
fn saving_null(findings: &[Finding]) -> &str {
    let reasons = findings.iter().filter_map(|finding| finding.saving.as_ref().err());
    let mut reasons = reasons.map(String::as_str).filter(|reason| *reason != NOT_APPLICABLE);
    reasons.next().unwrap_or(NOT_APPLICABLE)
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
    let saving = named("saving_ns").label("saves per step").unit(Unit::Nanoseconds).null(saving_null(findings));
    let at_stake = named("at_stake_ns").unit(Unit::Nanoseconds).look(Look::Hidden).null(NOT_APPLICABLE);
    let saving_null = named("saving_null").look(Look::Hidden).null(NOT_APPLICABLE);
    let table = ReportTable::of("findings", findings)
        .column(named("severity").label("").look(Look::Severity), |finding| finding.severity.as_text())
        .column(named("title"), |finding| finding.title.clone())
        .column(named("evidence").look(Look::Detail), |finding| finding.evidence.first().cloned().unwrap_or_default())
        .column(saving, |finding| finding.saving.as_ref().ok().map(|saving| saving.saving_ns))
        .column(at_stake, |finding| finding.at_stake_ns)
        .column(saving_null, |finding| finding.saving.clone().err())
        .column(named("rule").look(Look::Hidden), |finding| finding.rule)
        .table();
    ReportTable { title: Some("FINDINGS".to_owned()), ..table }
}
