//! What a page draws of a snapshot: the segments with their blocks, and how much memory each stack held over time.

mod curve;

use std::collections::HashMap;

use stepscope_model::{DeviceMemory, MapBlock, MemoryOwner, MemoryPicture, MemoryTimeline, SegmentMap, SourceRecord};
use stepscope_runs::{OpenRun, RunError};

use self::curve::Curve;
use super::history::History;
use super::read::{self, Device};
use super::stacks::Stacks;
use crate::{Asking, Question};

/// Segments of a device that are drawn.
const SEGMENTS: usize = 2_000;
/// Blocks of a device that are drawn.
const BLOCKS: usize = 100_000;
/// Stacks that have a curve of their own.
const CURVES: usize = 12;

/// The picture of the first snapshot that a question is about; nothing if there is none.
pub fn memory_picture(run: &OpenRun, question: &Question) -> Result<MemoryPicture, RunError> {
    let asking = Asking::of(run, question)?;
    let Some(source) = asking.sources.iter().copied().find(|source| source.is_memory_snapshot()) else {
        return Ok(MemoryPicture::default());
    };
    let stacks = Stacks::read(&asking, source.id.rank, source.id.window)?;
    let devices = read::devices(&asking, source)?;
    let mut pictures: Vec<Picture<'_>> = devices.iter().map(|device| Picture::new(device, &stacks)).collect();
    add_segments(&asking, source, &mut pictures)?;
    add_timelines(&asking, source, &mut pictures)?;
    let picture = |picture: Picture<'_>| DeviceMemory { owners: picture.owners.listed, ..picture.memory };
    Ok(MemoryPicture { devices: pictures.into_iter().map(picture).collect() })
}

/// The picture of a device as it is made.
struct Picture<'a> {
    device: &'a Device,
    owners: Owners<'a>,
    memory: DeviceMemory,
    blocks: usize,
}

impl<'a> Picture<'a> {
    fn new(device: &'a Device, stacks: &'a Stacks) -> Self {
        let memory = DeviceMemory { device_id: device.number, ..DeviceMemory::default() };
        Self { device, owners: Owners { stacks, listed: Vec::new(), places: HashMap::new() }, memory, blocks: 0 }
    }
}

/// The stacks that the picture refers to.
struct Owners<'a> {
    stacks: &'a Stacks,
    listed: Vec<MemoryOwner>,
    places: HashMap<Option<i64>, usize>,
}

impl Owners<'_> {
    fn place(&mut self, stack: Option<i64>) -> usize {
        let Self { stacks, listed, places } = self;
        *places.entry(stack).or_insert_with(|| {
            let (line, frames) = (stacks.owner(stack), stacks.shown(stack));
            listed.push(MemoryOwner { line, frames, category: stacks.category(stack).to_owned() });
            listed.len() - 1
        })
    }
}

fn add_segments(asking: &Asking<'_>, source: &SourceRecord, pictures: &mut [Picture<'_>]) -> Result<(), RunError> {
    let of_source = read::condition(source);
    // Which picture a segment is part of, its place there, and where it begins.
    let mut places: HashMap<i64, (usize, usize, Option<i64>)> = HashMap::new();
    asking.walk(
        &format!("SELECT * FROM memory_segments WHERE {of_source} ORDER BY total_bytes DESC, segment"),
        |frame| {
            let column = |name: &str| frame.required_i64(name);
            let (numbers, devices, blocks) = (column("segment")?, column("device_id")?, column("blocks")?);
            let (totals, allocated) = (column("total_bytes")?, column("allocated_bytes")?);
            let (pending, inactive) = (column("pending_bytes")?, column("inactive_bytes")?);
            let (addresses, streams) = (frame.i64("address")?, frame.i64("stream_id")?);
            let (kinds, growing) = (frame.text("type")?, frame.bool("is_expandable")?);
            for (row, segment_type) in kinds.into_iter().enumerate() {
                let Some(at) = pictures.iter().position(|picture| picture.device.number == devices[row]) else {
                    continue;
                };
                let picture = &mut pictures[at];
                let count = usize::try_from(blocks[row]).unwrap_or(usize::MAX);
                if picture.memory.segments.len() == SEGMENTS || picture.blocks.saturating_add(count) > BLOCKS {
                    picture.memory.segments_left_out += 1;
                    continue;
                }
                picture.blocks += count;
                places.insert(numbers[row], (at, picture.memory.segments.len(), addresses[row]));
                picture.memory.segments.push(SegmentMap {
                    address: addresses[row].map(|address| format!("{address:#x}")),
                    stream_id: streams[row],
                    segment_type,
                    is_expandable: growing[row],
                    total_bytes: totals[row],
                    allocated_bytes: allocated[row],
                    pending_bytes: pending[row],
                    inactive_bytes: inactive[row],
                    blocks: Vec::new(),
                });
            }
            Ok(())
        },
    )?;
    asking.walk(&format!("SELECT * FROM memory_blocks WHERE {of_source} ORDER BY segment, position"), |frame| {
        let (segments, sizes) = (frame.required_i64("segment")?, frame.required_i64("size_bytes")?);
        let (addresses, requested) = (frame.i64("address")?, frame.i64("requested_bytes")?);
        let stacks = frame.i64("stack_id")?;
        for (row, state) in frame.text("state")?.into_iter().enumerate() {
            let Some((at, place, begin)) = places.get(&segments[row]) else { continue };
            let Picture { owners, memory, .. } = &mut pictures[*at];
            let blocks = &mut memory.segments[*place].blocks;
            let next = blocks.last().map_or(0, |block| block.offset_bytes + block.size_bytes);
            let offset = addresses[row].zip(*begin).map(|(address, begin)| address.saturating_sub(begin));
            blocks.push(MapBlock {
                offset_bytes: offset.unwrap_or(next),
                size_bytes: sizes[row],
                requested_bytes: requested[row],
                state: state.unwrap_or_default(),
                owner: stacks[row].map(|stack| owners.place(Some(stack))),
            });
        }
        Ok(())
    })
}

fn add_timelines(asking: &Asking<'_>, source: &SourceRecord, pictures: &mut [Picture<'_>]) -> Result<(), RunError> {
    let mut curves: HashMap<i64, Curve> = HashMap::new();
    for Picture { device, .. } in &*pictures {
        if let Some(history) = &device.history {
            let mut curve = Curve::new(history, largest(history));
            if !device.is_relative {
                curve.begin_with(&device.older, &device.gone);
            }
            curves.insert(device.number, curve);
        }
    }
    read::changes(asking, source, |device, _, change| {
        if let Some(curve) = curves.get_mut(&device) {
            curve.take(change);
        }
    })?;
    let (rank, window) = (i64::from(source.id.rank), i64::from(source.id.window));
    for Picture { device, owners, memory, .. } in pictures {
        let timeline = curves.remove(&device.number).map(|curve| curve.drawn(|stack| owners.place(stack)));
        memory.timeline = timeline.map(|timeline| {
            let from_start = |at: i64| asking.since_start(rank, window, at);
            let at =
                if timeline.has_times { timeline.at.iter().copied().map(from_start).collect() } else { timeline.at };
            MemoryTimeline { at, is_relative: device.is_relative, ..timeline }
        });
    }
    Ok(())
}

/// The stacks that hold most at the peak, most first.
fn largest(history: &History) -> Vec<Option<i64>> {
    let mut held: HashMap<Option<i64>, i64> = HashMap::new();
    for part in &history.parts {
        *held.entry(part.stack).or_default() += part.bytes;
    }
    let mut stacks: Vec<(Option<i64>, i64)> = held.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    stacks.sort_by_key(|(stack, bytes)| (-bytes, *stack));
    stacks.into_iter().take(CURVES).map(|(stack, _)| stack).collect()
}
