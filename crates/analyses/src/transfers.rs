//! Copies and fills by name: how much they move, how fast, and whether kernels hide them (metrics, section 12).

mod cover;

use std::collections::HashMap;

use stepscope_model::null_reason::{NOT_IN_NAME, ZERO_DURATION, argument_not_recorded};
use stepscope_model::{Cell, Class, Holds, Look, Part, Report, ReportColumn, ReportTable, Text, Unit, say};
use stepscope_runs::{Frame, RunError};

use self::cover::{Cover, Covers};
use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page};
use crate::metrics::copies::{Moved, SUMS};
use crate::metrics::distribution::named_columns;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "transfers",
    title: "Transfers",
    about: "List copies and fills: bytes, bandwidth, and how much of it kernels hide",
    examples: &[
        ("stepscope transfers trace.json.gz", "most time first"),
        ("stepscope transfers trace.json.gz --group-by stream", "each with its stream"),
        ("stepscope transfers run/ --group-by rank -f csv -o transfers.csv", "one row per rank, for a spreadsheet"),
    ],
    groupings: &["rank", "window", "step", "device", "stream"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "transfers",
        key: Some('x'),
        noun: "copies",
        groups: &[("stream", "+ stream"), ("step", "+ step")],
        empty: EmptyPage {
            title: "No copies in this trace",
            why: "Add the activity of the device to the profiler.",
            code: Some("profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"),
        },
        statement: "SELECT * FROM device_events\nWHERE kind IN ('memcpy', 'memset')\nORDER BY dur_ns DESC\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// What rows are grouped by: name, rank, step, device and stream.
pub(super) type Group = (Option<String>, [Option<i64>; 5]);

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let copies = asking.query(&format!(
        "SELECT name, {}, {SUMS}, {} FROM device_events WHERE {{events}} AND kind IN ('memcpy', 'memset')
         GROUP BY ALL ORDER BY total_ns DESC, name, rank, step, device_id, stream_id",
        keys(asking),
        named_columns("dur_ns", "true")
    ))?;
    let moved = Moved::of_rows(&copies)?;
    let covers = Covers::read(asking, &keys(asking))?;
    let mut table = rows(asking, &copies, &moved, &covers.by_group)?;
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(table.rows.len(), "kind"),
        "count" | "total_ns" | "bytes" => Cell::Int(sum_of(&table, &column.name)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    table.notes = vec![asking.scope()];
    let missing = [
        missing_in(&table, "bytes", &argument_not_recorded("bytes")),
        missing_in(&table, "bandwidth_gb_per_s", &bandwidth_reason(&moved)),
        missing_in(&table, "bandwidth_recorded_gb_per_s", &argument_not_recorded("memory bandwidth (GB/s)")),
        missing_in(&table, "hidden_ratio", ZERO_DURATION),
    ];
    let sentence = sentence(&copies.required_i64("count")?, &moved, &covers);
    let mut report = Report::new("transfers", vec![Part::Text(sentence), Part::Table(table)]);
    report.missing.extend(missing.into_iter().flatten());
    Ok(report)
}

fn keys(asking: &Asking<'_>) -> String {
    let window = ("window", "\"window\"");
    let keys = [("rank", "rank"), window, ("step", "step"), ("device", "device_id"), ("stream", "stream_id")];
    keys.map(|(grouping, column)| asking.key(grouping, column, "BIGINT")).join(", ")
}

pub(super) fn groups(frame: &Frame) -> Result<Vec<Group>, RunError> {
    let columns = ["rank", "window", "step", "device_id", "stream_id"].map(|name| frame.i64(name));
    let [ranks, windows, steps, devices, streams] = columns;
    let (ranks, windows, steps, devices, streams) = (ranks?, windows?, steps?, devices?, streams?);
    let names = frame.text("name")?.into_iter().enumerate();
    Ok(names.map(|(row, name)| (name, [ranks[row], windows[row], steps[row], devices[row], streams[row]])).collect())
}

/// The copies of a name.
struct Copies<'a> {
    row: usize,
    group: Group,
    moved: &'a Moved,
    cover: Cover,
}

fn rows(
    asking: &Asking<'_>,
    copies: &Frame,
    moved: &[Moved],
    covers: &HashMap<Group, Cover>,
) -> Result<ReportTable, RunError> {
    let column = |name: &str| copies.required_i64(name);
    let (counts, totals) = (column("count")?, column("total_ns")?);
    let (p50, p99, max) = (column("p50_ns")?, column("p99_ns")?, column("max_ns")?);
    let row = |(row, (group, moved)): (usize, (Group, _))| {
        let cover = covers.get(&group).copied().unwrap_or_default();
        Copies { row, group, moved, cover }
    };
    let rows = groups(copies)?.into_iter().zip(moved).enumerate().map(row);
    // On a clock of microseconds a short copy has no exact length; there the bandwidth that was recorded is better.
    let is_coarse = asking.sources.iter().all(|source| source.clock_resolution_ns >= 1000);
    let shows_recorded = is_coarse && moved.iter().any(|moved| moved.recorded_gb_per_s.is_some());
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let in_name = |name: &str| hidden(name).holds(Holds::Texts).null(NOT_IN_NAME);
    let key = |grouping: &str, name: &str| asking.key_column(grouping, name, Look::Value);
    let bandwidth = named("bandwidth_gb_per_s").label("bandwidth").look(only_if(!shows_recorded));
    let recorded = named("bandwidth_recorded_gb_per_s").label("recorded bandwidth").look(only_if(shows_recorded));
    let table = ReportTable::of("rows", rows)
        .column(named("name").holds(Holds::Texts).label("copy").look(Look::Operator), |copies| copies.group.0.clone())
        .column(key("rank", "rank"), |copies| copies.group.1[0])
        .column(key("window", "window"), |copies| copies.group.1[1])
        .column(key("step", "step"), |copies| copies.group.1[2])
        .column(key("device", "device_id").label("device"), |copies| copies.group.1[3])
        .column(key("stream", "stream_id").label("stream"), |copies| copies.group.1[4])
        .column(in_name("kind"), |copies| copies.moved.name.kind.clone())
        .column(in_name("source"), |copies| copies.moved.name.source.clone())
        .column(in_name("target"), |copies| copies.moved.name.target.clone())
        .column(hidden("is_pageable"), |copies| copies.moved.name.is_pageable())
        .column(named("count"), |copies| counts[copies.row])
        .column(named("bytes").unit(Unit::MovedBytes).label("moved"), |copies| copies.moved.bytes)
        .column(hidden("bytes_missing"), |copies| copies.moved.bytes_missing)
        .column(named("total_ns").look(Look::Bar(Some(Class::Memcpy))), |copies| totals[copies.row])
        .column(named("mean_ns"), |copies| totals[copies.row] as f64 / counts[copies.row] as f64)
        .column(named("p50_ns").from_width(140), |copies| p50[copies.row])
        .column(named("p99_ns").from_width(120), |copies| p99[copies.row])
        .column(hidden("max_ns"), |copies| max[copies.row])
        .column(bandwidth, |copies| copies.moved.gb_per_s)
        .column(recorded, |copies| copies.moved.recorded_gb_per_s)
        .column(named("hidden_ratio").label("hidden"), |copies| copies.cover.hidden_ratio())
        .column(hidden("union_ns"), |copies| copies.cover.copy_ns)
        .column(hidden("hidden_ns"), |copies| copies.cover.hidden_ns)
        .table();
    Ok(table)
}

/// Copies from pageable memory are what can be helped most easily, so they are named first.
fn sentence(counts: &[i64], moved: &[Moved], covers: &Covers) -> Text {
    if moved.is_empty() {
        return Text::from("No copies and no fills.");
    }
    let has_pageable = moved.iter().any(|moved| moved.name.is_pageable());
    let told = || moved.iter().zip(counts).filter(|(moved, _)| moved.name.is_pageable() || !has_pageable);
    let count: i64 = told().map(|(_, count)| count).sum();
    let bytes: i64 = told().filter_map(|(moved, _)| moved.bytes).sum();
    let bytes_ns: i64 = told().filter(|(moved, _)| moved.bytes.is_some()).filter_map(|(moved, _)| moved.bytes_ns).sum();
    let cover = if has_pageable { covers.pageable } else { covers.all };
    let is_told = |place: fn(&Moved) -> &Option<String>| {
        told().all(|(moved, _)| place(moved).as_deref().is_some_and(|place| place.starts_with("Pageable")))
    };
    let (noun, direction) = match has_pageable {
        false => ("copy or fill", ""),
        true if is_told(|moved| &moved.name.source) => ("copy", " from pageable memory"),
        true if is_told(|moved| &moved.name.target) => ("copy", " to pageable memory"),
        true => ("copy", " from or to pageable memory"),
    };
    let what = match (count, noun) {
        (1, _) => say!("1 {}{} moves", noun, direction),
        (_, "copy") => say!("{} copies{} move", say::count(count), direction),
        _ => say!("{} copies and fills move", say::count(count)),
    };
    let how_much = match (bytes_ns, told().all(|(moved, _)| moved.bytes.is_none())) {
        (_, true) => "an unknown number of bytes".into(),
        (0, _) => say::moved(bytes as f64).into(),
        _ => say!("{} at {}", say::moved(bytes as f64), say::gb_per_s(bytes as f64 / bytes_ns as f64)),
    };
    Text::headline(say!("{} {}; {}.", what, how_much, cover.in_words()))
}

fn bandwidth_reason(moved: &[Moved]) -> String {
    let without = |moved: &&Moved| moved.gb_per_s.is_none();
    let is_recorded = moved.iter().filter(without).any(|moved| moved.bytes.is_some());
    if is_recorded { ZERO_DURATION.to_owned() } else { argument_not_recorded("bytes") }
}
