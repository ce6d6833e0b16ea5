//! What changes would save: the steps of a recording replayed with them (metrics, section 26).

mod asked;

use serde_json::{Map, Value as Json};
use stepscope_model::null_reason::{NO_DEVICE_EVENTS, NOT_APPLICABLE, ZERO_DURATION};
use stepscope_model::{
    Cell, Holds, Look, Metric, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, StepSource, Target,
    Text, Unit, say,
};
use stepscope_replay::{Bound, Change, Confidence, Replayed, Saving, document};
use stepscope_runs::{OpenRun, RunError};

pub use self::asked::{AskedChange, ChangeError, TRANSFORMATIONS, Transformation};
use super::analyze::steps_left_out;
use super::step_model::{Modeled, ModeledSteps};
use super::{Asking, Question};

/// What each change saves alone, and what all save together.
pub fn whatif(run: &OpenRun, changes: &[AskedChange], question: &Question) -> Result<Report, RunError> {
    let asking = Asking::of(run, question)?;
    let modeled = asking.first_model()?;
    let steps = match &modeled.steps {
        Ok(steps) => steps,
        Err(reason) => return Ok(without_model(reason)),
    };
    let mut savings: Vec<ChangeSaving> = changes.iter().map(|change| ChangeSaving::alone(steps, change)).collect();
    savings.extend((changes.len() > 1).then(|| ChangeSaving::together(steps, changes)));
    let rows = savings_table("rows", &savings, steps);
    let missing = missing_savings(&savings, steps);
    let whatif: Map<String, Json> =
        savings.iter().map(|saving| (saving.label.clone(), document::saving(&saving.saving))).collect();
    let mut parts = Vec::new();
    let headline = savings.last().map(|saving| headline(saving, steps)).unwrap_or_default();
    parts.push(Part::Text(Text::headline(headline.clone())));
    parts.push(Part::Text(Text::from(Sentence::facts(trust(steps)))));
    parts.push(Part::Table(rows));
    parts.extend(notes(&asking, &modeled, steps, &savings));
    parts.extend(steps_left_out(&asking).map(|note| Part::Text(Text::labeled(Role::Steps, vec![note]))));
    parts.extend(figures(steps));
    let mut report = Report::new("whatif", parts);
    report.data.extend(document_members(steps, &["step_source", "steps", "identity"]));
    report.data.push(("whatif", Cell::Json(Json::Object(whatif))));
    report.data.push(("headline", Cell::Sentence(headline)));
    report.missing = missing;
    report.missing.extend(missing_figures(steps));
    Ok(report)
}

/// Every transformation, and what its saving is worth.
#[must_use]
pub fn transformations() -> Report {
    let named = ReportColumn::named;
    let table = ReportTable::of("rows", &TRANSFORMATIONS)
        .column(named("name").look(Look::Hidden), |known| known.name)
        .column(named("option").holds(Holds::Texts), |known| match known.value() {
            Some(value) => format!("--{} {value}", known.option),
            None => format!("--{}", known.option),
        })
        .column(named("about").label("what changes").holds(Holds::Texts), |known| known.about)
        .column(named("bound").label("the saving is").holds(Holds::Texts), |known| bound_in_words(known.bound()))
        .column(named("because").holds(Holds::Texts).look(Look::Detail), |known| known.because)
        .table();
    let kinds = "KIND is kernel, communication, memcpy, memset, op, annotation or runtime. PATTERN is a name; * matches \
                 any text. An op or annotation includes the device work that it launches.";
    Report::new("whatif", vec![Part::Table(table), Part::Text(kinds.into())])
}

/// What a change saves, or why that is not known.
pub(super) struct ChangeSaving {
    /// As it is asked for.
    pub label: String,
    bound: Bound,
    /// How much work of the window the change is about, where it names some.
    matched: Option<usize>,
    /// The steps of the window with the change.
    pub replayed: Replayed,
    saving: Saving,
    /// Why the saving is not given.
    pub null: Option<&'static str>,
}

impl ChangeSaving {
    /// Of one change.
    pub(super) fn alone(steps: &ModeledSteps, asked: &AskedChange) -> Self {
        let model = steps.model();
        let (change, matched) = asked.resolve(model);
        let null = model.change_null(&change);
        let replayed = model.replay(&[change]);
        let saving = model.saving_of(&replayed, steps.asked.clone());
        Self { label: asked.to_string(), bound: asked.transformation.bound(), matched, replayed, saving, null }
    }

    /// Of several changes made together.
    fn together(steps: &ModeledSteps, asked: &[AskedChange]) -> Self {
        let model = steps.model();
        let changes: Vec<Change> = asked.iter().map(|change| change.resolve(model).0).collect();
        let nulls: Vec<_> = changes.iter().map(|change| model.change_null(change)).collect();
        let replayed = model.replay(&changes);
        let bounds = asked.iter().map(|change| change.transformation.bound());
        Self {
            label: "together".to_owned(),
            bound: bounds.reduce(Bound::and).unwrap_or(Bound::Estimate),
            matched: None,
            saving: model.saving_of(&replayed, steps.asked.clone()),
            replayed,
            // A change that has no answer here leaves the others theirs.
            null: nulls.iter().all(Option::is_some).then(|| nulls.first().copied().flatten()).flatten(),
        }
    }

    /// The saving, if it may be shown.
    pub(super) fn known(&self) -> Option<&Saving> {
        Some(&self.saving).filter(|_| self.null.is_none())
    }
}

/// A row for each change.
pub(super) fn savings_table(name: &str, savings: &[ChangeSaving], steps: &ModeledSteps) -> ReportTable {
    let step_ns = mean_step_ns(steps);
    let confidence = confidence(steps);
    let known = |figure: fn(&Saving) -> f64| move |row: &&ChangeSaving| row.known().map(figure);
    let named = ReportColumn::named;
    let float = |name: &str| named(name).holds(Holds::Numbers);
    let is_asked = name == "rows";
    let has_matches = is_asked && savings.iter().any(|saving| saving.matched.is_some());
    let matched = named("matched").holds(Holds::Integers).null(NOT_APPLICABLE);
    let matched = matched.look(if has_matches { Look::Value } else { Look::Hidden });
    let mut table = ReportTable::of(name, savings)
        .column(named("change").label("what if").holds(Holds::Texts), |row| row.label.clone())
        .column(matched, |row| row.matched.map(|matched| matched as i64))
        .column(float("step_ns").look(Look::Hidden), |_| step_ns)
        .column(float("then_ns").label("step then").from_width(80), |row| {
            row.known().map(|saving| step_ns - saving.saving_ns)
        })
        .column(float("saving_ns").label("saving per step").look(Look::Bar(None)), known(|saving| saving.saving_ns))
        .column(float("low_ns").label("from"), known(|saving| saving.low_ns))
        .column(float("high_ns").label("to"), known(|saving| saving.high_ns))
        .column(named("saving_ratio").label("of the step"), |row| {
            row.known().filter(|_| step_ns > 0.0).map(|saving| saving.saving_ns / step_ns)
        })
        .column(named("bound").holds(Holds::Texts), |row| bound_in_words(row.bound))
        .column(named("confidence").holds(Holds::Texts).look(Look::Hidden), |_| confidence.as_text())
        .table();
    table.sorted_by = (!is_asked).then(|| "-saving_ns".to_owned());
    table
}

/// Why savings are not given.
fn missing_savings(savings: &[ChangeSaving], steps: &ModeledSteps) -> Vec<Missing> {
    let has_length = mean_step_ns(steps) > 0.0;
    let mut missing = Vec::new();
    for (row, saving) in savings.iter().enumerate() {
        let mut add = |column: &str, reason: &str| {
            let (path, label) = (format!("rows[{row}].{column}"), saving.label.clone());
            missing.push(Missing { path, label, reason: reason.into() });
        };
        match saving.null {
            Some(reason) => {
                for column in ["then_ns", "saving_ns", "low_ns", "high_ns", "saving_ratio"] {
                    add(column, reason);
                }
            }
            None if !has_length => add("saving_ratio", ZERO_DURATION),
            None => {}
        }
    }
    missing
}

/// How far the model can be trusted, as facts.
pub(super) fn trust(steps: &ModeledSteps) -> Vec<Sentence> {
    let model = steps.model();
    let counted = say::counted(steps.steps().len(), "step");
    let counted = if is_whole_trace(steps) { "the whole trace as one step".into() } else { counted };
    let error = model.strict_error_ratio().map(|error| say!("model error {}", say::ratio(error.abs())));
    let unexplained = model.unexplained_ratio().map(|ratio| say!("{} unexplained", say::ratio(ratio)));
    let confidence = say!("confidence {}", confidence(steps).as_text());
    let facts = [Some(counted), error, unexplained, Some(confidence).filter(|_| model.savings_null().is_none())];
    facts.into_iter().flatten().collect()
}

/// Figures of the document that may be missing, for programs.
pub(super) fn figures(steps: &ModeledSteps) -> Vec<Part> {
    let model = steps.model();
    let null = model.savings_null();
    let figures = [
        ("step_ns", Unit::Nanoseconds, Cell::Float(mean_step_ns(steps)), ZERO_DURATION),
        ("unexplained_ratio", Unit::Ratio, Cell::from(model.unexplained_ratio()), ZERO_DURATION),
        ("savings_null", Unit::Plain, Cell::from(null), NOT_APPLICABLE),
    ];
    let metric = |(name, unit, value, reason): (&str, Unit, Cell, &str)| {
        let reason = (value == Cell::Null).then(|| reason.into());
        Part::Metric(Metric { name: name.to_owned(), value, unit, reason, is_for_programs: true })
    };
    figures.into_iter().map(metric).collect()
}

/// Why figures inside members of the document are missing.
pub(super) fn missing_figures(steps: &ModeledSteps) -> Vec<Missing> {
    let model = steps.model();
    let no_length = model.strict_error_ratio().is_none().then_some(("identity.strict_error_ratio", ZERO_DURATION));
    let no_events = (!model.has_device_events()).then_some(("identity.starts_explained_ratio", NO_DEVICE_EVENTS));
    let missing =
        |(path, reason): (&str, &str)| Missing { path: path.to_owned(), label: String::new(), reason: reason.into() };
    [no_length, no_events].into_iter().flatten().map(missing).collect()
}

/// Members of the document of A13, by name.
pub(super) fn document_members(steps: &ModeledSteps, names: &[&'static str]) -> Vec<(&'static str, Cell)> {
    names.iter().map(|name| (*name, Cell::Json(document::member(steps.model(), name)))).collect()
}

/// What a recording cannot say, in words.
pub(super) fn limits(asking: &Asking<'_>, modeled: &Modeled<'_>, steps: &ModeledSteps) -> Vec<Sentence> {
    let mut lines = steps.limits();
    let others = asking.sources.len() - 1;
    if others > 0 {
        let ids = (say::count(modeled.source.id.rank.into()), say::count(modeled.source.id.window.into()));
        lines.push(if asking.has_windows() {
            say!(
                "rank {}, window {} of {} traces; choose with `--rank` and `--window`",
                ids.0,
                ids.1,
                say::count(others as i64 + 1)
            )
        } else {
            say!("rank {} of {} ranks; choose with `--rank`", ids.0, say::count(others as i64 + 1))
        });
    }
    if asking.question.has_time_range() {
        lines.push("a path covers whole steps, so the time range does not apply; choose with `--step`".into());
    }
    lines
}

fn notes(asking: &Asking<'_>, modeled: &Modeled<'_>, steps: &ModeledSteps, savings: &[ChangeSaving]) -> Vec<Part> {
    let mut lines = limits(asking, modeled, steps);
    if steps.steps().len() == 1 {
        let what = if is_whole_trace(steps) { "one step: savings are per trace" } else { "one step" };
        lines.push(say!("{}; the range does not include how much steps vary", what));
    }
    if savings.iter().any(|saving| saving.matched == Some(0)) {
        lines.push(
            "a change matches no work of these steps; names are listed by `stepscope kernels` and `stepscope ops`"
                .into(),
        );
    }
    if steps.model().recording().events.iter().any(|event| event.is_communication) {
        lines.push("one rank: communication includes waiting for other ranks".into());
    }
    lines.into_iter().map(|line| Part::Text(Text::from(line))).collect()
}

/// What the last of the changes makes of a step.
fn headline(last: &ChangeSaving, steps: &ModeledSteps) -> Sentence {
    let step_ns = mean_step_ns(steps);
    let subject = if is_whole_trace(steps) { "The trace" } else { "A step" };
    let Some(saving) = last.known() else {
        return say!("{} takes {}; what a change saves is not known.", subject, say::ns(step_ns));
    };
    let then = say::ns(step_ns - saving.saving_ns);
    let worth = match last.bound {
        Bound::Estimate => "about",
        Bound::AtMost => "at most",
        Bound::AtLeast => "at least",
        Bound::Orientation => "for orientation",
    };
    let range = say!("{} to {}", say::ns(saving.low_ns), say::ns(saving.high_ns));
    if saving.saving_ns <= 0.0 {
        return say!("{} still takes {}: nothing is saved.", subject, say::ns(step_ns));
    }
    let saved = say!("{} {} saved", worth, say::ns(saving.saving_ns));
    say!("{} takes {} instead of {}: {} ({}).", subject, then, say::ns(step_ns), saved, range)
}

/// The report about a recording that no model can be made of.
fn without_model(reason: &str) -> Report {
    let text = say!("What a change saves is not known: {}.", reason);
    let empty: [ChangeSaving; 0] = [];
    let table = ReportTable::of("rows", &empty)
        .column(ReportColumn::named("change").holds(Holds::Texts), |row| row.label.clone());
    let next = Text::code(Role::Next, vec![Target::of("health").into()]);
    let parts = vec![Part::Text(Text::headline(text)), Part::Table(table.table()), Part::Text(next)];
    let mut report = Report::new("whatif", parts);
    report.missing.push(Missing { path: "rows".to_owned(), label: "savings".to_owned(), reason: reason.into() });
    report
}

pub(super) fn is_whole_trace(steps: &ModeledSteps) -> bool {
    steps.model().recording().step_source == StepSource::WholeTrace
}

/// The mean length of the steps that are asked about.
pub(super) fn mean_step_ns(steps: &ModeledSteps) -> f64 {
    let total: i64 = steps.steps().iter().map(|step| step.dur_ns).sum();
    total as f64 / steps.steps().len().max(1) as f64
}

fn confidence(steps: &ModeledSteps) -> Confidence {
    Confidence::of(steps.model().strict_error_ratio(), steps.steps().len())
}

fn bound_in_words(bound: Bound) -> &'static str {
    if bound == Bound::Orientation { "for orientation" } else { bound.as_text() }
}
