//! Steps: how long each takes, what its time goes to, percentiles and throughput (metrics, sections 5 and 6).

use std::collections::BTreeMap;

use stepscope_model::null_reason::{NO_COMPLETE_STEP, NO_ROLLUPS, SAMPLES_NOT_RECORDED, SEVERAL_STEPS, not_grouped_by};
use stepscope_model::{
    Cell, Class, Holds, Look, Metric, Missing, Part, Report, ReportColumn, ReportTable, StepSource, Text, Unit, say,
};
use stepscope_runs::RunError;

use super::asking::missing_in;
use super::step_times::{self, Distribution, Headline, Shares, StepTime, Throughput};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount, gather};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "steps",
    title: "Steps",
    about: "Steps: how long each takes, and what its time goes to",
    examples: &[
        ("stepscope steps trace.json.gz", "every step, with percentiles"),
        (
            "stepscope steps trace.json.gz --samples-per-step 32",
            "with throughput, where the trace does not tell the samples",
        ),
        ("stepscope steps runs/ --group-by rank", "ranks side by side"),
        ("stepscope steps trace.json.gz -f json", "every class in nanoseconds"),
    ],
    groupings: &["rank", "window", "step"],
    usual_rows: Some(40),
    has_rows: true,
    reads: &[Content::Events],
    has_section: false,
    page: Some(Page {
        address: "steps",
        key: Some('e'),
        noun: "steps",
        has_values: false,
        table: Some("steps"),
        count: RowCount::OfTable,
        empty: EmptyPage {
            title: "No steps in this recording",
            why: "The profiler marks steps when the loop tells it about them.",
            code: Some(
                "with profile(schedule=schedule(wait=1, warmup=1, active=5)) as profiler:\n    \
                 for batch in loader:\n        train(batch)\n        profiler.step()",
            ),
        },
        statement: "SELECT * FROM steps\nORDER BY rank, step",
        ..Page::BY_NAME
    }),
    answer,
};

/// Steps that make one row.
type Key = (Option<i64>, Option<i64>, Option<i64>);

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let steps = step_times::read(asking)?;
    let complete: Vec<&StepTime> = steps.iter().filter(|step| step.is_complete).collect();
    let times = Distribution::of(complete.iter().map(|step| step.dur_ns));
    let throughput = times.as_ref().and_then(|times| step_times::throughput(asking, times, &complete));
    let (mut parts, mut data) = (Vec::new(), Vec::new());
    if let Some(times) = &times {
        let shares = step_times::sum(&complete);
        let (before_recording, waits) = gather::of_headline(asking, &steps)?;
        let headline = Headline {
            mean_ns: times.mean(),
            steps: complete.len(),
            is_marked: asking.sources.iter().any(|source| source.step_source != StepSource::WholeTrace),
            shares: shares.as_ref(),
            before_recording,
            waits: waits.as_ref(),
            bound: None,
        };
        let sentence = headline.sentence();
        data.extend([
            ("headline", Cell::Sentence(sentence.clone())),
            ("headline_figures", Cell::Json(headline.figures())),
        ]);
        parts.push(Part::Text(Text::headline(sentence)));
        parts.push(Part::Table(step_times::table("percentiles", asking, times, &complete)));
    }
    let mut rows = rows(asking, &steps);
    if let Some(Throughput { samples_per_s, notes }) = throughput {
        let (name, value) = ("samples_per_s".to_owned(), Cell::Float(samples_per_s));
        parts.push(Part::Metric(Metric { name, value, unit: Unit::Plain, reason: None, is_for_programs: false }));
        rows.notes.extend(notes);
    }
    let no_samples = missing_in(&rows, "samples", SAMPLES_NOT_RECORDED);
    parts.push(Part::Table(rows));
    let mut report = Report::new("steps", parts);
    report.data = data;
    report.missing.extend(no_samples);
    let mut missing = |path: &str, label: &str, reason: &str| {
        report.missing.push(Missing { path: path.to_owned(), label: label.to_owned(), reason: reason.into() });
    };
    if times.is_none() {
        missing("percentiles", "percentiles", NO_COMPLETE_STEP);
    }
    if steps.iter().any(|step| step.shares.is_none()) {
        let of_classes = Class::ALL.map(|class| format!("{}_ns", class.as_text()));
        let of_shares = ["utilization_ratio", "all_communication_ns", "overlap_ns", "shares"].map(str::to_owned);
        for column in of_classes.into_iter().chain(of_shares) {
            missing(&format!("rows[].{column}"), "breakdown", NO_ROLLUPS);
        }
    }
    Ok(report)
}

/// One row per step of one recording; over several recordings one row per step, or as asked.
fn rows(asking: &Asking<'_>, steps: &[StepTime]) -> ReportTable {
    let is_one = asking.sources.len() == 1;
    let (by_rank, by_window) = (asking.groups_by("rank"), asking.groups_by("window"));
    let by_step = asking.groups_by("step") || !(by_rank || by_window);
    // A step of one window is not that of another, whatever their numbers.
    let by_window = by_rank || by_window || (by_step && asking.has_windows());
    let mut groups: BTreeMap<Key, Vec<&StepTime>> = BTreeMap::new();
    for step in steps {
        let window = (is_one || by_window).then_some(step.window);
        let key = ((is_one || by_rank).then_some(step.rank), window, by_step.then_some(step.number));
        groups.entry(key).or_default().push(step);
    }
    let scope = Scope {
        by_rank,
        by_window,
        by_step,
        is_each: groups.values().all(|members| members.len() == 1),
        has_devices: steps.iter().any(|step| step.device_events > 0),
        has_samples: steps.iter().any(|step| step.samples.is_some()),
    };
    let rows = groups.iter().map(|(key, members)| row(*key, members, &scope)).collect();
    let mut table = ReportTable::rows(columns(asking, &scope), rows);
    let incomplete = steps.iter().filter(|step| !step.is_complete).count();
    if incomplete > 0 {
        table.notes.push(say!("{} left out of percentiles", say::counted(incomplete, "incomplete step")));
    }
    table.notes.push(say!("steps from {}", sources_of_steps(asking)));
    table
}

fn sources_of_steps(asking: &Asking<'_>) -> String {
    let mut names: Vec<&str> = asking.sources.iter().map(|source| source.step_source.as_text()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// What the rows are about.
#[expect(clippy::struct_excessive_bools, reason = "each shows or hides a column of its own")]
struct Scope {
    by_rank: bool,
    by_window: bool,
    by_step: bool,
    /// A row is one step of one recording.
    is_each: bool,
    has_devices: bool,
    has_samples: bool,
}

fn columns(asking: &Asking<'_>, scope: &Scope) -> Vec<ReportColumn> {
    let Scope { by_rank, by_window, by_step, is_each, has_devices, has_samples } = *scope;
    let is_one = asking.sources.len() == 1;
    let named = ReportColumn::named;
    let only_if = |is_shown: bool, look: Look| if is_shown { look } else { Look::Hidden };
    // Of one step it is whole, over several a mean.
    let mean = |name: &str| named(name).holds(Holds::Numbers);
    let mut columns = vec![
        named("rank").look(only_if(by_rank, Look::Value)).null(not_grouped_by("rank")),
        named("window").look(only_if(by_window && !is_one, Look::Value)).null(not_grouped_by("window")),
        named("step").label("place").look(Look::Hidden).null(not_grouped_by("step")),
        named("step_number")
            .label("step")
            .unit(Unit::Id)
            .holds(Holds::Integers)
            .look(only_if(by_step, Look::Value))
            .null(not_grouped_by("step")),
        named("name").holds(Holds::Texts).look(only_if(is_each, Look::Value)).from_width(100),
        named("steps").holds(Holds::Integers).look(only_if(!is_each, Look::Value)),
        named("start_ns").look(Look::Hidden).null(SEVERAL_STEPS),
        mean("dur_ns").label(if is_each { "time" } else { "mean time" }).look(Look::Bar(None)),
        named("min_ns").look(only_if(!is_each, Look::Value)),
        named("max_ns").look(only_if(!is_each, Look::Value)),
        named("slowest_rank")
            .unit(Unit::Id)
            .holds(Holds::Integers)
            .look(only_if(asking.ranks().len() > 1 && !by_rank, Look::Value)),
        mean("host_dur_ns").label("host").look(Look::Hidden),
        named("is_complete").label("complete").look(only_if(is_each, Look::Value)).from_width(100),
        mean("device_events").look(Look::Hidden),
        named("utilization_ratio").label("GPU").look(only_if(has_devices, Look::Value)),
    ];
    for class in Class::ALL {
        let is_shown = has_devices || !matches!(class, Class::Kernel | Class::Memcpy | Class::Memset);
        let is_main = matches!(class, Class::Kernel | Class::Communication | Class::Dataloader | Class::CpuExec);
        let name = format!("{}_ns", class.as_text());
        columns.push(mean(&name).look(only_if(is_shown, Look::Value)).from_width(if is_main { 80 } else { 140 }));
    }
    columns.push(mean("all_communication_ns").look(Look::Hidden));
    columns.push(mean("overlap_ns").look(Look::Hidden));
    columns.push(named("shares").holds(Holds::Lists).label("where it goes").look(Look::Stack).from_width(120));
    if has_samples {
        columns.push(mean("samples").from_width(100).null(SAMPLES_NOT_RECORDED));
    }
    columns
}

fn row((rank, window, number): Key, members: &[&StepTime], scope: &Scope) -> Vec<Cell> {
    let int = |value: Option<i64>| value.map_or(Cell::Null, Cell::Int);
    let count = members.len() as i64;
    let mean = |total: i64| if count == 1 { Cell::Int(total) } else { Cell::Float(total as f64 / count as f64) };
    let total = |figure: fn(&StepTime) -> i64| members.iter().map(|step| figure(step)).sum::<i64>();
    let dur_ns = total(|step| step.dur_ns);
    let slowest = members.iter().max_by_key(|step| (step.dur_ns, -step.rank));
    let first = members.first();
    let shares = step_times::sum(members);
    let mut row = vec![
        int(rank),
        int(window),
        int(first.filter(|_| number.is_some()).map(|step| step.step)),
        int(number),
        first.map_or(Cell::Null, |step| Cell::Text(step.name.clone())),
        Cell::Int(count),
        int(first.filter(|_| count == 1).map(|step| step.start_ns)),
        mean(dur_ns),
        int(members.iter().map(|step| step.dur_ns).min()),
        int(members.iter().map(|step| step.dur_ns).max()),
        int(slowest.map(|step| step.rank)),
        mean(total(|step| step.host_dur_ns)),
        Cell::Bool(members.iter().all(|step| step.is_complete)),
        mean(total(|step| step.device_events)),
        match &shares {
            Some(shares) if dur_ns > 0 => Cell::Float(shares.kernel_busy_ns as f64 / dur_ns as f64),
            _ => Cell::Null,
        },
    ];
    let of_shares = |figure: &dyn Fn(&Shares) -> i64| shares.as_ref().map_or(Cell::Null, |shares| mean(figure(shares)));
    row.extend(Class::ALL.map(|class| of_shares(&|shares| shares.of(class))));
    row.push(of_shares(&|shares| shares.all_communication_ns));
    row.push(of_shares(&|shares| shares.overlap_ns));
    row.push(shares.as_ref().map_or(Cell::Null, |shares| {
        Cell::Numbers(shares.by_class.iter().map(|ns| *ns as f64 / count as f64).collect())
    }));
    if scope.has_samples {
        let samples: Option<i64> = members.iter().map(|step| step.samples).sum();
        row.push(samples.map_or(Cell::Null, mean));
    }
    row
}
