//! Memory: peaks and curves of devices, what is alive at the peak, what operators allocate, and what is never freed
//! (metrics, section 16).

mod allocators;
mod at_peak;
mod curves;
mod growth;
mod open_blocks;
mod operators;
mod snapshot;

use stepscope_model::null_reason::{ADDRESSES_NOT_RECORDED, MEMORY_TOTALS_NOT_RECORDED, NO_MEMORY_EVENTS};
use stepscope_model::{Look, Missing, Part, Report, ReportColumn, ReportTable, Sentence, Text, say};
use stepscope_runs::RunError;

pub use self::growth::memory_growth;
use self::open_blocks::OpenBlocks;
pub(crate) use self::snapshot::allocator::facts as allocator_facts;
pub(crate) use self::snapshot::answer as of_snapshots;
pub use self::snapshot::picture::memory_picture;
use super::asking::all_missing_in;
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};
use crate::metrics::memory::{PAIRINGS, SUMS};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "memory",
    title: "Memory",
    about: "Show memory: peaks, allocations per operator, blocks that are never freed",
    examples: &[
        ("stepscope memory trace.json.gz", "most memory growth first"),
        ("stepscope memory trace.json.gz --sort -self_allocated", "most allocated first, freed or not"),
        ("stepscope memory trace.json.gz --step 2 -f json", "one step, with the curve"),
        ("stepscope memory late.pickle --against early.pickle", "what grew between two memory snapshots"),
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
            title: "No memory events in this trace",
            why: "Turn on the recording of allocations.",
            code: Some("profile(..., profile_memory=True)"),
        },
        statement: "SELECT * FROM memory_events\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// The memory of one device in one recording.
pub(super) struct Device {
    rank: i64,
    window: i64,
    pub name: String,
    /// Peak of what is in use, else of how much it grew.
    pub peak_bytes: i64,
    pub is_absolute: bool,
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    if asking.sources.iter().any(|source| source.is_memory_snapshot()) {
        return snapshot::answer(asking);
    }
    let moments = asking.moments("ts_ns")?;
    let (table, devices) = devices(asking, &moments)?;
    let missing = missing(&table);
    let operators = operators::table(asking, &moments)?;
    // Of equal peaks the first.
    let Some(highest) = devices.iter().rev().max_by_key(|device| (device.name != "cpu", device.peak_bytes)) else {
        let is_xplane = asking.sources.iter().all(|source| source.is_xplane());
        let text = Text::from(if is_xplane {
            "No memory events: the recording has none of an allocator."
        } else {
            "No memory events. Record them with profile_memory=True."
        });
        let mut report = Report::new("memory", vec![Part::Text(text), Part::Table(table), Part::Table(operators)]);
        let (path, label) = ("rows".to_owned(), "memory".to_owned());
        report.missing.push(Missing { path, label, reason: NO_MEMORY_EVENTS.into() });
        return Ok(report);
    };
    let blocks = OpenBlocks::read(asking, &moments)?;
    let mut parts = vec![Part::Text(sentence(highest, &devices, &blocks)), Part::Table(table)];
    parts.extend(allocators::table(asking, &moments)?.map(Part::Table));
    parts.extend(curves::read(asking, &moments, highest)?.into_iter().map(Part::Series));
    parts.push(Part::Table(operators));
    parts.extend(at_peak::table(asking, &moments, highest)?.map(Part::Table));
    parts.push(Part::Table(blocks.table));
    let mut report = Report::new("memory", parts);
    report.missing = missing;
    Ok(report)
}

/// The peaks of devices.
pub(super) fn peaks(asking: &Asking<'_>) -> Result<Vec<Device>, RunError> {
    Ok(devices(asking, &asking.moments("ts_ns")?)?.1)
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
    let device = |(row, name): (usize, String)| Device {
        rank: ranks[row],
        window: windows[row],
        name,
        peak_bytes: peaks[row].unwrap_or(peak_delta[row]),
        is_absolute: peaks[row].is_some(),
    };
    let devices: Vec<Device> = frame.text("device")?.into_iter().flatten().enumerate().map(device).collect();
    let of_block = |values: &[i64], row: usize| (addresses[row] == events[row]).then_some(values[row]);
    let peak_time = |row: usize| peaks[row].map(|_| times[row]);
    let peak_from_start = |row: usize| peak_time(row).map(|time| asking.since_start(ranks[row], windows[row], time));
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let absolute = only_if(devices.iter().any(|device| device.is_absolute));
    let differs = |key: fn(&Device) -> i64| devices.iter().any(|device| key(device) != key(&devices[0]));
    let by = |name: &str, key: fn(&Device) -> i64| named(name).look(only_if(asking.groups_by(name) || differs(key)));
    let never_freed = named("alloc_without_free").label("never freed").from_width(100);
    let table = ReportTable::of("devices", 0..devices.len())
        .column(named("device").unit(stepscope_model::Unit::Plain), |row| devices[*row].name.clone())
        .column(by("rank", |device| device.rank), |row| ranks[*row])
        .column(by("window", |device| device.window), |row| windows[*row])
        .column(named("peak_allocated_bytes").label("peak").look(absolute), |row| peaks[*row])
        .column(named("peak_reserved_bytes").label("peak reserved").look(absolute), |row| reserved[*row])
        .column(hidden("peak_allocated_time_ns"), |row| peak_time(*row))
        .column(named("peak_allocated_from_start_ns").label("peak at").look(absolute), |row| peak_from_start(*row))
        .column(named("peak_delta_bytes").label("largest growth"), |row| peak_delta[*row])
        .column(hidden("lowest_delta_bytes"), |row| lowest_delta[*row])
        .column(named("net_bytes").label("growth"), |row| net[*row])
        .column(named("allocations"), |row| allocations[*row])
        .column(named("allocated_bytes").label("allocated").from_width(100), |row| allocated[*row])
        .column(named("frees").from_width(120), |row| frees[*row])
        .column(named("freed_bytes").label("freed").from_width(120), |row| allocated[*row].saturating_sub(net[*row]))
        .column(hidden("paired"), |row| of_block(&paired, *row))
        .column(hidden("free_without_alloc"), |row| of_block(&unknown, *row))
        .column(never_freed, |row| of_block(&open, *row))
        .column(hidden("events"), |row| events[*row])
        .table();
    Ok((ReportTable { title: Some("DEVICES".to_owned()), ..table }, devices))
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
            say!("; {} {}, {} in all, stay allocated to the end of the trace", count, noun, size)
        }
    };
    Text::headline(say!("{}{}.", peak, open))
}
