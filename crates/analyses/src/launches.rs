//! Launches: how long the calls take, how long their work waits, and how many wait at once (metrics, section 13).

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stepscope_model::null_reason::{
    NO_DEVICE_EVENTS, NO_LAUNCH_CALLS, NO_ROLLUPS, ZERO_DURATION, argument_not_recorded,
};
use stepscope_model::{
    Cell, Class, Look, Metric, Missing, Part, Report, ReportColumn, ReportTable, Sentence, Text, Unit, say,
};
use stepscope_runs::{Frame, RunError};

use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};
use crate::launch_queue::{self, IN_ORDER, Queue, Queues};
use crate::metrics::distribution::{self, named_columns};
use crate::metrics::idle_by_stream;
use crate::metrics::launch::COUNTS;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "launches",
    title: "Launches",
    about: "Show launches: time in runtime calls, waits for the device, queues, idle streams",
    examples: &[
        ("stepscope launches trace.json.gz", "runtime functions, most time first"),
        ("stepscope launches trace.json.gz --step 2", "one step"),
        ("stepscope launches run/ --group-by rank", "one row per rank"),
    ],
    groupings: &["rank", "window", "step"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "launches",
        key: Some('l'),
        noun: "functions",
        table: Some("launches"),
        count: RowCount::None,
        empty: EmptyPage {
            title: "No launches in this trace",
            why: "Add the activity of the device to the profiler.",
            code: None,
        },
        statement: "SELECT * FROM launches\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// One figure of a launch.
struct Figure {
    name: &'static str,
    meaning: &'static str,
    column: &'static str,
    /// The launches that it is known for.
    condition: &'static str,
}

const FIGURES: [Figure; 3] = [
    Figure { name: "call_duration", meaning: "the launch call", column: "dur_ns", condition: "true" },
    Figure {
        name: "launch_latency",
        meaning: "start of the call to start on the device",
        column: "latency_ns",
        condition: IN_ORDER,
    },
    Figure {
        name: "launch_delay",
        meaning: "end of the call to start on the device",
        column: "delay_ns",
        condition: IN_ORDER,
    },
];

const COUNTED: [&str; 4] = ["launches", "graph_launches", "shorter_than_call", "device_before_launch"];

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let distributions = FIGURES.map(|figure| distribution::columns(figure.name, figure.column, figure.condition));
    let launches = asking.query(&format!(
        "SELECT {}, {COUNTS}, {} FROM launches WHERE {{events}} GROUP BY ALL ORDER BY rank, \"window\", step",
        keys(asking),
        distributions.join(", ")
    ))?;
    let mut counts = Vec::new();
    for name in COUNTED {
        counts.push((name, launches.required_i64(name)?.into_iter().sum::<i64>()));
    }
    let distributions = distributions_of(asking, &launches)?;
    let (calls, queues, idle) = (runtime_calls(asking)?, queue_lengths(asking)?, idle_streams(asking)?);
    let is_missing = distributions.rows.is_empty();
    let no_mean = missing_in(&queues, "time_weighted_mean", ZERO_DURATION);
    let is_left_out = is_missing && asking.are_sums_left_out() && asking.has_device_events()?;
    let told = if is_left_out { Text::from("Launches are not known.") } else { sentence(&counts, &distributions) };
    let mut parts = vec![Part::Text(told)];
    parts.extend([Part::Table(distributions), Part::Table(calls), Part::Table(queues), Part::Table(idle)]);
    let metric = |(name, value): (&str, i64)| {
        Part::Metric(Metric {
            name: name.to_owned(),
            value: if is_left_out { Cell::Null } else { Cell::Int(value) },
            unit: Unit::Plain,
            reason: is_left_out.then(|| NO_ROLLUPS.into()),
            is_for_programs: false,
        })
    };
    parts.extend(counts.into_iter().map(metric));
    let mut report = Report::new("launches", parts);
    report.missing.extend(no_mean);
    if is_missing {
        let reason = match (is_left_out, asking.has_device_events()?) {
            (true, _) => NO_ROLLUPS,
            (_, true) => NO_LAUNCH_CALLS,
            _ => NO_DEVICE_EVENTS,
        };
        let (path, label) = ("distributions".to_owned(), "launch times".to_owned());
        report.missing.push(Missing { path, label, reason: reason.into() });
    }
    Ok(report)
}

fn keys(asking: &Asking<'_>) -> String {
    let keys = [("rank", "rank"), ("window", "\"window\""), ("step", "step")];
    keys.map(|(grouping, column)| asking.key(grouping, column, "BIGINT")).join(", ")
}

fn key_columns(asking: &Asking<'_>) -> [ReportColumn; 3] {
    ["rank", "window", "step"].map(|key| asking.key_column(key, key, Look::Value))
}

fn statistics(total: Look) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    vec![
        named("count"),
        named("total_ns").look(total),
        named("mean_ns"),
        named("min_ns").look(Look::Hidden),
        named("p50_ns"),
        named("p90_ns").look(Look::Hidden),
        named("p99_ns"),
        named("max_ns").from_width(100),
    ]
}

/// A row for each figure of each group of launches.
fn distributions_of(asking: &Asking<'_>, launches: &Frame) -> Result<ReportTable, RunError> {
    let (ranks, windows, steps) = (launches.i64("rank")?, launches.i64("window")?, launches.i64("step")?);
    let figures = FIGURES.iter().map(|figure| distribution::figures(launches, figure.name));
    let figures = figures.collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for row in 0..launches.rows() {
        for (Figure { name, meaning, .. }, figures) in FIGURES.iter().zip(&figures) {
            let Some(figures) = &figures[row] else { continue };
            rows.push((*name, *meaning, [ranks[row], windows[row], steps[row]], figures));
        }
    }
    let number = |value: Option<&Json>| match value {
        Some(value) if value.is_i64() => Cell::from(value.as_i64()),
        value => Cell::from(value.and_then(Json::as_f64)),
    };
    let mut table = ReportTable::of("distributions", rows)
        .column(ReportColumn::named("name").look(Look::Hidden), |(name, ..)| *name)
        .column(ReportColumn::named("meaning").label("from"), |(_, meaning, ..)| *meaning);
    for (place, column) in key_columns(asking).into_iter().enumerate() {
        table = table.column(column, |(.., keys, _)| keys[place]);
    }
    // What waits at once makes no sum.
    for column in statistics(Look::Hidden) {
        let name = column.name.clone();
        table = table.column(column, |(.., figures)| number(figures.get(&name)));
    }
    Ok(ReportTable { title: Some("LAUNCH TIMES".to_owned()), ..table.table() })
}

fn runtime_calls(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let statement = format!(
        "SELECT name, {}, {} FROM runtime_calls WHERE {{events}} GROUP BY ALL
         ORDER BY total_ns DESC, name, rank, \"window\", step",
        keys(asking),
        named_columns("dur_ns", "true")
    );
    let mut columns = vec![ReportColumn::named("name").label("runtime function").look(Look::Operator)];
    columns.extend(key_columns(asking));
    columns.extend(statistics(Look::Bar(Some(Class::Runtime))));
    let mut table = asking.table(&statement, columns)?;
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(table.rows.len(), "function"),
        "count" | "total_ns" => Cell::Int(sum_of(&table, &column.name)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    table.notes = vec![asking.scope()];
    Ok(table)
}

/// Recordings are followed one by one; the mean over several is weighted by their time.
fn queue_lengths(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let mut queues = Queues::default();
    asking.walk(&launch_queue::statement("{events}"), |rows| queues.take(rows))?;
    let mut streams: BTreeMap<_, Queue> = BTreeMap::new();
    for (place, queue) in queues.follow() {
        let rank = asking.groups_by("rank").then_some(place.rank);
        let window = asking.groups_by("window").then_some(place.window);
        let sum = streams.entry([rank, window, place.device, place.stream]).or_insert(Queue {
            longest: 0,
            area: 0,
            length_ns: 0,
        });
        sum.longest = sum.longest.max(queue.longest);
        sum.area += queue.area;
        sum.length_ns += queue.length_ns;
    }
    let mean = |queue: &Queue| (queue.length_ns > 0).then(|| queue.area as f64 / queue.length_ns as f64);
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let recorded = |name: &str, label: &str| named(name).label(label).null(argument_not_recorded(label));
    let table = ReportTable::of("queue_lengths", streams)
        .column(key("rank"), |(ids, _)| ids[0])
        .column(key("window"), |(ids, _)| ids[1])
        .column(recorded("device_id", "device"), |(ids, _)| ids[2])
        .column(recorded("stream_id", "stream"), |(ids, _)| ids[3])
        .column(named("max").label("longest queue"), |(_, queue)| queue.longest)
        .column(named("time_weighted_mean").label("mean queue"), |(_, queue)| mean(queue))
        .table();
    Ok(ReportTable { title: Some("WAITING LAUNCHES".to_owned()), ..table })
}

/// Why streams were idle between their events. The figures are those of `metrics`, summed over recordings.
fn idle_streams(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let statement = format!(
        "SELECT *, host_wait_ns + kernel_wait_ns + other_ns + unknown_ns AS idle_ns
         FROM ({}) ORDER BY idle_ns DESC, rank, step, device_id, stream_id",
        idle_by_stream::statement(&format!("{}, ", keys(asking)), "{events}")
    );
    let named = ReportColumn::named;
    let mut columns = key_columns(asking).to_vec();
    columns.extend([
        named("device_id").label("device"),
        named("stream_id").label("stream"),
        named("events").from_width(100),
        named("idle_ns").label("idle"),
        named("host_wait_ns").label("for the host"),
        named("kernel_wait_ns").label("for a kernel"),
        named("other_ns").label("other"),
        named("unknown_ns").label("unknown"),
    ]);
    let mut table = asking.table(&statement, columns)?;
    if !table.rows.is_empty() {
        table.notes.push("for the host: launched after the stream ran empty".into());
        table.notes.push("for a kernel: launched in time, gap below 30 µs".into());
    }
    let title = Some("IDLE STREAMS".to_owned());
    Ok(ReportTable { name: "idle_streams".to_owned(), title, ..table })
}

fn sentence(counts: &[(&str, i64)], distributions: &ReportTable) -> Text {
    let count = |name: &str| counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let (launches, short) = (count("launches"), count("shorter_than_call"));
    if launches == 0 {
        return Text::from("No launches.");
    }
    let what = match (launches, short) {
        (1, 0) => "1 launch, its work is longer than the call".into(),
        (1, _) => "1 launch, its work is shorter than the call".into(),
        (_, 0) => say!("{} launches, none shorter on the device than its call", say::count(launches)),
        _ => {
            let share = say::ratio(short as f64 / launches as f64);
            let (launches, short) = (say::count(launches), say::count(short));
            say!("{} launches, {} of them ({}) shorter on the device than their call", launches, short, share)
        }
    };
    let latency = distributions.rows.iter().find(|row| row[0] == Cell::Text("launch_latency".to_owned()));
    let place = distributions.columns.iter().position(|column| column.name == "p50_ns");
    // The median is that of all launches only if they are not grouped.
    let half = match (distributions.rows.len(), latency.zip(place).map(|(row, place)| &row[place])) {
        (3, Some(Cell::Int(ns))) => say!("; half start on the device within {}", say::ns(*ns as f64)),
        _ => Sentence::default(),
    };
    let clocks = match count("device_before_launch") {
        0 => Sentence::default(),
        1 => " 1 starts before its call: the clocks disagree.".into(),
        early => say!(" {} start before their call: the clocks disagree.", say::count(early)),
    };
    Text::headline(say!("{}{}.{}", what, half, clocks))
}
