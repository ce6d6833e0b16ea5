//! The critical path of a job: from rank to rank, which wait for each other in collectives (metrics, section 25).

use std::collections::BTreeMap;
use std::ops::Range;

use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{
    Cell, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, SourceRecord, Target, Text,
    say,
};
use stepscope_replay::recording::Recording;
use stepscope_replay::{JobModel, JobPath, JobStep, PathClass, document};
use stepscope_runs::{JobWindow, RunError};

use super::classes;
use crate::Asking;

/// Ranks that are joined at most: each takes memory, and a path visits few of them.
const MOST_RANKS: usize = 64;
/// Names that are listed.
const TOP_NAMES: usize = 20;

/// The steps that are asked about, with their paths.
struct JobSteps<'a> {
    model: &'a JobModel,
    paths: Vec<JobPath>,
    total_ns: i64,
}

/// What is told about the path of all ranks. `Err` says why there is none, so that one rank is looked at instead; an
/// empty reason means that one rank is what was asked about.
pub(super) fn answer(asking: &Asking<'_>) -> Result<Result<Report, String>, RunError> {
    let count = asking.ranks().len();
    if count < 2 || asking.has_windows() || asking.groups_by("name") {
        return Ok(Err(String::new()));
    }
    if count > MOST_RANKS {
        return Ok(Err(format!("a path across ranks joins {MOST_RANKS} of them at most")));
    }
    let sources: Vec<SourceRecord> = asking.sources.iter().map(|source| (*source).clone()).collect();
    let window = match asking.open.job_model(&sources)? {
        Ok(window) => window,
        Err(reason) => return Ok(Err(format!("no path across ranks: {reason}"))),
    };
    let Some(places) = asked(asking, &window.model) else {
        return Ok(Err("no path across ranks: the step is not in the window of all ranks".to_owned()));
    };
    let paths: Vec<JobPath> = window.model.paths().drain(places.clone()).collect();
    let total_ns = window.model.steps()[places].iter().map(JobStep::dur_ns).sum();
    Ok(Ok(report(&JobSteps { model: &window.model, paths, total_ns }, &window)))
}

/// The places of the asked steps in the window; none if it does not have them all.
fn asked(asking: &Asking<'_>, model: &JobModel) -> Option<Range<usize>> {
    let all = 0..model.steps().len();
    let Some(steps) = &asking.steps else { return Some(all) };
    let first = model.recordings().next()?;
    let id = asking.sources.iter().find(|source| source.id.rank == first.rank)?.id;
    let asked = steps.places.get(&(i64::from(id.rank), i64::from(id.window)))?;
    let place = |place: usize| place.checked_sub(first.window.steps.start);
    let asked = place(asked.start)?..place(asked.end)?;
    (asked.start < asked.end && asked.end <= all.end).then_some(asked)
}

fn report(steps: &JobSteps<'_>, window: &JobWindow) -> Report {
    let model = steps.model;
    let headline = headline(steps);
    let mut parts =
        vec![Part::Text(Text::headline(headline.clone())), Part::Text(Sentence::facts(trust(steps)).into())];
    let all_classes: Vec<_> = steps.paths.iter().map(|path| &path.classes_ns).collect();
    parts.push(Part::Table(classes::table_of(&all_classes, steps.total_ns)));
    parts.push(Part::Table(by_rank(steps)));
    parts.push(Part::Table(names(steps)));
    let mut lines: Vec<Sentence> = Vec::new();
    if window.steps_left_out > 0 {
        let left_out = say::counted(window.steps_left_out, "step");
        lines.push(say!("{} left out to stay within the memory limit; `--memory-limit` raises it", left_out));
    }
    for (group, reason) in model.unmatched() {
        lines.push(say!("process group {} does not join its ranks: {}", group.to_string(), *reason));
    }
    let equal = model.equal_ranks();
    lines.push(match &equal {
        Ok(equal) => {
            let step_ns = equal.step_ns.iter().sum::<i64>() as f64 / equal.step_ns.len().max(1) as f64;
            let rank = model.recordings().nth(equal.median).map_or(0, |recording| recording.rank);
            say!("if all ranks were like rank {}: {} per step", say::count(rank.into()), say::ns(step_ns))
        }
        Err(reason) => say!("step time with equal ranks not known: {}", *reason),
    });
    parts.extend(lines.into_iter().map(|line| Part::Text(line.into())));
    let one = Target::of("critical");
    parts.push(Part::Text(Text::code(Role::Next, vec![say!("{} --rank {}", one, say::count(longest_rank(steps)))])));
    let mut report = Report::new("critical", parts);
    report.data =
        document::JOB_MEMBERS.into_iter().map(|name| (name, Cell::Json(document::job_member(model, name)))).collect();
    report.data.push(("headline", Cell::Sentence(headline)));
    if let Err(reason) = equal {
        let (path, label) = ("equal_ranks".to_owned(), "step time with equal ranks".to_owned());
        report.missing.push(Missing { path, label, reason: reason.into() });
    }
    for (place, _) in model.clock_offsets_ns().iter().enumerate().filter(|(_, offset_ns)| offset_ns.is_none()) {
        let (path, label) = (format!("clock_offset_ns[{place}]"), "clock offset".to_owned());
        report.missing.push(Missing { path, label, reason: "no collective with the first rank".into() });
    }
    report
}

/// How long a step of the job takes, and on which ranks its path is.
fn headline(steps: &JobSteps<'_>) -> Sentence {
    const TOLD: usize = 3;
    let count = steps.paths.len().max(1) as f64;
    let step = say!("Job step {}", say::ns(steps.total_ns as f64 / count));
    let told = on_ranks(steps).into_iter().take(TOLD).map(|(rank, time_ns)| {
        let share = say::ratio(time_ns as f64 / steps.total_ns.max(1) as f64);
        let place = rank.map_or_else(|| "between ranks".into(), |rank| say!("on rank {}", say::count(rank.into())));
        say!("{} {}", share, place)
    });
    say!("{}: {}.", step, Sentence::joined(told, ", "))
}

/// How far the path can be trusted.
fn trust(steps: &JobSteps<'_>) -> Vec<Sentence> {
    let model = steps.model;
    let (joined, all) = (say::count(model.join_count() as i64), say::count(model.collective_count() as i64));
    let error = model.strict_error_ratio().map(|error| say!("model error {}", say::ratio(error.abs())));
    let unexplained = model.unexplained_ratio().map(|ratio| say!("{} unexplained", say::ratio(ratio)));
    let first = [
        say::counted(steps.paths.len(), "step"),
        say::counted(model.recordings().len(), "rank"),
        say!("{} of {} collectives join ranks", joined, all),
    ];
    first.into_iter().chain(error).chain(unexplained).collect()
}

/// Time of the path on each rank, and between ranks; the longest first.
fn on_ranks(steps: &JobSteps<'_>) -> Vec<(Option<u32>, i64)> {
    let ranks = steps.model.recordings().enumerate().map(|(place, recording)| {
        (Some(recording.rank), steps.paths.iter().map(|path| path.on_rank_ns[place]).sum::<i64>())
    });
    let transfer_ns = steps.paths.iter().map(|path| path.transfer_ns).sum();
    let mut times: Vec<(Option<u32>, i64)> = ranks.chain([(None, transfer_ns)]).filter(|(_, ns)| *ns > 0).collect();
    times.sort_by_key(|(rank, time_ns)| (-time_ns, *rank));
    times
}

fn longest_rank(steps: &JobSteps<'_>) -> i64 {
    on_ranks(steps).into_iter().find_map(|(rank, _)| rank).unwrap_or(0).into()
}

/// A row for each rank that the path visits.
fn by_rank(steps: &JobSteps<'_>) -> ReportTable {
    let (total_ns, count) = (steps.total_ns.max(1) as f64, steps.paths.len().max(1) as f64);
    let largest = |rank: &Option<u32>| {
        let mut classes_ns = [0_i64; PathClass::ALL.len()];
        for piece in steps.paths.iter().flat_map(|path| &path.pieces) {
            let on = (!piece.is_transfer).then(|| rank_of(steps.model, piece.rank));
            if on == *rank {
                classes_ns[piece.piece.class as usize] += piece.piece.dur_ns();
            }
        }
        let largest = PathClass::ALL.into_iter().max_by_key(|class| classes_ns[*class as usize]);
        largest.map(|class| format!("mostly {}", classes::in_words(class)))
    };
    let named = ReportColumn::named;
    let per_step = named("path_per_step_ns").holds(Holds::Numbers).label("per step").look(Look::Bar(None));
    let rank = named("rank").holds(Holds::Integers).null(NOT_APPLICABLE);
    let mut table = ReportTable::of("rows", on_ranks(steps))
        .column(rank, |(rank, _)| rank.map(i64::from))
        .column(named("path_ns").look(Look::Hidden), |(_, time_ns)| *time_ns)
        .column(per_step, |(_, time_ns)| *time_ns as f64 / count)
        .column(named("share_ratio").label("share"), |(_, time_ns)| *time_ns as f64 / total_ns)
        .column(named("largest").holds(Holds::Texts).label("").null(NOT_APPLICABLE), |(rank, _)| largest(rank))
        .table();
    table.title = Some("RANK".to_owned());
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    table.notes.push("a row without a rank is a transfer between ranks".into());
    table
}

/// What the path consists of, on which rank; the longest first.
fn names(steps: &JobSteps<'_>) -> ReportTable {
    let recordings: Vec<&Recording> = steps.model.recordings().collect();
    let mut times: BTreeMap<(u32, &str, &str), (i64, i64)> = BTreeMap::new();
    for piece in steps.paths.iter().flat_map(|path| &path.pieces) {
        let recording = recordings[piece.rank];
        let key = (recording.rank, piece.piece.class.as_text(), piece.piece.row_name(recording));
        let (time_ns, pieces) = times.entry(key).or_default();
        *time_ns += piece.piece.dur_ns();
        *pieces += 1;
    }
    let mut rows: Vec<_> = times.into_iter().collect();
    rows.sort_by_key(|(_, (time_ns, _))| -time_ns);
    let all = rows.len();
    rows.truncate(TOP_NAMES);
    let (total_ns, count) = (steps.total_ns.max(1) as f64, steps.paths.len().max(1) as f64);
    let named = ReportColumn::named;
    let per_step = named("path_per_step_ns").holds(Holds::Numbers).label("per step").look(Look::Bar(None));
    let name = named("name").look(Look::Operator).null(NOT_APPLICABLE);
    let mut table = ReportTable::of("names", rows)
        .column(named("rank").holds(Holds::Integers), |((rank, ..), _)| i64::from(*rank))
        .column(named("class").holds(Holds::Texts).look(Look::Class), |((_, class, _), _)| *class)
        .column(name, |((.., name), _)| Some(*name).filter(|name| !name.is_empty()))
        .column(named("path_ns").look(Look::Hidden), |(_, (time_ns, _))| *time_ns)
        .column(per_step, |(_, (time_ns, _))| *time_ns as f64 / count)
        .column(named("share_ratio").label("share"), |(_, (time_ns, _))| *time_ns as f64 / total_ns)
        .column(named("pieces").holds(Holds::Integers).from_width(80), |(_, (_, pieces))| *pieces)
        .table();
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    if all > TOP_NAMES {
        let (top, all) = (say::count(TOP_NAMES as i64), say::count(all as i64));
        table.notes.push(say!("{} of {} rows; `--rank` shows those of one rank", top, all));
    }
    table
}

fn rank_of(model: &JobModel, place: usize) -> u32 {
    model.recordings().nth(place).map_or(0, |recording| recording.rank)
}
