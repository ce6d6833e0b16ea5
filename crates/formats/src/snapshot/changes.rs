//! Events of the history: allocations, frees, and what else happened to an allocator.

use std::borrow::Cow;

use stepscope_model::warning::BAD_VALUE;

use super::arena::{Arena, Value};
use super::json::{scalar, to_json};
use super::teller::Teller;
use super::word::Word;
use crate::event::{self, Args};
use crate::memory::MemoryChange;

/// The number that other recordings give to CUDA, and that snapshots leave out.
const GPU: i64 = 1;

/// Members of an event.
#[derive(Default)]
struct Members {
    action: Option<Value>,
    address: Option<u64>,
    size: Option<i64>,
    stream: Option<i64>,
    time_us: Option<i64>,
    frames: Option<Value>,
    category: Option<Value>,
}

impl Teller<'_> {
    /// Tells an event of a device, and releases it.
    pub(super) fn change(&mut self, arena: &mut Arena, device: u64, value: Value) {
        let Some(dict) = self.first_visit(arena, value, "an event") else { return };
        let device = i64::try_from(device).unwrap_or(i64::MAX);
        let mut members = Members::default();
        // Numbers and JSON of other members, which the arguments borrow.
        let mut others = Vec::new();
        self.read_members(arena, dict, &mut members, &mut others);
        let stack = self.stack(arena, members.frames);
        let ts_ns = members.time_us.and_then(|time_us| time_us.checked_mul(1000));
        if ts_ns.is_none() && members.time_us.is_some() {
            self.warn(BAD_VALUE, arena.dict(dict).offset_bytes, "a time that is out of range");
        }
        let track = self.track(device);
        track.last_ns = track.last_ns.max(ts_ns);
        let track = track.number;
        let entries = entries(arena, dict, &others);
        let action = members.action.and_then(|action| arena.as_text(action));
        let change = MemoryChange {
            position: self.next_position(),
            offset_bytes: arena.dict(dict).offset_bytes,
            track,
            ts_ns,
            action,
            size_bytes: members.size.map(|size| if is_release(members.action) { size.saturating_neg() } else { size }),
            address: members.address,
            device_type: Some(GPU),
            device_id: Some(device),
            total_allocated_bytes: None,
            allocator: None,
            stream_id: members.stream,
            stack,
            category: members.category.and_then(|category| arena.as_text(category)),
            args: Args::from_entries(&entries),
        };
        self.sink.memory_change(&change);
        drop(entries);
        arena.release(value);
    }

    fn read_members(
        &mut self,
        arena: &Arena,
        dict: u32,
        members: &mut Members,
        others: &mut Vec<(usize, Option<String>)>,
    ) {
        let offset_bytes = arena.dict(dict).offset_bytes;
        for (place, &(key, value)) in arena.dict(dict).pairs.iter().enumerate() {
            match key {
                Value::Word(Word::Action) => members.action = self.text(value, offset_bytes),
                Value::Word(Word::Addr) => members.address = self.address(arena, value, offset_bytes),
                Value::Word(Word::Size) => members.size = self.int(value, offset_bytes),
                Value::Word(Word::Stream) => members.stream = self.int(value, offset_bytes),
                Value::Word(Word::TimeUs) => members.time_us = self.int(value, offset_bytes),
                Value::Word(Word::Category) => members.category = self.text(value, offset_bytes),
                Value::Word(Word::Frames) => members.frames = Some(value),
                Value::Word(_) | Value::Text(_) => {
                    let is_container = matches!(value, Value::List(_) | Value::Tuple(_) | Value::Dict(_));
                    let written = if is_container { to_json(arena, value) } else { scalar(arena, value) };
                    others.push((place, written));
                }
                _ => {}
            }
        }
    }
}

/// Whether an action gives memory back.
fn is_release(action: Option<Value>) -> bool {
    let Some(Value::Word(action)) = action else { return false };
    matches!(action, Word::Free | Word::FreeRequested | Word::FreeCompleted | Word::SegmentFree | Word::SegmentUnmap)
}

/// The other members, as arguments.
fn entries<'a>(
    arena: &'a Arena,
    dict: u32,
    others: &'a [(usize, Option<String>)],
) -> Vec<(Cow<'a, str>, event::Value<'a>)> {
    let entry = |(place, written): &'a (usize, Option<String>)| {
        let (key, value) = arena.dict(dict).pairs[*place];
        let value = match (value, written.as_deref()) {
            (Value::Bool(value), _) => event::Value::Bool(value),
            (Value::Int(_) | Value::Float(_) | Value::LargeInt(_), Some(number)) => event::Value::Number(number),
            (Value::List(_) | Value::Tuple(_) | Value::Dict(_), Some(json)) => event::Value::Json(json.into()),
            _ => arena.as_text(value).map_or(event::Value::Null, |text| event::Value::Text(text.into())),
        };
        Some((arena.as_text(key)?.into(), value))
    };
    others.iter().filter_map(entry).collect()
}
