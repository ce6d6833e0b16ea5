//! Memory: peaks and curves of devices, what is alive at the peak, what operators allocate, and what is never freed
//! (metrics, section 16).

mod at_peak;
mod curves;
mod open_blocks;
mod operators;

use stepscope_model::null_reason::{ADDRESSES_NOT_RECORDED, MEMORY_TOTALS_NOT_RECORDED, NO_MEMORY_EVENTS};
use stepscope_model::{Cell, Look, Missing, Part, Report, ReportColumn, ReportTable, Sentence, Text, say};
use stepscope_runs::RunError;

use self::open_blocks::OpenBlocks;
use super::asking::{all_missing_in, cell};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};
use crate::metrics::memory::{PAIRINGS, SUMS};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "memory",
    title: "Memory",
    about: "Memory: peaks, what operators allocate, what is never freed",
    examples: &[
        ("stepscope memory trace.json.gz", "operators that make memory grow most first"),
        ("stepscope memory trace.json.gz --sort -self_allocated", "by how much they allocate, freed or not"),
        ("stepscope memory trace.json.gz --step 2 -f json", "of one step, with the curve"),
    ],
    groupings: &["rank", "window"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "memory",
        key: Some('y'),
        noun: "operators",
        table: Some("memory_events"),
        count: RowCount::None,
        empty: EmptyPage {
            title: "No memory events in this recording",
            why: "The profiler records allocations when it is asked to.",
            code: Some("profile(..., profile_memory=True)"),
        },
        statement: "SELECT * FROM memory_events\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// The memory of one device in one recording.
struct Device {
    rank: i64,
    window: i64,
    name: String,
    /// Peak of what is in use, else of how much it grew.
    peak_bytes: i64,
    is_absolute: bool,
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let moments = asking.moments("ts_ns")?;
    let (table, devices) = devices(asking, &moments)?;
    let missing = missing(&table);
    let operators = operators::table(asking, &moments)?;
    let Some(highest) = devices.iter().max_by_key(|device| (device.name != "cpu", device.peak_bytes)) else {
        let text = Text::from("No memory events; profile_memory=True records them.");
        let mut report = Report::new("memory", vec![Part::Text(text), Part::Table(table), Part::Table(operators)]);
        let (path, label) = ("rows".to_owned(), "memory".to_owned());
        report.missing.push(Missing { path, label, reason: NO_MEMORY_EVENTS.into() });
        return Ok(report);
    };
    let blocks = OpenBlocks::read(asking, &moments)?;
    let mut parts = vec![Part::Text(sentence(highest, &devices, &blocks)), Part::Table(table)];
    parts.extend(curves::read(asking, &moments, highest)?.into_iter().map(Part::Series));
    parts.push(Part::Table(operators));
    parts.extend(at_peak::table(asking, &moments, highest)?.map(Part::Table));
    parts.push(Part::Table(blocks.table));
    let mut report = Report::new("memory", parts);
    report.missing = missing;
    Ok(report)
}

/// Peaks do not add up, so every recording has rows of its own.
fn devices(asking: &Asking<'_>, moments: &str) -> Result<(ReportTable, Vec<Device>), RunError> {
    let frame = asking.query(&format!(
        "SELECT rank, \"window\", device, {SUMS} FROM memory_curve WHERE {moments}
         GROUP BY rank, \"window\", device ORDER BY rank, \"window\", device"
    ))?;
    let column = |name: &str| frame.required_i64(name);
    let (ranks, windows, events) = (column("rank")?, column("window")?, column("events")?);
    let (allocations, allocated, frees) = (column("allocations")?, column("allocated_bytes")?, column("frees")?);
    let (net, addresses) = (column("net_bytes")?, column("addresses")?);
    let (peak_delta, lowest_delta) = (column("peak_delta_bytes")?, column("lowest_delta_bytes")?);
    let (peaks, reserved) = (frame.i64("peak_allocated_bytes")?, frame.i64("peak_reserved_bytes")?);
    let times = column("peak_allocated_time_ns")?;
    let [paired, unknown, open] = PAIRINGS.map(column);
    let (paired, unknown, open) = (paired?, unknown?, open?);
    let (mut rows, mut devices) = (Vec::new(), Vec::new());
    for (row, name) in frame.text("device")?.into_iter().flatten().enumerate() {
        let (rank, window) = (ranks[row], windows[row]);
        let has_addresses = addresses[row] == events[row];
        let of_block = |value: i64| if has_addresses { Cell::Int(value) } else { Cell::Null };
        let peak_time = peaks[row].map(|_| times[row]);
        rows.push(vec![
            Cell::Text(name.clone()),
            Cell::Int(rank),
            Cell::Int(window),
            cell(peaks[row], Cell::Int),
            cell(reserved[row], Cell::Int),
            cell(peak_time, Cell::Int),
            cell(peak_time, |time| Cell::Int(asking.since_start(rank, window, time))),
            Cell::Int(peak_delta[row]),
            Cell::Int(lowest_delta[row]),
            Cell::Int(net[row]),
            Cell::Int(allocations[row]),
            Cell::Int(allocated[row]),
            Cell::Int(frees[row]),
            Cell::Int(allocated[row].saturating_sub(net[row])),
            of_block(paired[row]),
            of_block(unknown[row]),
            of_block(open[row]),
            Cell::Int(events[row]),
        ]);
        let is_absolute = peaks[row].is_some();
        devices.push(Device { rank, window, name, peak_bytes: peaks[row].unwrap_or(peak_delta[row]), is_absolute });
    }
    let table = ReportTable {
        title: Some("DEVICES".to_owned()),
        ..ReportTable::named("devices", device_columns(asking, &devices), rows)
    };
    Ok((table, devices))
}

fn device_columns(asking: &Asking<'_>, devices: &[Device]) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let is_absolute = devices.iter().any(|device| device.is_absolute);
    let differs = |key: fn(&Device) -> i64| devices.iter().any(|device| key(device) != key(&devices[0]));
    vec![
        named("device").unit(stepscope_model::Unit::Plain),
        named("rank").look(only_if(asking.groups_by("rank") || differs(|device| device.rank))),
        named("window").look(only_if(asking.groups_by("window") || differs(|device| device.window))),
        named("peak_allocated_bytes").label("peak").look(only_if(is_absolute)),
        named("peak_reserved_bytes").label("peak reserved").look(only_if(is_absolute)),
        named("peak_allocated_time_ns").look(Look::Hidden),
        named("peak_allocated_from_start_ns").label("peak at").look(only_if(is_absolute)),
        named("peak_delta_bytes").label("largest growth"),
        named("lowest_delta_bytes").look(Look::Hidden),
        named("net_bytes").label("growth"),
        named("allocations"),
        named("allocated_bytes").label("allocated").from_width(100),
        named("frees").from_width(120),
        named("freed_bytes").label("freed").from_width(120),
        named("paired").look(Look::Hidden),
        named("free_without_alloc").look(Look::Hidden),
        named("alloc_without_free").label("never freed").from_width(100),
        named("events").look(Look::Hidden),
    ]
}

fn missing(devices: &ReportTable) -> Vec<Missing> {
    let peaks =
        ["peak_allocated_bytes", "peak_reserved_bytes", "peak_allocated_time_ns", "peak_allocated_from_start_ns"];
    let mut missing = all_missing_in(devices, &peaks, MEMORY_TOTALS_NOT_RECORDED);
    missing.extend(all_missing_in(devices, &PAIRINGS, ADDRESSES_NOT_RECORDED));
    missing
}

fn sentence(highest: &Device, devices: &[Device], blocks: &OpenBlocks) -> Text {
    let rank = if devices.iter().any(|device| device.rank != highest.rank) {
        format!(" of rank {}", highest.rank)
    } else {
        String::new()
    };
    let (name, peak) = (&highest.name, say::memory(highest.peak_bytes as f64));
    let peak = if highest.is_absolute {
        say!("The memory of {}{} reaches {}", name, rank, peak)
    } else {
        say!("The memory of {}{} grows by up to {}; how much was in use before is not recorded", name, rank, peak)
    };
    let noun = if blocks.count == 1 { "allocation" } else { "allocations" };
    let open = match blocks.count {
        0 => Sentence::default(),
        count => {
            let (count, size) = (say::count(count), say::memory(blocks.bytes as f64));
            say!("; {} {}, {} in all, stay to the end of the recording", count, noun, size)
        }
    };
    Text::headline(say!("{}{}.", peak, open))
}
