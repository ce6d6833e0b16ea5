//! Reads the devices of a snapshot: the state of the allocator at the end, and the history.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;
use stepscope_figures::memory_levels::{MemoryAction, MemoryLevels};
use stepscope_model::SourceRecord;
use stepscope_runs::RunError;

use super::history::{AtPeak, Change, EndBlock, History, Part, Walk};
use crate::Asking;

/// The state of the allocator of a device, when the snapshot was made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    pub segments: i64,
    pub blocks: i64,
    pub reserved_bytes: i64,
    pub allocated_bytes: i64,
    pub pending_bytes: i64,
    pub inactive_bytes: i64,
    pub requested_bytes: i64,
    /// Inactive, in segments that cannot be given back.
    pub stuck_bytes: i64,
    /// Inactive, in segments that can.
    pub cached_bytes: i64,
    pub largest_free_bytes: i64,
}

/// A device of a snapshot.
pub(super) struct Device {
    pub rank: u32,
    pub window: u32,
    pub number: i64,
    pub state: Option<State>,
    pub history: Option<History>,
    /// Levels count from the beginning of the history, because its end is not known.
    pub is_relative: bool,
    pub blocks: Vec<EndBlock>,
    /// What was in use before the history began: what still is at the end, and what is freed later, by address.
    pub older: Vec<Part>,
    pub gone: HashMap<Option<i64>, i64>,
}

/// The condition for rows of a recording.
pub(super) fn condition(source: &SourceRecord) -> String {
    format!("rank = {} AND \"window\" = {}", source.id.rank, source.id.window)
}

/// The devices of a snapshot, in the order of their numbers.
pub(super) fn devices(asking: &Asking<'_>, source: &SourceRecord) -> Result<Vec<Device>, RunError> {
    let mut states = states(asking, source)?;
    let mut blocks = blocks(asking, source, &mut states)?;
    let mut walks: BTreeMap<i64, Walk> = BTreeMap::new();
    changes(asking, source, |device, name, change| walks.entry(device).or_default().take(name, change))?;
    if !source.has_allocator_state() {
        states.clear();
    }
    let is_damaged = source.notes.iter().any(|note| note.as_text().starts_with("pickle_"));
    let is_relative = is_damaged || !source.has_allocator_state();
    let mut numbers: Vec<i64> = states.keys().chain(walks.keys()).copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut at_peak: BTreeMap<i64, AtPeak> = BTreeMap::new();
    let mut devices = Vec::new();
    for number in numbers {
        let blocks = blocks.remove(&number).unwrap_or_default();
        let state = states.get(&number).copied();
        let mut end =
            MemoryLevels { reserved_bytes: state.map_or(0, |state| state.reserved_bytes), ..Default::default() };
        for block in &blocks {
            end.active_bytes += block.requested_bytes;
            end.allocated_bytes += if block.is_allocated { block.requested_bytes } else { 0 };
        }
        let walked = walks.remove(&number).map(|walk| walk.end((!is_relative).then_some(end), &blocks));
        let (history, peak) = walked.unzip();
        let (older, gone) =
            peak.as_ref().map(|peak: &AtPeak| (peak.older.clone(), peak.gone.clone())).unwrap_or_default();
        at_peak.extend(peak.map(|peak| (number, peak)));
        let (rank, window) = (source.id.rank, source.id.window);
        devices.push(Device { rank, window, number, state, history, is_relative, blocks, older, gone });
    }
    changes(asking, source, |device, _, change| {
        if let Some(peak) = at_peak.get_mut(&device) {
            peak.take(change);
        }
    })?;
    for device in &mut devices {
        if let Some(history) = &mut device.history {
            history.parts = at_peak.remove(&device.number).map(AtPeak::parts).unwrap_or_default();
        }
    }
    Ok(devices)
}

fn states(asking: &Asking<'_>, source: &SourceRecord) -> Result<BTreeMap<i64, State>, RunError> {
    let mut states: BTreeMap<i64, State> = BTreeMap::new();
    asking.walk(&format!("SELECT * FROM memory_segments WHERE {}", condition(source)), |frame| {
        let column = |name: &str| frame.required_i64(name);
        let (devices, totals, allocated) = (column("device_id")?, column("total_bytes")?, column("allocated_bytes")?);
        let (pending, inactive) = (column("pending_bytes")?, column("inactive_bytes")?);
        let (requested, blocks) = (column("requested_bytes")?, column("blocks")?);
        for row in 0..frame.rows() {
            let state = states.entry(devices[row]).or_default();
            state.segments += 1;
            state.blocks += blocks[row];
            state.reserved_bytes += totals[row];
            state.allocated_bytes += allocated[row];
            state.pending_bytes += pending[row];
            state.inactive_bytes += inactive[row];
            state.requested_bytes += requested[row];
            let is_stuck = allocated[row] != 0 || pending[row] != 0;
            *(if is_stuck { &mut state.stuck_bytes } else { &mut state.cached_bytes }) += inactive[row];
        }
        Ok(())
    })?;
    Ok(states)
}

/// The blocks in use at the end, by device. The largest that is not in use is added to the states.
fn blocks(
    asking: &Asking<'_>,
    source: &SourceRecord,
    states: &mut BTreeMap<i64, State>,
) -> Result<BTreeMap<i64, Vec<EndBlock>>, RunError> {
    let mut blocks: BTreeMap<i64, Vec<EndBlock>> = BTreeMap::new();
    let statement = format!("SELECT * FROM memory_blocks WHERE {} ORDER BY segment, position", condition(source));
    asking.walk(&statement, |frame| {
        let column = |name: &str| frame.required_i64(name);
        let (devices, addresses, sizes) = (column("device_id")?, column("address")?, column("size_bytes")?);
        let (requested, stacks) = (frame.i64("requested_bytes")?, frame.i64("stack_id")?);
        for (row, state) in frame.text("state")?.into_iter().enumerate() {
            let is_allocated = state.as_deref() == Some("allocated");
            if is_allocated || state.as_deref() == Some("pending") {
                let requested_bytes = requested[row].unwrap_or(sizes[row]);
                let block = EndBlock { address: addresses[row], requested_bytes, stack: stacks[row], is_allocated };
                blocks.entry(devices[row]).or_default().push(block);
            } else if state.as_deref() == Some("inactive") {
                let state = states.entry(devices[row]).or_default();
                state.largest_free_bytes = state.largest_free_bytes.max(sizes[row]);
            }
        }
        Ok(())
    })?;
    Ok(blocks)
}

/// Hands out the changes in the order of the recording: the device, the name of the action, and the change.
pub(super) fn changes(
    asking: &Asking<'_>,
    source: &SourceRecord,
    mut take: impl FnMut(i64, &str, &Change),
) -> Result<(), RunError> {
    let statement = format!(
        "SELECT device_id, action, size_bytes, address, ts_ns, stack_id, category, CASE WHEN action = 'oom' THEN args END AS args
         FROM memory_events WHERE {} ORDER BY position",
        condition(source)
    );
    asking.walk(&statement, |frame| {
        let (devices, sizes, addresses) = (frame.i64("device_id")?, frame.i64("size_bytes")?, frame.i64("address")?);
        let (times, stacks) = (frame.i64("ts_ns")?, frame.i64("stack_id")?);
        let (actions, categories, args) = (frame.text("action")?, frame.text("category")?, frame.text("args")?);
        for (row, ((action, category), args)) in actions.into_iter().zip(categories).zip(args).enumerate() {
            let args: Option<Json> = args.and_then(|args| serde_json::from_str(&args).ok());
            let device_free_bytes = args.and_then(|args| args.get("device_free").and_then(Json::as_i64));
            let action = action.as_deref().unwrap_or("None");
            let change = Change {
                action: MemoryAction::of(action),
                size_bytes: sizes[row].unwrap_or(0).saturating_abs(),
                address: addresses[row],
                ts_ns: times[row],
                stack: stacks[row],
                category,
                device_free_bytes,
            };
            take(devices[row].unwrap_or(0), action, &change);
        }
        Ok(())
    })
}
