//! Operators: how often, how long on the host and on devices, how much memory (metrics, sections 10, 15 and 16).

mod walk;

use std::collections::HashMap;

use stepscope_model::null_reason::{
    NO_DEVICE_EVENTS, NO_FLOPS_OR_DEVICE_TIME, NO_FORMULA, NO_MEMORY_EVENTS, NOT_BY_STACK, NOT_OUTERMOST,
    SHAPES_NOT_RECORDED, argument_not_recorded,
};
use stepscope_model::tables::{MEMORY_EVENTS, OP_ROLLUP};
use stepscope_model::{Cell, Class, Holds, Look, Part, Report, ReportColumn, ReportTable, Sentence, Unit, say};
use stepscope_runs::{Frame, RunError};

use self::walk::walk_operators;
use super::asking::all_missing_in;
use super::{Analysis, Asking, Content, EmptyPage, Frames, Page};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "ops",
    title: "Operators",
    about: "List operators: calls, time on the host and on devices, memory, FLOPs",
    examples: &[
        ("stepscope ops trace.json.gz", "most device time first"),
        ("stepscope ops trace.json.gz --group-by input_shape", "each with its input shapes"),
        ("stepscope ops trace.json.gz --sort -host_self --limit 20", "most host time first"),
        ("stepscope ops trace.json.gz --step 2 -f csv -o ops.csv", "one step, for a spreadsheet"),
    ],
    groupings: &["input_shape", "stack", "rank", "window", "step"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "operators",
        key: Some('p'),
        noun: "operators",
        groups: &[("input_shape", "+ shape"), ("stack", "+ stack")],
        expand_by: Some("input_shape"),
        frames: Some(Frames::Calls),
        is_by_operator: true,
        empty: EmptyPage {
            title: "No operators in this trace",
            why: "Add the CPU activity to the profiler.",
            code: Some("profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"),
        },
        statement: "SELECT * FROM ops_by_name\nORDER BY device_self_ns DESC",
        ..Page::BY_NAME
    }),
    answer,
};

/// What rows are grouped by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Group {
    name: String,
    rank: Option<i64>,
    window: Option<i64>,
    step: Option<i64>,
    input_shape: Option<String>,
    stack: Option<String>,
}

/// Sums of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    spans: i64,
    calls: i64,
    host_self_ns: i64,
    host_total_ns: i64,
    device_events: i64,
    device_self_ns: i64,
    device_total_ns: i64,
    host_memory_bytes: Option<i64>,
    device_memory_bytes: Option<i64>,
    flops: Option<i64>,
    outermost_flops: Option<i64>,
}

impl Sums {
    fn achieved_flops_per_s(&self) -> Option<f64> {
        let flops = self.flops.filter(|_| self.device_total_ns > 0)?;
        Some(flops as f64 / self.device_total_ns as f64 * 1e9)
    }
}

/// The operators, and the device time that belongs to none.
#[derive(Debug, Default)]
pub(super) struct Operators {
    groups: HashMap<Group, Sums>,
    rest_ns: i64,
    rest_events: i64,
}

/// A sum beyond 64 bits is not known; adding would go round.
fn flops_sum(column: &str) -> String {
    format!("CASE WHEN sum({column} * 1e0) < 9.2e18 THEN sum({column}) END AS {column}")
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let has_sums = asking.sources.iter().all(|source| source.rows.of(&OP_ROLLUP) > 0);
    let is_walk_needed = asking.question.has_time_range() || asking.groups_by("stack") || !has_sums;
    let mut operators = if is_walk_needed { walk_operators(asking)? } else { from_sums(asking)? };
    let has_memory = asking.has_rows(&MEMORY_EVENTS) && !asking.groups_by("stack");
    if has_memory {
        add_memory(asking, &mut operators)?;
    }
    let has_flops = operators.groups.values().any(|sums| sums.flops.is_some());
    Ok(report(asking, operators, has_memory, has_flops))
}

/// From the sums of each step that were made when the trace was read.
fn from_sums(asking: &Asking<'_>) -> Result<Operators, RunError> {
    let keys = keys(asking, "input_dims");
    let frame = asking.query(&format!(
        "SELECT name, {keys},
           sum(spans) AS spans, sum(calls) AS calls, sum(host_self_ns) AS host_self_ns,
           sum(host_total_ns) AS host_total_ns, sum(device_events) AS device_events,
           sum(device_self_ns) AS device_self_ns, sum(device_total_ns) AS device_total_ns, {}, {}
         FROM op_rollup WHERE {{steps}} GROUP BY ALL",
        flops_sum("flops"),
        flops_sum("outermost_flops")
    ))?;
    let groups = groups(&frame)?;
    let column = |name: &str| frame.required_i64(name);
    let (spans, calls) = (column("spans")?, column("calls")?);
    let (host_self, host_total) = (column("host_self_ns")?, column("host_total_ns")?);
    let (device_events, device_self) = (column("device_events")?, column("device_self_ns")?);
    let (device_total, flops) = (column("device_total_ns")?, frame.i64("flops")?);
    let outermost_flops = frame.i64("outermost_flops")?;
    let mut operators = Operators::default();
    for (row, group) in groups.into_iter().enumerate() {
        let Some(group) = group else {
            operators.rest_ns += device_self[row];
            operators.rest_events += device_events[row];
            continue;
        };
        let sums = Sums {
            spans: spans[row],
            calls: calls[row],
            host_self_ns: host_self[row],
            host_total_ns: host_total[row],
            device_events: device_events[row],
            device_self_ns: device_self[row],
            device_total_ns: device_total[row],
            flops: flops[row],
            outermost_flops: outermost_flops[row],
            ..Sums::default()
        };
        operators.groups.insert(group, sums);
    }
    Ok(operators)
}

/// The columns that make a group, as SQL; those that are not asked for are null.
fn keys(asking: &Asking<'_>, dims: &str) -> String {
    let key = |grouping: &str, column: &str, data_type: &str, name: &str| {
        if asking.groups_by(grouping) {
            format!("{column} AS {name}")
        } else {
            format!("CAST(NULL AS {data_type}) AS {name}")
        }
    };
    format!(
        "{}, {}, {}, {}",
        key("input_shape", dims, "VARCHAR", "group_shape"),
        key("rank", "rank", "BIGINT", "group_rank"),
        key("window", "\"window\"", "BIGINT", "group_window"),
        key("step", "step", "BIGINT", "group_step")
    )
}

/// The group of each row; `None` for work that belongs to no operator.
fn groups(frame: &Frame) -> Result<Vec<Option<Group>>, RunError> {
    let (ranks, windows, steps) = (frame.i64("group_rank")?, frame.i64("group_window")?, frame.i64("group_step")?);
    let rows = frame.text("name")?.into_iter().zip(frame.text("group_shape")?).enumerate();
    let group = |(row, (name, input_shape)): (usize, (Option<String>, Option<String>))| {
        let (rank, window, step) = (ranks[row], windows[row], steps[row]);
        name.map(|name| Group { name, rank, window, step, input_shape, stack: None })
    };
    Ok(rows.map(group).collect())
}

/// What operators allocate and free themselves.
fn add_memory(asking: &Asking<'_>, operators: &mut Operators) -> Result<(), RunError> {
    let frame = asking.query(&format!(
        "SELECT name, {},
           sum(size_bytes) FILTER (WHERE device_type = 0) AS host_bytes,
           sum(size_bytes) FILTER (WHERE device_type <> 0) AS device_bytes
         FROM (SELECT rank, \"window\", span_id, step, name, input_dims FROM spans
               WHERE {{events}} AND kind = 'op' AND phase = 'X')
         JOIN (SELECT rank AS event_rank, \"window\" AS event_window, operator_id, device_type, size_bytes
               FROM memory_events WHERE {{source}})
           ON event_rank = rank AND event_window = \"window\" AND operator_id = span_id
         GROUP BY ALL",
        keys(asking, "input_dims")
    ))?;
    let (host, device) = (frame.i64("host_bytes")?, frame.i64("device_bytes")?);
    for (row, group) in groups(&frame)?.into_iter().enumerate() {
        if let Some(sums) = group.and_then(|group| operators.groups.get_mut(&group)) {
            sums.host_memory_bytes = host[row];
            sums.device_memory_bytes = device[row];
        }
    }
    Ok(())
}

/// Adds a figure that may not be known to a sum of those that are.
fn add_known(sum: &mut Option<i64>, more: Option<i64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

fn report(asking: &Asking<'_>, operators: Operators, has_memory: bool, has_flops: bool) -> Report {
    let Operators { groups, rest_ns, rest_events } = operators;
    let mut rows: Vec<(Group, Sums)> = groups.into_iter().collect();
    rows.sort_by(|(a_group, a), (b_group, b)| {
        (b.device_self_ns, b.host_self_ns, a_group).cmp(&(a.device_self_ns, a.host_self_ns, b_group))
    });
    let sum = |figure: fn(&Sums) -> i64| rows.iter().map(|(_, sums)| figure(sums)).sum::<i64>();
    let host_ns = sum(|sums| sums.host_self_ns);
    let device_ns = sum(|sums| sums.device_self_ns) + rest_ns;
    let has_device = device_ns > 0 || rest_events > 0 || sum(|sums| sums.device_events) > 0;
    let of_device = |ns: i64| has_device.then_some(ns);
    let whole = Whole { host_ns, device_ns, has_device, has_memory };
    let mut table = table(asking, &rows, whole);
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(rows.len(), "operator"),
        "calls" => Cell::Int(sum(|sums| sums.calls)),
        "device_self_ns" => of_device(device_ns - rest_ns).into(),
        "device_self_ratio" => share(device_ns - rest_ns, device_ns).into(),
        "host_self_ns" => Cell::Int(host_ns),
        "host_self_ratio" => share(host_ns, host_ns).into(),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some(if has_device { "-device_self_ns" } else { "-host_self_ns" }.to_owned());
    table.notes = notes(asking, has_device.then_some(rest_ns));
    let mut missing = Vec::new();
    if !has_device {
        let columns = ["device_self_ns", "device_self_ratio", "device_total_ns", "device_events"];
        missing.extend(all_missing_in(&table, &columns, NO_DEVICE_EVENTS));
    }
    if !has_memory && !asking.groups_by("stack") {
        missing.extend(all_missing_in(&table, &["host_memory_bytes", "device_memory_bytes"], NO_MEMORY_EVENTS));
    }
    if !has_flops {
        missing.extend(all_missing_in(
            &table,
            &["flops", "achieved_flops_per_s", "outermost_flops"],
            SHAPES_NOT_RECORDED,
        ));
    }
    Report { missing, ..Report::new("ops", vec![Part::Table(table)]) }
}

/// What the rows are parts of.
#[derive(Clone, Copy)]
struct Whole {
    host_ns: i64,
    device_ns: i64,
    has_device: bool,
    has_memory: bool,
}

fn share(part_ns: i64, whole_ns: i64) -> Option<f64> {
    (whole_ns > 0).then(|| part_ns as f64 / whole_ns as f64)
}

fn table(asking: &Asking<'_>, rows: &[(Group, Sums)], whole: Whole) -> ReportTable {
    let Whole { host_ns, device_ns, has_device, has_memory } = whole;
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let only_if = |is_shown: bool, look: Look| if is_shown { look } else { Look::Hidden };
    let host_look = if has_device { Look::Value } else { Look::Bar(Some(Class::CpuExec)) };
    let memory = |name: &str, is_shown: bool| {
        named(name).label("memory").look(only_if(has_memory && is_shown, Look::Value)).null(NOT_BY_STACK)
    };
    let flops = |name: &str| named(name).unit(Unit::Flops).holds(Holds::Integers).look(Look::Hidden);
    let achieved = named("achieved_flops_per_s").label("achieved").look(Look::Hidden).null(NO_FLOPS_OR_DEVICE_TIME);
    let detail = |name: &str, reason: &str| named(name).holds(Holds::Texts).look(Look::Detail).null(reason);
    let stack = detail("stack", &argument_not_recorded("stack"));
    let of_device = |ns: i64| has_device.then_some(ns);
    let of_memory = |bytes: Option<i64>| bytes.or(has_memory.then_some(0));
    ReportTable::of("rows", rows)
        .column(named("name").label("operator").look(Look::Operator), |(group, _)| group.name.clone())
        .column(key("rank"), |(group, _)| group.rank)
        .column(key("window"), |(group, _)| group.window)
        .column(key("step"), |(group, _)| group.step)
        .column(named("calls"), |(_, sums)| sums.calls)
        .column(named("device_self_ns").look(only_if(has_device, Look::Bar(Some(Class::Kernel)))), |(_, sums)| {
            of_device(sums.device_self_ns)
        })
        .column(named("device_self_ratio").label("share").look(only_if(has_device, Look::Value)), |(_, sums)| {
            share(sums.device_self_ns, device_ns)
        })
        .column(named("device_total_ns").look(only_if(has_device, Look::Value)).from_width(100), |(_, sums)| {
            of_device(sums.device_total_ns)
        })
        .column(named("host_self_ns").look(host_look), |(_, sums)| sums.host_self_ns)
        .column(named("host_self_ratio").label("share").look(only_if(!has_device, Look::Value)), |(_, sums)| {
            share(sums.host_self_ns, host_ns)
        })
        .column(named("host_total_ns").from_width(if has_device { 100 } else { 0 }), |(_, sums)| sums.host_total_ns)
        .column(memory("host_memory_bytes", !has_device).from_width(100), |(_, sums)| of_memory(sums.host_memory_bytes))
        .column(memory("device_memory_bytes", has_device).from_width(140), |(_, sums)| {
            of_memory(sums.device_memory_bytes)
        })
        .column(flops("flops").null(NO_FORMULA), |(_, sums)| sums.flops)
        .column(achieved, |(_, sums)| sums.achieved_flops_per_s())
        .column(flops("outermost_flops").null(NOT_OUTERMOST), |(_, sums)| sums.outermost_flops)
        .column(named("spans").look(Look::Hidden), |(_, sums)| sums.spans)
        .column(named("device_events").holds(Holds::Integers).look(Look::Hidden), |(_, sums)| {
            of_device(sums.device_events)
        })
        .column(asking.keyed("input_shape", detail("input_shape", SHAPES_NOT_RECORDED)), |(group, _)| {
            group.input_shape.clone()
        })
        .column(asking.keyed("stack", stack), |(group, _)| group.stack.clone())
        .table()
}

fn notes(asking: &Asking<'_>, rest_ns: Option<i64>) -> Vec<Sentence> {
    let mut notes = vec![asking.scope()];
    notes.extend(rest_ns.map(|ns| say!("(no operator): {}", say::ns(ns as f64))));
    notes
}
