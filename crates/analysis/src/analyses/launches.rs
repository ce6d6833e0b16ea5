//! Launches: how long the calls take, how long their work waits, and how many wait at once (metrics, section 13).

use stepscope_model::null_reason::{NO_DEVICE_EVENTS, NO_LAUNCH_CALLS, ZERO_DURATION};
use stepscope_model::{Cell, Class, Look, Metric, Missing, Part, Report, ReportColumn, ReportTable, Text, Unit};

use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking};
use crate::error::AnalysisError;
use crate::metrics::distribution::named_columns;
use crate::metrics::launch::{COUNTS, IN_ORDER, queues};
use crate::words;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "launches",
    about: "Launches: time in runtime calls, how long work waits for the device, queues",
    examples: &[
        ("stepscope launches trace.json.gz", "runtime functions with the most time first"),
        ("stepscope launches trace.json.gz --step 2", "of one step"),
        ("stepscope launches run/ --group-by rank", "of each rank"),
    ],
    groupings: &["rank", "step"],
    usual_rows: Some(20),
    answer,
};

/// The figures of a launch: name, what it means, column, and which launches it is known for.
const FIGURES: [(&str, &str, &str, &str); 3] = [
    ("call_duration", "the launch call", "dur_ns", "true"),
    ("launch_latency", "start of the call to start on the device", "latency_ns", IN_ORDER),
    ("launch_delay", "end of the call to start on the device", "delay_ns", IN_ORDER),
];

fn answer(asking: &Asking<'_>) -> Result<Report, AnalysisError> {
    let counts = asking.query(&format!("SELECT {COUNTS} FROM launches WHERE {{events}}"))?;
    let names = ["launches", "graph_launches", "shorter_than_call", "device_before_launch"];
    let mut metrics = Vec::new();
    for name in names {
        metrics.push((name, counts.required_i64(name)?.first().copied().unwrap_or(0)));
    }
    let (distributions, calls, queues) = (distributions(asking)?, runtime_calls(asking)?, queue_lengths(asking)?);
    let is_missing = distributions.rows.is_empty();
    let no_mean = missing_in(&queues, "time_weighted_mean", "mean queue length", ZERO_DURATION);
    let mut parts = vec![Part::Text(sentence(&metrics, &distributions))];
    parts.extend([Part::Table(distributions), Part::Table(calls), Part::Table(queues)]);
    let metric = |(name, value): (&str, i64)| {
        Part::Metric(Metric { name: name.to_owned(), value: Cell::Int(value), unit: Unit::Plain, reason: None })
    };
    parts.extend(metrics.into_iter().map(metric));
    let mut report = Report::new("launches", parts);
    report.missing.extend(no_mean);
    if is_missing {
        let reason = if asking.has_device_events()? { NO_LAUNCH_CALLS } else { NO_DEVICE_EVENTS };
        let (path, label) = ("distributions".to_owned(), "launch times".to_owned());
        report.missing.push(Missing { path, label, reason: reason.to_owned() });
    }
    Ok(report)
}

fn keys(asking: &Asking<'_>) -> String {
    ["rank", "step"].map(|key| asking.key(key, key, "BIGINT")).join(", ")
}

fn key_columns(asking: &Asking<'_>) -> [ReportColumn; 2] {
    ["rank", "step"].map(|key| asking.key_column(key, key, Look::Value))
}

fn statistics(bar: Class) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    vec![
        named("count"),
        named("total_ns").look(Look::Bar(Some(bar))),
        named("mean_ns"),
        named("min_ns").look(Look::Hidden),
        named("p50_ns"),
        named("p90_ns").look(Look::Hidden),
        named("p99_ns"),
        named("max_ns").from_width(100),
    ]
}

fn distributions(asking: &Asking<'_>) -> Result<ReportTable, AnalysisError> {
    let selects: Vec<String> = FIGURES
        .iter()
        .enumerate()
        .map(|(place, (name, meaning, column, condition))| {
            format!(
                "SELECT {place} AS place, '{name}' AS name, '{meaning}' AS meaning, {}, {} FROM launches
                 WHERE {{events}} AND {condition} GROUP BY ALL HAVING count(*) > 0",
                keys(asking),
                named_columns(column, "true")
            )
        })
        .collect();
    let statement = format!("SELECT * FROM ({}) ORDER BY rank, step, place", selects.join(" UNION ALL "));
    let mut columns =
        vec![ReportColumn::named("name").look(Look::Hidden), ReportColumn::named("meaning").label("from")];
    columns.extend(key_columns(asking));
    columns.extend(statistics(Class::Runtime));
    let mut table = asking.table(&statement, columns)?;
    "distributions".clone_into(&mut table.name);
    table.title = Some("LAUNCH TIMES".to_owned());
    Ok(table)
}

fn runtime_calls(asking: &Asking<'_>) -> Result<ReportTable, AnalysisError> {
    let statement = format!(
        "SELECT name, {}, {} FROM runtime_calls WHERE {{events}} GROUP BY ALL
         ORDER BY total_ns DESC, name, rank, step",
        keys(asking),
        named_columns("dur_ns", "true")
    );
    let mut columns = vec![ReportColumn::named("name").label("runtime function").look(Look::Operator)];
    columns.extend(key_columns(asking));
    columns.extend(statistics(Class::Runtime));
    let mut table = asking.table(&statement, columns)?;
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => Cell::Text(words::counted(table.rows.len(), "function")),
        "count" | "total_ns" => Cell::Int(sum_of(&table, &column.name)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    table.notes = vec![asking.scope()];
    Ok(table)
}

/// Recordings are followed one by one; the mean over several is weighted by their time.
fn queue_lengths(asking: &Asking<'_>) -> Result<ReportTable, AnalysisError> {
    let statement = format!(
        "SELECT {}, device_id, stream_id, max(longest) AS max,
           sum(area) / nullif(CAST(sum(length_ns) AS DOUBLE), 0) AS time_weighted_mean
         FROM ({}) GROUP BY ALL ORDER BY rank, device_id, stream_id",
        asking.key("rank", "rank", "BIGINT"),
        queues("{events}")
    );
    let named = ReportColumn::named;
    let columns = vec![
        asking.key_column("rank", "rank", Look::Value),
        named("device_id").label("device"),
        named("stream_id").label("stream"),
        named("max").label("longest queue"),
        named("time_weighted_mean").label("mean queue"),
    ];
    let mut table = asking.table(&statement, columns)?;
    "queue_lengths".clone_into(&mut table.name);
    table.title = Some("WAITING LAUNCHES".to_owned());
    Ok(table)
}

fn sentence(counts: &[(&str, i64)], distributions: &ReportTable) -> Text {
    let count = |name: &str| counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let (launches, short) = (count("launches"), count("shorter_than_call"));
    if launches == 0 {
        return Text::from("No launches.");
    }
    let what = match (launches, short) {
        (1, 0) => "1 launch, its work is longer than the call".to_owned(),
        (1, _) => "1 launch, its work is shorter than the call".to_owned(),
        (_, 0) => format!("{} launches, none shorter on the device than its call", words::count(launches)),
        _ => {
            let share = words::ratio(short as f64 / launches as f64);
            let (launches, short) = (words::count(launches), words::count(short));
            format!("{launches} launches, {short} of them ({share}) shorter on the device than their call")
        }
    };
    let latency = distributions.rows.iter().find(|row| row[0] == Cell::Text("launch_latency".to_owned()));
    let place = distributions.columns.iter().position(|column| column.name == "p50_ns");
    // The median is that of all launches only if they are not grouped.
    let half = match (distributions.rows.len(), latency.zip(place).map(|(row, place)| &row[place])) {
        (3, Some(Cell::Int(ns))) => format!("; half start on the device within {}", words::ns(*ns as f64)),
        _ => String::new(),
    };
    let clocks = match count("device_before_launch") {
        0 => String::new(),
        1 => " 1 starts before its call: the clocks disagree.".to_owned(),
        early => format!(" {} start before their call: the clocks disagree.", words::count(early)),
    };
    Text::strong(format!("{what}{half}.{clocks}"))
}
