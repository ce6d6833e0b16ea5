//! From a question to the report: what every analysis has in common.

use stepscope_model::{Cell, Part, Report, Role, Sentence, SourceRecord, Target, Text, say};
use stepscope_runs::{OpenRun, RunError};

use super::{Analysis, Asking, Question, StepNumbers};

/// Answers one of [`ANALYSES`](crate::ANALYSES) about a run.
pub fn analyze(run: &OpenRun, analysis: &Analysis, question: &Question) -> Result<Report, RunError> {
    if let Some(unknown) = question.group_by.iter().find(|asked| !analysis.groupings.contains(&asked.as_str())) {
        let known = analysis.groupings.iter().map(|&grouping| grouping.to_owned()).collect();
        return Err(RunError::NoSuchGrouping { grouping: unknown.clone(), analysis: analysis.name, known });
    }
    let mut asking = Asking::of(run, question)?;
    if FROM_SUMS.contains(&analysis.name) {
        asking.engine = run.engine_of_what_is_there()?;
    }
    let mut report = (analysis.answer)(&asking)?;
    if let Some(note) = events_not_stored(&asking).filter(|_| FROM_SUMS.contains(&analysis.name)) {
        report.parts.push(Part::Text(note.into()));
    }
    if StepNumbers::are_needed(&report) {
        StepNumbers::read(&asking)?.label(&mut report);
    }
    if asking.sources.iter().all(|source| source.is_profile() && !analysis.reads.contains(&source.content)) {
        let text = say!(
            "This is a cProfile profile, which has nothing for `{}`. Use `{}`.",
            analysis.name,
            Target::of("functions")
        );
        report.parts.insert(0, Part::Text(text.into()));
    }
    let is_snapshot = |source: &&SourceRecord| source.is_memory_snapshot();
    if !matches!(analysis.name, "summary" | "memory" | "diagnose" | "regions" | "steps")
        && asking.sources.iter().all(is_snapshot)
    {
        let text = say!("This is a memory snapshot. Use `{}`.", Target::of("memory"));
        report.parts.insert(0, Part::Text(text.into()));
    }
    if let Some(note) = steps_left_out(&asking) {
        if !report.data.iter().any(|(name, _)| *name == "notes") {
            report.data.push(("notes", Cell::Sentences(vec![note.clone()])));
        }
        report.parts.push(Part::Text(Text::labeled(Role::Steps, vec![note])));
    }
    Ok(report)
}

/// Analyses that have an answer without events. The others are refused when the store has sums alone.
const FROM_SUMS: [&str; 3] = ["summary", "steps", "comms"];

/// What to say about recordings whose events are not in the store, if there are such.
fn events_not_stored(asking: &Asking<'_>) -> Option<Sentence> {
    let count = asking.without_events();
    let of = say::count(asking.sources.len() as i64);
    (count > 0).then(|| {
        say!("The store has only sums of {} of {} traces. What needs events is missing.", say::count(count as i64), of)
    })
}

/// What to say about steps that were asked for and are not in the trace, if there are such.
pub(crate) fn steps_left_out(asking: &Asking<'_>) -> Option<Sentence> {
    let (asked, steps) = (asking.question.steps?, asking.steps.as_ref()?);
    let range = |first: i64, last: i64| match last - first {
        0 => format!("step {first}"),
        _ => format!("steps {first} to {last}"),
    };
    let ((first, last), (asked_first, asked_last)) = (steps.numbers, (asked.first.into(), asked.last.into()));
    let before = (asked_first < first).then(|| range(asked_first, first - 1));
    let after = (asked_last > last).then(|| range(last + 1, asked_last));
    let is_one = (first - asked_first).max(0) + (asked_last - last).max(0) == 1;
    let left_out: Vec<String> = before.into_iter().chain(after).collect();
    let verb = if is_one { "is" } else { "are" };
    let noun = if steps.all.parse::<i64>().is_ok() { "step" } else { "steps" };
    let note = || format!("{} {verb} not in the trace: it has {noun} {}", left_out.join(" and "), steps.all).into();
    (!left_out.is_empty()).then(note)
}
