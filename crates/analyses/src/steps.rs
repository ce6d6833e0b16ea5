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
    about: "List steps: how long each takes, and where its time goes",
    examples: &[
        ("stepscope steps trace.json.gz", "every step, with percentiles"),
        ("stepscope steps trace.json.gz --samples-per-step 32", "with throughput, if the trace has no sample counts"),
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
            title: "No steps in this trace",
            why: "Call `profiler.step()` after each iteration.",
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
            device: asking.device_noun(),
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
    let rows = groups.into_iter().map(|(key, members)| Row::of(key, members));
    let mut table = table(asking, rows, &scope);
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
#[expect(clippy::struct_excessive_bools, reason = "each shows or hides a separate column")]
struct Scope {
    by_rank: bool,
    by_window: bool,
    by_step: bool,
    /// A row is one step of one recording.
    is_each: bool,
    has_devices: bool,
    has_samples: bool,
}

/// One step, or several that are told together.
struct Row<'a> {
    key: Key,
    members: Vec<&'a StepTime>,
    dur_ns: i64,
    shares: Option<Shares>,
}

impl<'a> Row<'a> {
    fn of(key: Key, members: Vec<&'a StepTime>) -> Self {
        let dur_ns = members.iter().map(|step| step.dur_ns).sum();
        Self { key, dur_ns, shares: step_times::sum(&members), members }
    }

    /// Of one step it is whole, over several a mean.
    fn mean(&self, total: i64) -> Cell {
        match self.members.len() {
            1 => Cell::Int(total),
            count => Cell::Float(total as f64 / count as f64),
        }
    }

    fn mean_of(&self, figure: fn(&StepTime) -> i64) -> Cell {
        self.mean(self.members.iter().map(|step| figure(step)).sum())
    }

    fn mean_share(&self, figure: impl Fn(&Shares) -> i64) -> Cell {
        self.shares.as_ref().map_or(Cell::Null, |shares| self.mean(figure(shares)))
    }

    /// The step, if it is one.
    fn only(&self) -> Option<&'a StepTime> {
        if let [step] = self.members[..] { Some(step) } else { None }
    }

    fn place(&self) -> Option<i64> {
        let (.., number) = self.key;
        self.members.first().filter(|_| number.is_some()).map(|step| step.step)
    }

    fn slowest_rank(&self) -> Option<i64> {
        self.members.iter().max_by_key(|step| (step.dur_ns, -step.rank)).map(|step| step.rank)
    }

    fn utilization(&self) -> Option<f64> {
        let shares = self.shares.as_ref().filter(|_| self.dur_ns > 0)?;
        Some(shares.kernel_busy_ns as f64 / self.dur_ns as f64)
    }

    fn shares_of_one(&self) -> Option<Vec<f64>> {
        let count = self.members.len() as f64;
        self.shares.as_ref().map(|shares| shares.by_class.iter().map(|ns| *ns as f64 / count).collect())
    }

    fn samples(&self) -> Cell {
        let samples: Option<i64> = self.members.iter().map(|step| step.samples).sum();
        samples.map_or(Cell::Null, |samples| self.mean(samples))
    }
}

fn table<'a>(asking: &Asking<'_>, rows: impl Iterator<Item = Row<'a>>, scope: &Scope) -> ReportTable {
    let Scope { by_rank, by_window, by_step, is_each, has_devices, has_samples } = *scope;
    let is_one = asking.sources.len() == 1;
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let only_if = |is_shown: bool, look: Look| if is_shown { look } else { Look::Hidden };
    let mean = |name: &str| named(name).holds(Holds::Numbers);
    let ids = |name: &str| named(name).unit(Unit::Id).holds(Holds::Integers);
    let number = ids("step_number").label("step").look(only_if(by_step, Look::Value)).null(not_grouped_by("step"));
    let slowest = ids("slowest_rank").look(only_if(asking.ranks().len() > 1 && !by_rank, Look::Value));
    let complete = named("is_complete").label("complete").look(only_if(is_each, Look::Value)).from_width(100);
    let mut table = ReportTable::of("rows", rows)
        .column(named("rank").look(only_if(by_rank, Look::Value)).null(not_grouped_by("rank")), |row| row.key.0)
        .column(
            named("window").look(only_if(by_window && !is_one, Look::Value)).null(not_grouped_by("window")),
            |row| row.key.1,
        )
        .column(hidden("step").label("place").null(not_grouped_by("step")), Row::place)
        .column(number, |row| row.key.2)
        .column(named("name").holds(Holds::Texts).look(only_if(is_each, Look::Value)).from_width(100), |row| {
            row.members.first().map(|step| step.name.clone())
        })
        .column(named("steps").holds(Holds::Integers).look(only_if(!is_each, Look::Value)), |row| {
            row.members.len() as i64
        })
        .column(hidden("start_ns").null(SEVERAL_STEPS), |row| row.only().map(|step| step.start_ns))
        .column(mean("dur_ns").label(if is_each { "time" } else { "mean time" }).look(Look::Bar(None)), |row| {
            row.mean(row.dur_ns)
        })
        .column(named("min_ns").look(only_if(!is_each, Look::Value)), |row| {
            row.members.iter().map(|step| step.dur_ns).min()
        })
        .column(named("max_ns").look(only_if(!is_each, Look::Value)), |row| {
            row.members.iter().map(|step| step.dur_ns).max()
        })
        .column(slowest, Row::slowest_rank)
        .column(mean("host_dur_ns").label("host").look(Look::Hidden), |row| row.mean_of(|step| step.host_dur_ns))
        .column(complete, |row| row.members.iter().all(|step| step.is_complete))
        .column(mean("device_events").look(Look::Hidden), |row| row.mean_of(|step| step.device_events))
        .column(named("utilization_ratio").label("GPU").look(only_if(has_devices, Look::Value)), Row::utilization);
    for class in Class::ALL {
        let is_shown = has_devices || !matches!(class, Class::Kernel | Class::Memcpy | Class::Memset);
        let is_main = matches!(class, Class::Kernel | Class::Communication | Class::Dataloader | Class::CpuExec);
        let column = mean(&format!("{}_ns", class.as_text())).look(only_if(is_shown, Look::Value));
        let column = column.from_width(if is_main { 80 } else { 140 });
        table = table.column(column, |row| row.mean_share(|shares| shares.of(class)));
    }
    let shares = named("shares").holds(Holds::Lists).label("where it goes").look(Look::Stack).from_width(120);
    let table = table
        .column(mean("all_communication_ns").look(Look::Hidden), |row| {
            row.mean_share(|shares| shares.all_communication_ns)
        })
        .column(mean("overlap_ns").look(Look::Hidden), |row| row.mean_share(|shares| shares.overlap_ns))
        .column(shares, Row::shares_of_one);
    if !has_samples {
        return table.table();
    }
    table.column(mean("samples").from_width(100).null(SAMPLES_NOT_RECORDED), Row::samples).table()
}
