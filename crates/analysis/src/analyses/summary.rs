//! The answer on one screen: devices, steps, where their time goes, top operators and kernels, findings, health.

use serde_json::Value as Json;
use stepscope_model::null_reason::{
    MEMORY_TOTALS_NOT_RECORDED, NO_COMPLETE_STEP, SHAPES_NOT_RECORDED, UNKNOWN_DEVICE_PEAK,
};
use stepscope_model::{Cell, Class, Look, Missing, Part, Report, ReportColumn, ReportTable, SourceRecord, Text, Unit};

use super::gather::steps_and_facts;
use super::step_times::{self, Distribution, Shares, StepTime};
use super::{Analysis, Asking, diagnose, flop_count};
use crate::device_peaks::peak_of;
use crate::error::AnalysisError;
use crate::metrics::Measured;
use crate::rules::findings;
use crate::{metrics, views, words};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "summary",
    about: "The answer on one screen: steps, devices, operators, kernels, findings, health",
    examples: &[
        ("stepscope summary trace.json.gz", "also: stepscope trace.json.gz"),
        ("stepscope summary runs/ --rank 0", "one rank of many"),
        ("stepscope summary trace.json.gz --step 2-5", "some steps"),
        ("stepscope summary trace.json.gz -f md", "to paste into an issue"),
    ],
    groupings: &[],
    usual_rows: None,
    answer,
};

/// Rows of operators and kernels.
const TOP: usize = 5;
/// Recordings whose devices are shown one by one.
const SHOWN_DEVICES: usize = 8;
/// Below this share of device time with FLOPs, their ratio to the peak says nothing.
const LEAST_COVERED: f64 = 0.1;
/// Steps that are drawn one by one.
const DRAWN_STEPS: usize = 8;

fn answer(asking: &Asking<'_>) -> Result<Report, AnalysisError> {
    let (steps, facts) = steps_and_facts(asking)?;
    let complete: Vec<&StepTime> = steps.iter().filter(|step| step.is_complete).collect();
    let times = Distribution::of(complete.iter().map(|step| step.dur_ns));
    let shares = step_times::sum(&complete);
    let mut missing = Vec::new();
    let grades = views::health::grades(asking.engine)?;
    let mut parts = vec![Part::Text(head_lines(asking, &grades, complete.len())?)];
    if let Some(times) = &times {
        parts.push(Part::Text(Text::strong(step_times::sentence(times.mean(), shares.as_ref(), complete.len()))));
        parts.push(Part::Table(step_time(asking, times, &complete)));
    } else {
        missing.push(Missing {
            path: "step_time".to_owned(),
            label: "step time".to_owned(),
            reason: NO_COMPLETE_STEP.to_owned(),
        });
    }
    // Utilisation is that of all complete steps.
    let is_whole = asking.question.steps.is_none() && !asking.question.has_time_range();
    if is_whole && facts.device_events > 0 && asking.sources.len() <= SHOWN_DEVICES {
        parts.extend(devices(asking, &mut missing)?.map(Part::Table));
    }
    parts.extend(flops_line(asking, &steps, times.as_ref(), &mut missing)?.map(Part::Text));
    if let (Some(shares), Some(times)) = (&shares, &times) {
        parts.push(Part::Table(where_it_goes(shares, times)));
        parts.extend(each_step(asking, &complete).map(Part::Table));
    }
    let has_devices = facts.device_events > 0;
    let operators = top_operators(asking, has_devices)?;
    let kernels = if has_devices { Some(top_kernels(asking)?) } else { None };
    parts.extend(
        [Some(operators), kernels].into_iter().flatten().filter(|table| !table.rows.is_empty()).map(Part::Table),
    );
    let findings = findings(&facts);
    if !findings.is_empty() {
        parts.push(Part::Table(diagnose::table(&findings)));
    }
    parts.push(Part::Text(Text::labelled("health", health_line(asking, &grades))));
    parts.push(Part::Text(Text::labelled("next", "stepscope diagnose · stepscope ops · stepscope steps")));
    let mut report = Report::new("summary", parts);
    report.missing = missing;
    Ok(report)
}

type Grades = std::collections::BTreeMap<stepscope_model::SourceId, (String, i64, i64)>;

fn head_lines(asking: &Asking<'_>, grades: &Grades, complete: usize) -> Result<Text, AnalysisError> {
    let asked = || asking.sources.iter().filter_map(|source| grades.get(&source.id));
    let right = match &asking.sources[..] {
        [source] => format!("trace health: {}", grades.get(&source.id).map_or("unknown", |(grade, ..)| grade)),
        sources => {
            let good = asked().filter(|(grade, ..)| grade == "good").count();
            format!("trace health: good in {good} of {}", sources.len())
        }
    };
    let events: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let length = |source: &&SourceRecord| Some(source.last_event_ns? - source.first_event_ns?);
    let longest = asking.sources.iter().filter_map(length).max().unwrap_or(0);
    let second = [
        device_words(asking)?,
        Some(words::counted(complete, "complete step")),
        Some(words::ns(longest as f64)),
        Some(format!("{} events", words::count(events as i64))),
    ];
    let second = second.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    Ok(Text { text: format!("{}\n{second}", name_of(asking)), right: Some(right), ..Text::default() })
}

/// The run, and which of its recordings.
fn name_of(asking: &Asking<'_>) -> String {
    match &asking.sources[..] {
        [source] if asking.all_sources > 1 => {
            format!("{} / rank {} / window {}", asking.run, source.id.rank, source.id.window)
        }
        [_] => asking.run.to_owned(),
        sources => {
            let ranks = asking.ranks();
            let recordings =
                if ranks.len() == sources.len() { String::new() } else { format!(", {} recordings", sources.len()) };
            format!("{} · {}{recordings}", asking.run, words::counted(ranks.len(), "rank"))
        }
    }
}

/// The devices by name, and how many of them the recording has work of.
fn device_words(asking: &Asking<'_>) -> Result<Option<String>, AnalysisError> {
    let Some(devices) = asking.sources.first().and_then(|source| source.devices.as_ref()) else { return Ok(None) };
    let name = devices.iter().filter_map(|device| device.name.as_deref()).find(|name| !name.is_empty());
    let Some(name) = name else { return Ok(None) };
    let ranks = asking.ranks().len();
    if ranks > 1 {
        return Ok(Some(format!("{name} × {}", words::count(ranks as i64))));
    }
    let used = asking.query("SELECT DISTINCT device_id FROM tracks WHERE {source} AND device_id IS NOT NULL")?.rows();
    let of_them = if devices.len() > 1 { format!(", {used} of {} used", devices.len()) } else { String::new() };
    Ok(Some(format!("{name}{of_them}")))
}

fn step_time(asking: &Asking<'_>, times: &Distribution, complete: &[&StepTime]) -> ReportTable {
    let mut table = step_times::table("step_time", asking, times, complete);
    if let Some(samples) = asking.question.samples_per_step {
        table.columns.push(ReportColumn::named("samples_per_s").label("samples/s"));
        table.rows[0].push(Cell::Float(samples / times.mean() * 1e9));
    }
    table
}

/// Devices and how busy they are.
fn devices(asking: &Asking<'_>, missing: &mut Vec<Missing>) -> Result<Option<ReportTable>, AnalysisError> {
    let named = ReportColumn::named;
    let several = asking.sources.len() > 1;
    let columns = vec![
        named("rank").look(if several { Look::Value } else { Look::Hidden }),
        named("device").label("GPU").unit(Unit::Id),
        named("gpu_utilization_ratio").label("utilisation"),
        named("gpu_busy_ratio").label("with copies").from_width(100),
        named("est_sm_efficiency_ratio").label("est. SM eff."),
        named("est_achieved_occupancy_ratio").label("est. occup."),
        named("tensor_core_lower_bound_ratio").label("tensor cores ≥"),
        named("memory_growth_bytes").label("memory growth").from_width(if several { 100 } else { 0 }),
        named("memory_peak_bytes").label("memory peak").from_width(100),
    ];
    let mut rows = Vec::new();
    for source in &asking.sources {
        let cancel = &asking.question.cancel;
        let Measured { members, nulls } = metrics::measure_some(asking.engine, source, &["gpu", "memory"], cancel)?;
        let devices = members.get("gpu").and_then(Json::as_object).cloned().unwrap_or_default();
        for (device, figures) in devices {
            let memory = members.get("memory").and_then(|memory| memory.get(format!("gpu{device}")));
            let number = |value: Option<&Json>| match value {
                Some(value) if value.is_i64() => value.as_i64().map_or(Cell::Null, Cell::Int),
                Some(value) => value.as_f64().map_or(Cell::Null, Cell::Float),
                None => Cell::Null,
            };
            let figure = |name: &str| number(figures.get(name));
            rows.push(vec![
                Cell::Int(source.id.rank.into()),
                Cell::Text(device.clone()),
                figure("gpu_utilization_ratio"),
                figure("gpu_busy_ratio"),
                figure("est_sm_efficiency_ratio"),
                figure("est_achieved_occupancy_ratio"),
                figure("tensor_core_lower_bound_ratio"),
                number(memory.and_then(|memory| memory.get("peak_delta_bytes"))),
                number(memory.and_then(|memory| memory.get("peak_allocated_bytes"))),
            ]);
        }
        let labels = [("est_sm_efficiency_ratio", "est. SM eff."), ("est_achieved_occupancy_ratio", "est. occup.")];
        for (path, reason) in nulls {
            let label = labels.iter().find(|(name, _)| path.ends_with(name)).map(|(_, label)| *label);
            if let Some(label) = label.filter(|label| !missing.iter().any(|known| known.label == *label)) {
                let name = path.rsplit('.').next().unwrap_or(&path);
                let path = format!("devices[].{name}");
                missing.push(Missing { path, label: label.to_owned(), reason });
            }
        }
    }
    if rows.iter().any(|row| row[8] == Cell::Null && row[7] != Cell::Null) {
        missing.push(Missing {
            path: "devices[].memory_peak_bytes".to_owned(),
            label: "memory peak".to_owned(),
            reason: MEMORY_TOTALS_NOT_RECORDED.to_owned(),
        });
    }
    Ok((!rows.is_empty())
        .then(|| ReportTable { title: Some("DEVICES".to_owned()), ..ReportTable::named("devices", columns, rows) }))
}

/// What was computed, and how near to the peak of the device that is.
fn flops_line(
    asking: &Asking<'_>,
    steps: &[StepTime],
    times: Option<&Distribution>,
    missing: &mut Vec<Missing>,
) -> Result<Option<Text>, AnalysisError> {
    let Some(times) = times else { return Ok(None) };
    let Some(count) = flop_count::count(asking, steps)? else { return Ok(None) };
    let per_step = count.flops as f64 / times.count() as f64;
    let achieved = count.flops as f64 / times.total() as f64 * 1e9;
    let mut pieces =
        vec![format!("{} a step", words::flops(per_step, "")), format!("{} achieved", words::flops(achieved, "/s"))];
    let device = asking.sources.first().and_then(|source| source.devices.as_ref()?.first()?.name.clone());
    let covered = count.covered_ns as f64 / count.device_ns.max(1) as f64;
    if count.device_ns > 0 && covered < LEAST_COVERED {
        let reason = format!("{SHAPES_NOT_RECORDED} for {} of device time", words::ratio(1.0 - covered));
        missing.push(Missing { path: "flops".to_owned(), label: "FLOPs".to_owned(), reason });
        return Ok(None);
    }
    if count.device_ns > 0 {
        match device.as_deref().and_then(peak_of) {
            Some((peak, dtype)) => pieces.push(format!(
                "MFU ≥ {} of {} ({dtype} dense)",
                words::ratio(achieved / peak),
                words::flops(peak, "/s")
            )),
            None => missing.push(Missing {
                path: "mfu_ratio".to_owned(),
                label: "MFU".to_owned(),
                reason: UNKNOWN_DEVICE_PEAK.to_owned(),
            }),
        }
        pieces.push(format!("shapes cover {} of device time", words::ratio(covered)));
    }
    Ok(Some(Text::labelled("compute", pieces.join(" · "))))
}

fn where_it_goes(shares: &Shares, times: &Distribution) -> ReportTable {
    let columns = vec![
        ReportColumn::named("class").look(Look::Class),
        ReportColumn::named("length").label("").unit(Unit::Nanoseconds).look(Look::Length),
        ReportColumn::named("mean_ns").label("ms a step"),
        ReportColumn::named("share_ratio").label("share"),
    ];
    let total = times.total().max(1) as f64;
    let row = |class: Class| {
        let ns = shares.of(class);
        vec![
            Cell::Text(class.as_text().to_owned()),
            Cell::Int(ns),
            Cell::Float(ns as f64 / times.count() as f64),
            Cell::Float(ns as f64 / total),
        ]
    };
    let title = Some("WHERE A STEP GOES".to_owned());
    ReportTable { title, ..ReportTable::named("breakdown", columns, Class::ALL.map(row).to_vec()) }
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
    let columns = vec![
        ReportColumn::named("name").label("step").from_width(120),
        ReportColumn::named("shares").label("").look(Look::Stack).from_width(120),
        ReportColumn::named("dur_ns").label("ms").from_width(120),
    ];
    let row = |step: &&StepTime| {
        let name = step.name.rsplit_once('#').map_or_else(|| step.name.clone(), |(_, number)| format!("#{number}"));
        let shares = step.shares.as_ref().map(|shares| shares.by_class.iter().map(|ns| *ns as f64).collect());
        vec![Cell::Text(name), shares.map_or(Cell::Null, Cell::Numbers), Cell::Int(step.dur_ns)]
    };
    let title = if is_cut { "SLOWEST STEPS" } else { "EACH STEP" };
    let rows = drawn.iter().map(row).collect();
    Some(ReportTable {
        title: Some(title.to_owned()),
        is_beside: true,
        ..ReportTable::named("slowest_steps", columns, rows)
    })
}

fn top_operators(asking: &Asking<'_>, has_devices: bool) -> Result<ReportTable, AnalysisError> {
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

fn top_kernels(asking: &Asking<'_>) -> Result<ReportTable, AnalysisError> {
    let statement = format!(
        "SELECT name, count, total_ns, total_ns / CAST(count AS DOUBLE) AS mean_ns,
           total_ns / nullif(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_ratio
         FROM (
           SELECT name, count(*) AS count, sum(dur_ns) AS total_ns FROM device_events
           WHERE {{events}} AND kind = 'kernel' GROUP BY name)
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

fn health_line(asking: &Asking<'_>, grades: &Grades) -> String {
    let events: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let lost: u64 = asking.sources.iter().map(|source| source.lost_events()).sum();
    let asked = || asking.sources.iter().filter_map(|source| grades.get(&source.id));
    let device: i64 = asked().map(|(_, device, _)| device).sum();
    let unlinked: i64 = asked().map(|(.., unlinked)| unlinked).sum();
    let mut pieces = vec![format!("{} events, {} lost", words::count(events as i64), words::count(lost as i64))];
    let is_cut = |source: &&SourceRecord| source.notes.iter().any(|note| note.ends_with("_truncated"));
    match asking.sources.iter().filter(|source| is_cut(source)).count() {
        0 => {}
        1 if asking.sources.len() == 1 => pieces.push("the file was cut short".to_owned()),
        cut => pieces.push(format!("{} cut short", words::counted(cut, "file"))),
    }
    if device > 0 {
        pieces.push(format!("{} of {} launches linked", words::count(device - unlinked), words::count(device)));
    }
    let clock = asking.sources.iter().map(|source| source.clock_resolution_ns).max().unwrap_or(1);
    pieces.push(if clock >= 1000 { "clock 1 µs".to_owned() } else { "clock 1 ns".to_owned() });
    pieces.join(" · ")
}
