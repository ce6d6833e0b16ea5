//! The answer on one screen: devices, steps, where their time goes, top operators and kernels, findings, health.

mod compute;
mod profile;
mod regions;
mod snapshot;
mod utilization;

use serde_json::Value as Json;
use stepscope_model::null_reason::{
    DEVICE_IDS_DISAGREE, EVENTS_NOT_STORED, MEMORY_TOTALS_NOT_RECORDED, NO_COMPLETE_STEP, NO_MEMORY_EVENTS,
    NOT_ON_THIS_VENDOR,
};
use stepscope_model::warning::damage;
use stepscope_model::{
    Cell, Class, Grade, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, SourceId, SourceRecord,
    Status, StepSource, Target, Text, Unit, say,
};
use stepscope_runs::RunError;

use super::asking::missing_in;
use super::gather::{Measured, measure};
use super::step_times::{self, Distribution, Headline, Shares, StepTime, in_complete};
use super::{Analysis, Asking, Content, categories, diagnose};
use crate::listings::health::Standing;
use crate::{listings, metrics};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "summary",
    title: "Overview",
    about: "Summarize on one screen: steps, devices, operators, kernels, findings, health",
    examples: &[
        ("stepscope summary trace.json.gz", "also: stepscope trace.json.gz"),
        ("stepscope summary runs/ --rank 0", "one rank of many"),
        ("stepscope summary trace.json.gz --step 2-5", "some steps"),
        ("stepscope summary trace.json.gz -f md", "to paste into an issue"),
    ],
    groupings: &[],
    usual_rows: None,
    has_rows: false,
    reads: &[Content::Events, Content::FunctionTotals],
    has_section: false,
    page: None,
    answer,
};

/// Rows of operators and kernels.
const TOP: usize = 5;
/// Recordings whose devices are shown one by one.
const SHOWN_DEVICES: usize = 8;
/// Steps that are drawn one by one.
const DRAWN_STEPS: usize = 8;

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    if asking.sources.iter().all(|source| source.is_profile()) {
        return profile::answer(asking);
    }
    if asking.sources.iter().all(|source| source.is_memory_snapshot()) {
        return snapshot::answer(asking);
    }
    let measured = measure(asking)?;
    let Measured { steps, facts, .. } = &measured;
    let has_devices = facts.device_events > 0;
    let has_events = asking.without_events() == 0;
    let operators = top_operators(asking, has_devices)?;
    if !has_devices && operators.rows.is_empty() {
        let regions = regions::top(asking)?;
        if !regions.rows.is_empty() {
            return regions::answer(asking, regions);
        }
    }
    let complete: Vec<&StepTime> = steps.iter().filter(|step| step.is_complete).collect();
    let times = Distribution::of(complete.iter().map(|step| step.dur_ns));
    let shares = step_times::sum(&complete);
    let (mut missing, mut data) = (Vec::new(), Vec::new());
    let grades = listings::health::grades(asking.engine, asking.sources.iter().copied())?;
    let mut parts = vec![Part::Text(head_lines(asking, &grades, complete.len())?)];
    if let Some(times) = &times {
        let headline = Headline {
            mean_ns: times.mean(),
            steps: complete.len(),
            is_marked: asking.sources.iter().any(|source| source.step_source != StepSource::WholeTrace),
            shares: shares.as_ref(),
            before_recording: facts.before_recording,
            waits: facts.waits.as_ref(),
            bound: facts.bound().filter(|_| has_events && facts.before_recording_ns() == 0),
            device: asking.device_noun(),
        };
        let sentence = headline.sentence();
        data.extend([
            ("headline", Cell::Sentence(sentence.clone())),
            ("headline_figures", Cell::Json(headline.figures())),
        ]);
        parts.push(Part::Text(Text::headline(sentence)));
        parts.extend(unmarked_steps(asking).map(|text| Part::Text(Text::from(text))));
        parts.extend(unanalyzed(&grades).map(|text| Part::Text(Text::from(text))));
        parts.push(Part::Table(step_time(asking, times, &complete)));
    } else {
        missing.push(Missing {
            path: "step_time".to_owned(),
            label: "step time".to_owned(),
            reason: NO_COMPLETE_STEP.into(),
        });
    }
    // Utilization is that of all complete steps.
    let is_whole = asking.question.steps.is_none() && !asking.question.has_time_range();
    if is_whole && facts.device_events > 0 && asking.sources.len() <= SHOWN_DEVICES {
        parts.extend(devices(asking, &mut missing)?.map(Part::Table));
    }
    parts.extend(utilization::parts(facts));
    parts.extend(compute::parts(asking, steps, times.as_ref(), &mut missing)?);
    if let (Some(shares), Some(times)) = (&shares, &times) {
        parts.push(Part::Table(where_it_goes(shares, times)));
        parts.extend(each_step(asking, &complete).map(Part::Table));
    }
    if has_devices {
        let (categories, no_values) = categories::table(asking, "categories", &in_complete(steps))?;
        missing.extend(no_values);
        parts.push(Part::Table(device_time(categories)));
    }
    let kernels = if has_devices { Some(top_kernels(asking)?) } else { None };
    parts.extend(
        [Some(operators), kernels].into_iter().flatten().filter(|table| !table.rows.is_empty()).map(Part::Table),
    );
    let (verdict, no_findings) = diagnose::found(asking, &measured)?;
    let findings = verdict.findings;
    missing.extend(no_findings);
    if !findings.is_empty() {
        parts.push(Part::Table(diagnose::table(&findings)));
    }
    if has_events {
        parts.extend(diagnose::nothing_but_the_device(&findings, facts, asking.device_noun()).map(Part::Text));
    }
    parts.push(health(asking, &grades, health_line(asking, &grades)));
    parts.push(next(&["diagnose", "ops", "steps"].map(Target::of)));
    let mut report = Report::new("summary", parts);
    report.missing = missing;
    report.data = data;
    Ok(report)
}

/// What to ask next, a line each.
fn next(targets: &[Target]) -> Part {
    Part::Text(Text::code(Role::Next, targets.iter().map(|target| Sentence::from(*target)).collect()))
}

type Grades = std::collections::BTreeMap<stepscope_model::SourceId, Standing>;

fn head_lines(asking: &Asking<'_>, grades: &Grades, complete: usize) -> Result<Text, RunError> {
    let events: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let length = |source: &&SourceRecord| Some(source.last_event_ns? - source.first_event_ns?);
    let longest = asking.sources.iter().filter_map(length).max().unwrap_or(0);
    let second = [
        device_words(asking)?,
        Some(say::counted(complete, "complete step")),
        Some(say::ns(longest as f64).into()),
        Some(say!("{} events", say::count(events as i64))),
    ];
    Ok(head_text(asking, grades, Sentence::facts(second.into_iter().flatten())))
}

/// The name of the run with facts below it, and its health at the right end.
fn head_text(asking: &Asking<'_>, grades: &Grades, facts: Sentence) -> Text {
    let grade = |source: &&SourceRecord| grades.get(&source.id).and_then(|known| known.grade);
    let right = match &asking.sources[..] {
        [source] => Status::Health(grade(source)),
        sources => {
            let good = sources.iter().filter(|source| grade(source) == Some(Grade::Good)).count();
            Status::Good { good, all: sources.len() }
        }
    };
    Text { role: Role::Head, lines: vec![name_of(asking), facts], right: Some(right), ..Text::default() }
}

/// The run, and which of its recordings.
fn name_of(asking: &Asking<'_>) -> Sentence {
    match &asking.sources[..] {
        [source] if asking.all_sources > 1 => {
            format!("{} / rank {} / window {}", asking.run, source.id.rank, source.id.window).into()
        }
        [_] => asking.run.into(),
        sources => {
            let ranks = asking.ranks();
            let recordings =
                if ranks.len() == sources.len() { String::new() } else { format!(", {} traces", sources.len()) };
            Sentence::facts([asking.run.into(), say!("{}{}", say::counted(ranks.len(), "rank"), recordings)])
        }
    }
}

/// Where nothing marks steps, what is called a step is the recording.
fn unmarked_steps(asking: &Asking<'_>) -> Option<Sentence> {
    let is_unmarked = |source: &&&SourceRecord| source.step_source == StepSource::WholeTrace;
    match (asking.sources.iter().filter(is_unmarked).count(), asking.sources.len()) {
        (0, _) => None,
        (1, 1) => Some("No steps are marked, so the whole trace counts as one.".into()),
        (unmarked, all) => Some(say!(
            "No steps are marked in {} of {}; each of these counts as one.",
            say::count(unmarked as i64),
            say::counted(all, "recording")
        )),
    }
}

/// Devices whose work is in no figure.
fn unanalyzed(grades: &Grades) -> Option<Sentence> {
    let first = grades.values().find_map(|known| known.unanalyzed.as_ref())?;
    Some(say!("{}. Device metrics leave them out.", first.clone()))
}

/// The devices by name, and how many of them the recording has work of.
fn device_words(asking: &Asking<'_>) -> Result<Option<Sentence>, RunError> {
    let Some(devices) = asking.sources.first().and_then(|source| source.devices.as_ref()) else { return Ok(None) };
    let name = devices.iter().filter_map(|device| device.name.as_deref()).find(|name| !name.is_empty());
    let Some(name) = name else { return Ok(None) };
    let ranks = asking.ranks().len();
    if ranks > 1 {
        return Ok(Some(say!("{} × {}", name, say::count(ranks as i64))));
    }
    let used = asking.query("SELECT DISTINCT device_id FROM tracks WHERE {source} AND device_id IS NOT NULL")?.rows();
    let of_them = if devices.len() > 1 { format!(", {used} of {} used", devices.len()) } else { String::new() };
    Ok(Some(format!("{name}{of_them}").into()))
}

fn step_time(asking: &Asking<'_>, times: &Distribution, complete: &[&StepTime]) -> ReportTable {
    let mut table = step_times::table("step_time", asking, times, complete);
    if let Some(throughput) = step_times::throughput(asking, times, complete) {
        // A narrow screen has room for one of the two.
        table.columns.iter_mut().filter(|column| column.name == "p90_ns").for_each(|column| column.from_width = 100);
        table.columns.push(ReportColumn::named("samples_per_s").label("samples/s"));
        table.rows[0].push(Cell::Float(throughput.samples_per_s));
        table.notes.extend(throughput.notes);
    }
    table
}

/// Devices and how busy they are.
fn devices(asking: &Asking<'_>, missing: &mut Vec<Missing>) -> Result<Option<ReportTable>, RunError> {
    let named = ReportColumn::named;
    let several = asking.sources.len() > 1;
    let has_windows = asking.sources.iter().any(|source| source.id.window != asking.sources[0].id.window);
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let mut rows = Vec::new();
    let mut has_device_memory = false;
    for source in &asking.sources {
        let cancel = &asking.question.cancel;
        let metrics::Measured { members, nulls } =
            metrics::measure_some(asking.engine, source, &["gpu", "memory"], cancel)?;
        let devices = members.get("gpu").and_then(Json::as_object).cloned().unwrap_or_default();
        let memory = members.get("memory").and_then(Json::as_object);
        has_device_memory |= memory.is_some_and(|devices| devices.keys().any(|name| name != "cpu"));
        for (device, figures) in devices {
            let memory = memory
                .and_then(|memory| memory.get(&format!("gpu{device}")).or_else(|| memory.get(&format!("xla{device}"))));
            rows.push(DeviceFigures { id: source.id, device, figures, memory: memory.cloned() });
        }
        let labels = [
            ("est_sm_efficiency_ratio", "est. SM eff."),
            ("est_achieved_occupancy_ratio", "est. occup."),
            ("blocks_per_sm_coverage_ratio", "kernels with blocks per SM"),
            ("occupancy_coverage_ratio", "kernels with occupancy"),
        ];
        for (path, reason) in nulls {
            let label = labels.iter().find(|(name, _)| path.ends_with(name)).map(|(_, label)| *label);
            if let Some(label) = label.filter(|label| !missing.iter().any(|known| known.label == *label)) {
                let name = path.rsplit('.').next().unwrap_or(&path);
                let path = format!("devices[].{name}");
                missing.push(Missing { path, label: label.to_owned(), reason: reason.into() });
            }
        }
    }
    let with_copies = named("gpu_busy_ratio").label("with copies").from_width(100);
    let tensor_cores = named("tensor_core_lower_bound_ratio").label("tensor cores ≥").null(NOT_ON_THIS_VENDOR);
    let growth = named("memory_growth_bytes").label("memory growth").from_width(if several { 100 } else { 0 });
    let table = ReportTable::of("devices", rows)
        .column(named("rank").look(only_if(several)), |row| i64::from(row.id.rank))
        .column(named("window").look(only_if(has_windows)), |row| i64::from(row.id.window))
        .column(named("device").label("GPU").unit(Unit::Id), |row| row.device.clone())
        .column(named("gpu_utilization_ratio").label("utilization"), |row| row.figure("gpu_utilization_ratio"))
        .column(with_copies, |row| row.figure("gpu_busy_ratio"))
        .column(named("est_sm_efficiency_ratio").label("est. SM eff."), |row| row.figure("est_sm_efficiency_ratio"))
        .column(named("est_achieved_occupancy_ratio").label("est. occup."), |row| {
            row.figure("est_achieved_occupancy_ratio")
        })
        .column(tensor_cores, |row| row.figure("tensor_core_lower_bound_ratio"))
        .column(growth, |row| row.of_memory("peak_delta_bytes"))
        .column(named("memory_peak_bytes").label("memory peak").from_width(100), |row| {
            row.of_memory("peak_allocated_bytes")
        })
        .column(named("blocks_per_sm_coverage_ratio").look(Look::Hidden), |row| {
            row.figure("blocks_per_sm_coverage_ratio")
        })
        .column(named("occupancy_coverage_ratio").look(Look::Hidden), |row| row.figure("occupancy_coverage_ratio"))
        .table();
    let table = ReportTable { title: Some("DEVICES".to_owned()), ..table };
    let no_growth = match (asking.without_events(), has_device_memory) {
        (1.., _) => EVENTS_NOT_STORED,
        (_, true) => DEVICE_IDS_DISAGREE,
        (_, false) => NO_MEMORY_EVENTS,
    };
    let growth = missing_in(&table, "memory_growth_bytes", no_growth);
    let no_peak = if growth.is_some() { no_growth } else { MEMORY_TOTALS_NOT_RECORDED };
    missing.extend(growth.into_iter().chain(missing_in(&table, "memory_peak_bytes", no_peak)));
    Ok((!table.rows.is_empty()).then_some(table))
}

/// The figures of a device, as `metrics` has them.
struct DeviceFigures {
    id: SourceId,
    device: String,
    figures: Json,
    memory: Option<Json>,
}

impl DeviceFigures {
    fn figure(&self, name: &str) -> Cell {
        number(self.figures.get(name))
    }

    fn of_memory(&self, name: &str) -> Cell {
        number(self.memory.as_ref().and_then(|memory| memory.get(name)))
    }
}

fn number(value: Option<&Json>) -> Cell {
    match value {
        Some(value) if value.is_i64() => value.as_i64().into(),
        value => value.and_then(Json::as_f64).into(),
    }
}

fn where_it_goes(shares: &Shares, times: &Distribution) -> ReportTable {
    let named = ReportColumn::named;
    let total = times.total().max(1) as f64;
    let of_class = |class: &Class| shares.of(*class);
    let table = ReportTable::of("breakdown", Class::ALL)
        .column(named("class").look(Look::Class), |class| class.as_text())
        .column(named("length").label("").unit(Unit::Nanoseconds).look(Look::Length), of_class)
        .column(named("mean_ns").label("ms per step"), |class| of_class(class) as f64 / times.count() as f64)
        .column(named("share_ratio").label("share"), |class| of_class(class) as f64 / total)
        .table();
    let title = Some("STEP BREAKDOWN".to_owned());
    ReportTable { title, ..table }
}

/// What devices are busy with, in the columns that a screen has room for.
fn device_time(mut categories: ReportTable) -> ReportTable {
    let shown = ["category", "count", "total_ns", "share_ratio"];
    for column in categories.columns.iter_mut().filter(|column| !shown.contains(&column.name.as_str())) {
        column.look = Look::Hidden;
    }
    ReportTable { title: Some("DEVICE TIME BY CATEGORY".to_owned()), total: None, sorted_by: None, ..categories }
}

/// The steps one by one, or the slowest of many.
fn each_step(asking: &Asking<'_>, complete: &[&StepTime]) -> Option<ReportTable> {
    if asking.sources.len() != 1 || complete.len() < 2 {
        return None;
    }
    let mut drawn: Vec<&StepTime> = complete.to_vec();
    let is_cut = drawn.len() > DRAWN_STEPS;
    if is_cut {
        drawn.sort_by_key(|step| (-step.dur_ns, step.step));
        drawn.truncate(DRAWN_STEPS);
    }
    let wide = |name: &str| ReportColumn::named(name).from_width(120);
    let table = ReportTable::of("slowest_steps", drawn)
        .column(wide("name").label("step"), |step| {
            step.name.rsplit_once('#').map_or_else(|| step.name.clone(), |(_, number)| format!("#{number}"))
        })
        .column(wide("shares").label("").look(Look::Stack), |step| {
            let numbers = |shares: &Shares| shares.by_class.iter().map(|ns| *ns as f64).collect::<Vec<f64>>();
            step.shares.as_ref().map(numbers)
        })
        .column(wide("dur_ns").label("ms"), |step| step.dur_ns)
        .table();
    let title = if is_cut { "SLOWEST STEPS" } else { "EACH STEP" };
    Some(ReportTable { title: Some(title.to_owned()), is_beside: true, ..table })
}

fn top_operators(asking: &Asking<'_>, has_devices: bool) -> Result<ReportTable, RunError> {
    let (order, whole) =
        if has_devices { ("device_self_ns", "device_self_ns") } else { ("host_self_ns", "host_self_ns") };
    let statement = format!(
        "SELECT *, CASE WHEN whole_ns > 0 THEN {order} / CAST(whole_ns AS DOUBLE) END AS share_ratio FROM (
           SELECT name, sum(calls) AS calls, sum(device_self_ns) AS device_self_ns, sum(host_self_ns) AS host_self_ns,
             sum(sum({whole})) OVER () AS whole_ns
           FROM op_rollup WHERE {{steps}} GROUP BY name)
         WHERE name IS NOT NULL ORDER BY {order} DESC, host_self_ns DESC, name LIMIT {TOP}"
    );
    let device = if has_devices { Look::Value } else { Look::Hidden };
    let columns = vec![
        ReportColumn::named("name").look(Look::Operator),
        ReportColumn::named("calls"),
        ReportColumn::named("device_self_ns").look(device),
        ReportColumn::named("host_self_ns").look(if has_devices { Look::Hidden } else { Look::Value }),
        ReportColumn::named("share_ratio").label("share"),
    ];
    let table = asking.table(&statement, columns)?;
    let title = Some("TOP OPERATORS".to_owned());
    Ok(ReportTable { name: "operators".to_owned(), title, ..table })
}

fn top_kernels(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let kernels = if asking.has_sums() {
        "SELECT name, count, total_ns FROM kernel_rollup WHERE {steps}"
    } else {
        "SELECT name, 1 AS count, dur_ns AS total_ns FROM device_events WHERE {events} AND kind = 'kernel'"
    };
    let statement = format!(
        "SELECT name, count, total_ns, total_ns / CAST(count AS DOUBLE) AS mean_ns,
           total_ns / nullif(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_ratio
         FROM (SELECT name, sum(count) AS count, sum(total_ns) AS total_ns FROM ({kernels}) GROUP BY name)
         ORDER BY total_ns DESC, name LIMIT {TOP}"
    );
    let columns = vec![
        ReportColumn::named("name").look(Look::Kernel),
        ReportColumn::named("count"),
        ReportColumn::named("total_ns"),
        ReportColumn::named("mean_ns").look(Look::Hidden),
        ReportColumn::named("share_ratio").label("share"),
    ];
    let table = asking.table(&statement, columns)?;
    let title = Some("TOP KERNELS".to_owned());
    Ok(ReportTable { name: "kernels".to_owned(), title, is_beside: true, ..table })
}

/// Why the health is not good, and what it is measured by.
fn health(asking: &Asking<'_>, grades: &Grades, line: Sentence) -> Part {
    let reason = health_reason(asking, grades);
    let explains = reason.as_ref().and_then(|(grade, _)| *grade);
    let lines = reason.map(|(_, reason)| reason).into_iter().chain([line]).collect();
    Part::Text(Text { explains, ..Text::labeled(Role::Health, lines) })
}

/// Why the health is not good, and the grade that is the reason for.
fn health_reason(asking: &Asking<'_>, grades: &Grades) -> Option<(Option<Grade>, Sentence)> {
    let is_good = |source: &&SourceRecord| grades.get(&source.id).is_none_or(|known| known.grade == Some(Grade::Good));
    if asking.sources.iter().all(is_good) {
        return None;
    }
    let [source] = &asking.sources[..] else {
        return Some((None, say!("{} says why not all are good", Target::of("health"))));
    };
    let Standing { grade, unexplained_ratio, unanalyzed, .. } = grades.get(&source.id)?;
    let unexplained = unexplained_ratio.filter(|ratio| *ratio > 0.0);
    let lacks = || unexplained.map(|ratio| say!("{} of device time has no operator or graph", say::ratio(ratio)));
    let damage = damage(&source.notes, source.lost_events(), source.element()).map(Sentence::from);
    let reason = damage.or_else(lacks).or_else(|| unanalyzed.clone())?;
    Some((*grade, reason))
}

fn health_line(asking: &Asking<'_>, grades: &Grades) -> Sentence {
    let events: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let lost: u64 = asking.sources.iter().map(|source| source.lost_events()).sum();
    let asked = || asking.sources.iter().filter_map(|source| grades.get(&source.id));
    let device: i64 = asked().map(|known| known.device_events).sum();
    let unlinked: i64 = asked().map(|known| known.unlinked_device_events).sum();
    let mut pieces = vec![say!("{} events, {} lost", say::count(events as i64), say::count(lost as i64))];
    let is_cut = |source: &&SourceRecord| source.notes.iter().any(|note| note.tells_early_end());
    let cut = asking.sources.iter().filter(|source| is_cut(source)).count();
    // Of one file the reason for its grade says so.
    if cut > 0 && asking.sources.len() > 1 {
        pieces.push(say!("{} cut short", say::counted(cut, "file")));
    }
    if device > 0 {
        pieces.push(say!("{} of {} launches linked", say::count(device - unlinked), say::count(device)));
    }
    let clock = asking.sources.iter().map(|source| source.clock_resolution_ns).max().unwrap_or(1);
    pieces.push(if clock >= 1000 { "clock 1 µs" } else { "clock 1 ns" }.into());
    Sentence::facts(pieces)
}
