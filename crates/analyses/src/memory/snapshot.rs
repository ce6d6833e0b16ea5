//! Memory snapshots of PyTorch: the state of the allocator, what most memory was used for, and what holds it at the end
//! (metrics, section 31).

pub(super) mod allocator;
mod history;
pub(super) mod picture;
mod read;
pub(super) mod stacks;
mod step_growth;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;
use stepscope_model::null_reason::{FILE_TRUNCATED, NO_HISTORY, NO_SNAPSHOT_STATE, NO_TIMES, ZERO_BYTES};
use stepscope_model::{Cell, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Text, Unit, say};
use stepscope_runs::RunError;

use self::history::History;
use self::read::{Device, State};
use self::stacks::Stacks;
use self::step_growth::StepGrowth;
use crate::Asking;
use crate::asking::all_missing_in;

/// Bytes and blocks that a stack holds.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: i64,
    blocks: i64,
}

/// What holds memory, at the peak or at the end.
struct Owner {
    rank: u32,
    window: u32,
    device: i64,
    stack: Option<i64>,
    line: String,
    frames: Option<String>,
    category: String,
    held: Held,
}

pub(crate) fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let mut devices = Vec::new();
    let (mut at_peak, mut at_end): (Vec<Owner>, Vec<Owner>) = (Vec::new(), Vec::new());
    let mut categories: BTreeMap<(u32, u32, i64, String), i64> = BTreeMap::new();
    let mut grown = Vec::new();
    for source in asking.sources.iter().filter(|source| source.is_memory_snapshot()) {
        let (rank, window) = (source.id.rank, source.id.window);
        let stacks = Stacks::read(asking, rank, window)?;
        for device in read::devices(asking, source)? {
            let category = |stack: Option<i64>| stacks.category(stack).to_owned();
            let owners = |held: HashMap<Option<i64>, Held>| {
                held.into_iter().map(|(stack, held)| Owner {
                    rank,
                    window,
                    device: device.number,
                    stack,
                    line: stacks.owner(stack),
                    frames: stacks.shown(stack),
                    category: category(stack),
                    held,
                })
            };
            let mut parts: HashMap<Option<i64>, Held> = HashMap::new();
            for part in device.history.iter().flat_map(|history| &history.parts) {
                add(&mut parts, part.stack, part.bytes);
                let category = part.category.clone().unwrap_or_else(|| category(part.stack));
                *categories.entry((rank, window, device.number, category)).or_default() += part.bytes;
            }
            at_peak.extend(owners(parts));
            let mut end: HashMap<Option<i64>, Held> = HashMap::new();
            for block in device.blocks.iter().filter(|block| block.is_allocated) {
                add(&mut end, block.stack, block.requested_bytes);
            }
            at_end.extend(owners(end));
            devices.push(device);
        }
        if let Some(growth) = step_growth::read(asking, source)? {
            grown.push(grown_table(growth, &stacks, devices.len() > 1));
        }
    }
    let mut report = report(asking, &devices, at_peak, at_end, categories);
    report.parts.extend(grown.into_iter().map(Part::Table));
    Ok(report)
}

fn add(held: &mut HashMap<Option<i64>, Held>, stack: Option<i64>, bytes: i64) {
    let held = held.entry(stack).or_default();
    held.bytes += bytes;
    held.blocks += 1;
}

fn report(
    asking: &Asking<'_>,
    devices: &[Device],
    mut at_peak: Vec<Owner>,
    mut at_end: Vec<Owner>,
    categories: BTreeMap<(u32, u32, i64, String), i64>,
) -> Report {
    for owners in [&mut at_peak, &mut at_end] {
        owners.sort_by(|a, b| {
            (b.held.bytes, &a.line, a.device, a.stack).cmp(&(a.held.bytes, &b.line, b.device, b.stack))
        });
    }
    let several = devices.len() > 1;
    let states = state_table(asking, devices);
    let histories = history_table(asking, devices);
    let lines = line_table(&at_peak);
    let mut peak = owner_table("rows", at_peak, several);
    peak.title = Some("AT THE PEAK BY STACK".to_owned());
    peak.sorted_by = Some("-bytes".to_owned());
    let mut end = owner_table("held", at_end, several);
    end.title = Some("IN USE AT THE END".to_owned());
    let mut rows: Vec<_> = categories.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let named = ReportColumn::named;
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let mut by_category = ReportTable::of("categories", rows)
        .column(named("category").holds(Holds::Texts), |(key, _)| key.3.clone())
        .column(named("device_id").label("device").unit(Unit::Id).look(only_if(several)), |(key, _)| key.2)
        .column(named("bytes").unit(Unit::Bytes).look(Look::Bar(None)), |(_, bytes)| *bytes)
        .table();
    by_category.title = Some("AT THE PEAK BY CATEGORY (ESTIMATE)".to_owned());
    let mut missing = all_missing_in(&states, &["fragmentation_ratio", "rounding_ratio"], ZERO_BYTES);
    missing.extend(all_missing_in(&histories, &["peak_active_ns", "peak_active_from_start_ns"], NO_TIMES));
    let levels = ["start_allocated_bytes", "start_active_bytes", "start_reserved_bytes"];
    missing.extend(all_missing_in(&histories, &levels, NO_SNAPSHOT_STATE));
    let levels = ["end_allocated_bytes", "end_active_bytes", "end_reserved_bytes"];
    missing.extend(all_missing_in(&histories, &levels, NO_SNAPSHOT_STATE));
    if states.rows.is_empty() {
        let is_cut = |state: &Json| state == "cut";
        let is_cut = asking.sources.iter().any(|source| source.header.get("snapshot_state").is_some_and(is_cut));
        let reason = if is_cut { FILE_TRUNCATED } else { NO_SNAPSHOT_STATE };
        missing.push(Missing { path: "devices".to_owned(), label: "allocator".to_owned(), reason: reason.into() });
    }
    let has_history = devices.iter().any(|device| device.history.is_some());
    if !has_history {
        let (path, label) = ("rows".to_owned(), "history".to_owned());
        missing.push(Missing { path, label, reason: NO_HISTORY.into() });
    }
    let mut parts = vec![Part::Text(sentence(devices))];
    parts.extend([states, histories, by_category, lines, peak, end].map(Part::Table));
    Report { missing, ..Report::new("memory", parts) }
}

fn state_table(asking: &Asking<'_>, devices: &[Device]) -> ReportTable {
    let with_state = devices.iter().filter_map(|device| device.state.map(|state| (device, state)));
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let by = |name: &str| named(name).look(if asking.all_sources > 1 { Look::Value } else { Look::Hidden });
    let share = |part: i64, whole: i64| (whole != 0).then(|| part as f64 / whole as f64);
    let table = ReportTable::of("devices", with_state)
        .column(named("device_id").label("device").unit(Unit::Id), |(device, _)| device.number)
        .column(by("rank"), |(device, _)| i64::from(device.rank))
        .column(by("window"), |(device, _)| i64::from(device.window))
        .column(named("reserved_bytes").label("reserved"), |(_, state)| state.reserved_bytes)
        .column(named("allocated_bytes").label("allocated"), |(_, state)| state.allocated_bytes)
        .column(named("stuck_bytes").label("stuck"), |(_, state)| state.stuck_bytes)
        .column(named("cached_bytes").label("cached"), |(_, state)| state.cached_bytes)
        .column(named("fragmentation_ratio").label("fragmentation"), |(_, state)| {
            share(state.stuck_bytes, state.reserved_bytes)
        })
        .column(named("rounding_ratio").label("rounding"), |(_, state)| {
            share(state.allocated_bytes - state.requested_bytes, state.allocated_bytes)
        })
        .column(named("segments"), |(_, state)| state.segments)
        .column(named("blocks"), |(_, state)| state.blocks)
        .column(hidden("pending_bytes"), |(_, state)| state.pending_bytes)
        .column(hidden("inactive_bytes"), |(_, state)| state.inactive_bytes)
        .column(hidden("requested_bytes"), |(_, state)| state.requested_bytes)
        .column(named("largest_free_bytes").label("largest free").from_width(110), |(_, state)| {
            state.largest_free_bytes
        })
        .table();
    ReportTable { title: Some("ALLOCATOR".to_owned()), ..table }
}

fn history_table(asking: &Asking<'_>, devices: &[Device]) -> ReportTable {
    let with_history = devices.iter().filter_map(|device| device.history.as_ref().map(|history| (device, history)));
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let absolute = |device: &Device, value: i64| (!device.is_relative).then_some(value);
    let from_start = |device: &Device, time: Option<i64>| {
        time.map(|time| asking.since_start(device.rank.into(), device.window.into(), time))
    };
    let parts = |history: &History| history.parts.iter().map(|part| part.bytes).sum::<i64>();
    let counts = |history: &History| serde_json::to_value(&history.by_action).unwrap_or(Json::Null);
    let ooms = |history: &History| {
        let oom = |(place, requested, free): &(usize, i64, Option<i64>)| serde_json::json!({"place": place, "requested_bytes": requested, "device_free_bytes": free});
        Json::Array(history.out_of_memory.iter().map(oom).collect())
    };
    let table = ReportTable::of("history", with_history)
        .column(named("device_id").label("device").unit(Unit::Id), |(device, _)| device.number)
        .column(hidden("rank"), |(device, _)| i64::from(device.rank))
        .column(hidden("window"), |(device, _)| i64::from(device.window))
        .column(named("events"), |(_, history)| history.changes as i64)
        .column(hidden("is_relative"), |(device, _)| device.is_relative)
        .column(named("peak_active_bytes").label("peak"), |(_, history)| history.peak.active_bytes)
        .column(named("peak_allocated_bytes").label("peak allocated"), |(_, history)| history.peak.allocated_bytes)
        .column(named("peak_reserved_bytes").label("peak reserved"), |(_, history)| history.peak.reserved_bytes)
        .column(hidden("peak_active_ns"), |(_, history)| history.peak_ns)
        .column(named("peak_active_from_start_ns").label("peak at"), |(device, history)| {
            from_start(device, history.peak_ns)
        })
        .column(hidden("peak_active_event"), |(_, history)| history.peak_change.map_or(-1, |number| number as i64))
        .column(hidden("peak_parts_bytes"), |(_, history)| parts(history))
        .column(hidden("peak_blocks"), |(_, history)| history.parts.len() as i64)
        .column(hidden("start_allocated_bytes"), |(device, history)| absolute(device, history.start.allocated_bytes))
        .column(named("start_active_bytes").label("at the start"), |(device, history)| {
            absolute(device, history.start.active_bytes)
        })
        .column(hidden("start_reserved_bytes"), |(device, history)| absolute(device, history.start.reserved_bytes))
        .column(named("end_active_bytes").label("at the end"), |(device, history)| {
            absolute(device, history.end.active_bytes)
        })
        .column(hidden("end_allocated_bytes"), |(device, history)| absolute(device, history.end.allocated_bytes))
        .column(hidden("end_reserved_bytes"), |(device, history)| absolute(device, history.end.reserved_bytes))
        .column(hidden("allocated_bytes_sum"), |(_, history)| history.allocated_bytes)
        .column(hidden("closed_lifetimes"), |(_, history)| history.closed_lifetimes)
        .column(hidden("lifetime_sum_ns"), |(_, history)| history.lifetime_ns)
        .column(hidden("out_of_order"), |(_, history)| history.out_of_order)
        .column(hidden("freed_without_allocation"), |(_, history)| history.freed_without_allocation)
        .column(hidden("freed_without_allocation_bytes"), |(_, history)| history.freed_without_allocation_bytes)
        .column(hidden("allocations_not_in_a_block"), |(_, history)| history.allocations_not_in_a_block)
        .column(named("out_of_memory_count").label("out of memory"), |(_, history)| history.out_of_memory.len() as i64)
        .column(hidden("by_action"), |(_, history)| Cell::Json(counts(history)))
        .column(hidden("out_of_memory"), |(_, history)| Cell::Json(ooms(history)))
        .table();
    ReportTable { title: Some("HISTORY".to_owned()), ..table }
}

fn owner_table(name: &str, owners: Vec<Owner>, several: bool) -> ReportTable {
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    ReportTable::of(name, owners)
        .column(named("owner").holds(Holds::Texts).look(Look::Operator), |owner| owner.line.clone())
        .column(named("category").holds(Holds::Texts), |owner| owner.category.clone())
        .column(named("device_id").label("device").unit(Unit::Id).look(only_if(several)), |owner| owner.device)
        .column(hidden("rank"), |owner| i64::from(owner.rank))
        .column(hidden("window"), |owner| i64::from(owner.window))
        .column(named("blocks"), |owner| owner.held.blocks)
        .column(named("bytes").unit(Unit::Bytes).look(Look::Bar(None)), |owner| owner.held.bytes)
        .column(hidden("stack_id").null(stepscope_model::null_reason::STACKS_NOT_RECORDED), |owner| owner.stack)
        .column(hidden("frames").holds(Holds::Texts).null(stepscope_model::null_reason::STACKS_NOT_RECORDED), |owner| {
            owner.frames.clone()
        })
        .table()
}

/// What stacks hold more at the end of the last step than at the end of the first.
fn grown_table(growth: StepGrowth, stacks: &Stacks, several: bool) -> ReportTable {
    let StepGrowth { first, last, steps, grown } = growth;
    let named = ReportColumn::named;
    let none = stepscope_model::null_reason::STACKS_NOT_RECORDED;
    let device = if several { Look::Value } else { Look::Hidden };
    let per_step = |bytes: i64| bytes as f64 / (steps - 1) as f64;
    let table = ReportTable::of("grown", grown)
        .column(named("owner").holds(Holds::Texts).look(Look::Operator), |((_, stack), _)| stacks.owner(*stack))
        .column(named("device_id").label("device").unit(Unit::Id).look(device), |((device, _), _)| *device)
        .column(named("growth_blocks").label("blocks"), |(_, held)| held.blocks)
        .column(named("growth_bytes").label("growth").unit(Unit::Bytes), |(_, held)| held.bytes)
        .column(named("bytes_per_step").label("per step").unit(Unit::Bytes), |(_, held)| per_step(held.bytes))
        .column(named("frames").holds(Holds::Texts).look(Look::Hidden).null(none), |((_, stack), _)| {
            stacks.shown(*stack)
        })
        .table();
    let notes = vec![say!("from the end of {} to the end of {}", first, last)];
    ReportTable { title: Some("GREW OVER THE STEPS".to_owned()), notes, ..table }
}

/// Lines that are listed, those that hold most first.
const LISTED: usize = 20;

/// What the lines of the program hold at the peak, all devices together.
fn line_table(at_peak: &[Owner]) -> ReportTable {
    let mut lines: HashMap<&str, Held> = HashMap::new();
    for owner in at_peak {
        let held = lines.entry(&owner.line).or_default();
        held.bytes += owner.held.bytes;
        held.blocks += owner.held.blocks;
    }
    let mut lines: Vec<(&str, Held)> = lines.into_iter().collect();
    lines.sort_by(|a, b| (b.1.bytes, a.0).cmp(&(a.1.bytes, b.0)));
    lines.truncate(LISTED);
    let named = ReportColumn::named;
    let table = ReportTable::of("lines", lines)
        .column(named("owner").holds(Holds::Texts).look(Look::Operator), |(line, _)| (*line).to_owned())
        .column(named("blocks"), |(_, held)| held.blocks)
        .column(named("bytes").unit(Unit::Bytes).look(Look::Bar(None)), |(_, held)| held.bytes)
        .table();
    ReportTable { title: Some("AT THE PEAK BY LINE".to_owned()), ..table }
}

fn sentence(devices: &[Device]) -> Text {
    let highest = devices.iter().filter_map(|device| device.history.as_ref().map(|history| (device, history)));
    let Some((device, history)) = highest.max_by_key(|(_, history)| history.peak.active_bytes) else {
        let states: Vec<State> = devices.iter().filter_map(|device| device.state).collect();
        if states.is_empty() {
            return Text::headline("The snapshot has neither the state of the allocator nor a history.");
        }
        let reserved: i64 = states.iter().map(|state| state.reserved_bytes).sum();
        return Text::headline(say!("The allocator holds {}; no history is recorded.", say::memory(reserved as f64)));
    };
    let peak = say::memory(history.peak.active_bytes as f64);
    if device.is_relative {
        let sentence = say!("The memory of gpu{} grows by up to {}", device.number.to_string(), peak);
        return Text::headline(say!("{}; how much was in use before is not recorded.", sentence));
    }
    let state = device.state.unwrap_or_default();
    let stuck = say::memory(state.stuck_bytes as f64);
    let share = if state.reserved_bytes > 0 { state.stuck_bytes as f64 / state.reserved_bytes as f64 } else { 0.0 };
    let sentence = say!("The memory of gpu{} reaches {}", device.number.to_string(), peak);
    Text::headline(say!(
        "{}; {} of what is reserved at the end, {}, is stuck in fragments.",
        sentence,
        stuck,
        say::ratio(share)
    ))
}
