//! Tells the sink what a snapshot holds, as it comes.

use std::collections::{BTreeMap, HashMap};

use stepscope_model::warning::{BROKEN_FIELD, CUT_EVENT, HEADER_BROKEN, REPEATED_CONTAINER, WRONG_TYPES, WarningCode};

use super::arena::{Arena, Value};
use super::block::Block;
use super::stacks::Stacks;
use crate::sink::{TraceSink, Warning};
use crate::track::{Track, TrackKind};

/// What a thread of a device is called where all its memory is meant.
pub(super) const THREAD: &str = "memory";

/// Tells the sink.
pub(super) struct Teller<'s> {
    pub(super) sink: &'s mut dyn TraceSink,
    pub(super) stacks: Stacks,
    /// Place of the next element: a change, an annotation, or something that is lost.
    position: u64,
    /// Segments so far, and how many of them do not add up.
    pub(super) segments: u64,
    pub(super) totals_differ: u64,
    /// Blocks of segments that are still open, by the number of their list.
    pub(super) open_blocks: HashMap<u32, Vec<Block>>,
    tracks: BTreeMap<i64, DeviceTrack>,
    /// The list that is the whole file, if it is one.
    pub(super) bare_list: Option<u32>,
    /// Whether the list that is the whole file holds something that is no segment.
    pub(super) is_not_bare: bool,
    /// Where the dict starts that was lost last, and whether it was an element.
    lost: Option<(u64, bool)>,
}

/// The track of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceTrack {
    pub(super) number: u32,
    /// Time of its last change.
    pub(super) last_ns: Option<i64>,
}

impl<'s> Teller<'s> {
    pub(super) fn new(sink: &'s mut dyn TraceSink) -> Self {
        Self {
            sink,
            stacks: Stacks::default(),
            position: 0,
            segments: 0,
            totals_differ: 0,
            open_blocks: HashMap::new(),
            tracks: BTreeMap::new(),
            bare_list: None,
            is_not_bare: false,
            lost: None,
        }
    }

    /// The place of the next element.
    pub(super) fn next_position(&mut self) -> u64 {
        self.position += 1;
        self.position - 1
    }

    /// The track of a device, told when it is first needed.
    pub(super) fn track(&mut self, device: i64) -> &mut DeviceTrack {
        let number = self.tracks.len() as u32;
        self.tracks.entry(device).or_insert_with(|| {
            self.sink.track(&Track {
                number,
                kind: TrackKind::Async,
                process: &device.to_string(),
                thread: THREAD,
                thread_name: Some(&format!("Memory of device {device}")),
                device_id: Some(device),
                keeps_order: true,
                ..Track::default()
            });
            DeviceTrack { number, last_ns: None }
        })
    }

    /// The number of the stack that a member holds.
    pub(super) fn stack(&mut self, arena: &mut Arena, frames: Option<Value>) -> Option<u32> {
        self.stacks.number(arena, frames?, &mut *self.sink)
    }

    /// The dict that an element is, if it is one and comes for the first time.
    pub(super) fn first_visit(&mut self, arena: &mut Arena, value: Value, what: &str) -> Option<u32> {
        let Value::Dict(dict) = value else {
            self.warn(WRONG_TYPES, 0, what);
            return None;
        };
        if arena.dict(dict).is_visited {
            self.repeated(arena.dict(dict).offset_bytes, what);
            return None;
        }
        arena.dict_mut(dict).is_visited = true;
        Some(dict)
    }

    /// An element that came before.
    pub(super) fn repeated(&mut self, offset_bytes: u64, what: &str) {
        self.warn(REPEATED_CONTAINER, offset_bytes, what);
    }

    /// A dict that was open where the file ends. Of those in each other, the outermost comes last.
    pub(super) fn lose(&mut self, offset_bytes: u64, is_element: bool) {
        self.lost = Some((offset_bytes, is_element));
    }

    /// Tells what was lost, and what was left out.
    pub(super) fn tell_losses(&mut self) {
        match self.lost {
            Some((offset_bytes, true)) => self.warn(CUT_EVENT, offset_bytes, ""),
            Some((offset_bytes, false)) => self.warn(HEADER_BROKEN, offset_bytes, "the file ends inside a member"),
            None => {}
        }
        if self.stacks.has_long_stack {
            self.warn(BROKEN_FIELD, 0, "frames beyond the first 4096 of a stack");
        }
    }

    /// Warns; a loss is an element.
    pub(super) fn warn(&mut self, code: WarningCode, offset_bytes: u64, detail: &str) {
        let position = code.is_loss.then(|| self.next_position());
        self.sink.warning(&Warning { code, position, offset_bytes, detail: detail.into() });
    }
}
