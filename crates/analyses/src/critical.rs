//! The critical path: what made the steps as long as they are (metrics, section 25).

mod classes;
mod longest;
mod operators;
mod pieces;
mod ranks;

use serde_json::{Map, Value as Json};
use stepscope_model::null_reason::ZERO_DURATION;
use stepscope_model::{Cell, EmptyPage, Missing, Page, Part, Report, Role, RowCount, Sentence, Target, Text, say};
use stepscope_replay::{PathClass, StepPath, document};
use stepscope_runs::RunError;

pub(crate) use self::classes::{in_words as class_in_words, meaning as class_meaning};
pub use self::longest::{PathPart, longest_piece};
use super::step_model::{Modeled, ModeledSteps};
use super::whatif::{self, AskedChange, ChangeSaving, is_whole_trace, mean_step_ns};
use super::{Analysis, Asking, Content};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "critical",
    title: "Critical path",
    about: "Show the critical path: what bounds a step, and what would shorten it",
    examples: &[
        ("stepscope critical trace.json.gz", "by class, operator and kernel"),
        ("stepscope critical trace.json.gz --step 12", "one step, piece by piece"),
        ("stepscope critical trace.json.gz --group-by name", "every kernel, operator and call on the path"),
        ("stepscope critical runs/", "from rank to rank"),
        ("stepscope critical runs/ --rank 3", "one rank"),
    ],
    groupings: &["name"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: false,
    page: Some(Page {
        address: "critical",
        key: Some('h'),
        noun: "rows",
        rows_by: "operator",
        groups: &[("name", "class and name")],
        has_values: false,
        count: RowCount::None,
        empty: EmptyPage {
            title: "No critical path",
            why: "Call `prof.step()` after each iteration, and record the host and the device.",
            code: Some("profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"),
        },
        statement: "SELECT class, name, sum(dur_ns) AS path_ns FROM critical_path\nGROUP BY class, name\nORDER BY path_ns DESC",
        ..Page::BY_NAME
    }),
    answer,
};

/// Savings below this share of a step are not worth a row.
const LEAST_SAVING: f64 = 0.001;

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let reason = match ranks::answer(asking)? {
        Ok(report) => return Ok(report),
        Err(reason) => Some(reason).filter(|reason| !reason.is_empty()),
    };
    let modeled = asking.first_model()?;
    let steps = match &modeled.steps {
        Ok(steps) => steps,
        Err(reason) => return Ok(without_path(reason)),
    };
    let all_paths = steps.model().paths();
    let paths = &all_paths[steps.asked.clone()];
    let mut changes: Vec<ChangeSaving> =
        AskedChange::usual().iter().map(|change| ChangeSaving::alone(steps, change)).collect();
    let whatif = document_savings(steps, &changes);
    let headline = headline(steps, paths);
    let mut parts =
        vec![Part::Text(Text::headline(headline.clone())), Part::Text(Sentence::facts(whatif::trust(steps)).into())];
    parts.push(Part::Table(classes::table(steps, paths)));
    if asking.groups_by("name") {
        parts.push(Part::Table(operators::by_name(steps, paths)));
    } else if let (Some(_), [path]) = (&asking.steps, paths) {
        parts.push(Part::Table(pieces::table(steps, path)));
    } else {
        parts.push(Part::Table(operators::by_operator(steps, paths)));
        parts.extend(operators::kernels(steps, paths).map(Part::Table));
    }
    let null = steps.model().savings_null();
    let savings = |change: &ChangeSaving| change.known().map_or(0.0, |saving| saving.saving_ns);
    changes.retain(|change| savings(change) > LEAST_SAVING * mean_step_ns(steps));
    changes.sort_by(|a, b| savings(b).total_cmp(&savings(a)));
    if !changes.is_empty() {
        let mut table = whatif::savings_table("changes", &changes, steps);
        table.notes.push("savings of several changes do not add up".into());
        parts.push(Part::Table(table));
    }
    parts.extend(reason.map(|reason| Part::Text(Sentence::from(reason).into())));
    parts.extend(notes(asking, &modeled, steps).into_iter().map(|line| Part::Text(line.into())));
    parts.extend(whatif::figures(steps));
    parts.push(Part::Text(Text::code(Role::Next, vec![say!("{} --no-sync", Target::of("whatif"))])));
    let mut report = Report::new("critical", parts);
    let own = ["unexplained_ratio", "savings_null", "whatif"];
    let members: Vec<&str> = document::MEMBERS.into_iter().filter(|name| !own.contains(name)).collect();
    report.data = whatif::document_members(steps, &members);
    report.data.push(("whatif", Cell::Json(whatif)));
    report.data.push(("headline", Cell::Sentence(headline)));
    report.missing = whatif::missing_figures(steps);
    if steps.model().steps().iter().any(|step| step.dur_ns == 0) {
        let (path, label) = ("path[].strict_error_ratio".to_owned(), String::new());
        report.missing.push(Missing { path, label, reason: ZERO_DURATION.into() });
    }
    if let Some(reason) = null {
        let (path, label) = ("changes".to_owned(), "savings".to_owned());
        report.missing.push(Missing { path, label, reason: reason.into() });
    }
    Ok(report)
}

/// How long a step takes, and what most of its path is.
fn headline(steps: &ModeledSteps, paths: &[StepPath]) -> Sentence {
    const TOLD: usize = 3;
    const LEAST: f64 = 0.02;
    let total: i64 = steps.steps().iter().map(|step| step.dur_ns).sum();
    let subject = if is_whole_trace(steps) { "Trace" } else { "Step" };
    let step = say!("{} {}", subject, say::ns(mean_step_ns(steps)));
    if total == 0 {
        return say!("{}.", step);
    }
    let share = |(_, time_ns): &(PathClass, i64)| *time_ns as f64 / total as f64;
    let told = classes::by_time(paths).into_iter().take(TOLD).filter(|class| share(class) >= LEAST);
    let told = told.map(|class| say!("{} {}", say::ratio(share(&class)), classes::in_words(class.0)));
    say!("{}: {}.", step, Sentence::joined(told, ", "))
}

/// The savings of the document, over the whole window.
fn document_savings(steps: &ModeledSteps, changes: &[ChangeSaving]) -> Json {
    let model = steps.model();
    let names = document::documented_changes(model.recording()).into_iter().map(|(name, _)| name.to_owned());
    let whole = |change: &ChangeSaving| model.saving_of(&change.replayed, 0..model.steps().len());
    let members: Map<String, Json> =
        names.zip(changes).map(|(name, change)| (name, document::saving(&whole(change)))).collect();
    Json::Object(members)
}

/// What the path rests on, and what it leaves out.
fn notes(asking: &Asking<'_>, modeled: &Modeled<'_>, steps: &ModeledSteps) -> Vec<Sentence> {
    let count = |name: &str| steps.model().notes.count(name);
    let mut lines = whatif::limits(asking, modeled, steps);
    let inferred = count("cross_stream_inferred") + count("waits_inferred");
    let recorded = count("cross_stream_recorded") + count("waits_recorded");
    if inferred > 0 {
        let (inferred, all) = (say::count(inferred as i64), say::count((inferred + recorded) as i64));
        lines.push(say!("{} of {} waits are inferred from API semantics and times, not recorded", inferred, all));
    }
    let contradicted = count("cross_stream_contradicted") + count("wait_against_time");
    if contradicted > 0 {
        lines.push(say!("{} waits contradict the recorded times and are left out", say::count(contradicted as i64)));
    }
    lines
}

/// The report about a recording without a path.
fn without_path(reason: &str) -> Report {
    let text = Text::headline(say!("No critical path: {}.", reason));
    let next = Text::code(Role::Next, vec![Target::of("health").into()]);
    let table = operators::empty();
    let mut report = Report::new("critical", vec![Part::Text(text), Part::Table(table), Part::Text(next)]);
    report.data = document::MEMBERS.into_iter().map(|name| (name, Cell::Null)).collect();
    let missing =
        |path: &str| Missing { path: path.to_owned(), label: "critical path".to_owned(), reason: reason.into() };
    report.missing = document::MEMBERS.into_iter().chain(["rows"]).map(missing).collect();
    report
}
