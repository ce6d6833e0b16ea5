//! Segments of an allocator and their blocks, as they were when the snapshot was taken.

use stepscope_model::BlockState;
use stepscope_model::warning::WRONG_TYPES;

use super::arena::{Arena, Value};
use super::block::Block;
use super::fault::Fault;
use super::json::to_json;
use super::teller::Teller;
use super::word::Word;
use crate::memory::{MemoryBlock, MemorySegment};

impl Teller<'_> {
    /// Keeps what is known of a block until its segment is finished, and releases it.
    pub(super) fn block(&mut self, arena: &mut Arena, list: u32, value: Value) -> Result<(), Fault> {
        if let Some(block) = self.read_block(arena, value) {
            arena.hold(size_of::<Block>())?;
            self.open_blocks.entry(list).or_default().push(block);
        }
        Ok(())
    }

    /// Tells a segment of a file that is nothing but a list of them.
    pub(super) fn bare_segment(&mut self, arena: &mut Arena, value: Value) {
        let is_segment = matches!(value, Value::Dict(dict) if arena.member(dict, Word::Blocks).is_some());
        self.is_not_bare |= !is_segment;
        if !self.is_not_bare {
            self.segment(arena, value);
        }
    }

    /// Tells a segment after its blocks, and releases it.
    pub(super) fn segment(&mut self, arena: &mut Arena, value: Value) {
        let Some(dict) = self.first_visit(arena, value, "a segment") else { return };
        let offset_bytes = arena.dict(dict).offset_bytes;
        let mut segment = MemorySegment {
            segment: self.segments,
            device_id: 0,
            address: None,
            total_bytes: 0,
            recorded_allocated_bytes: None,
            allocated_bytes: 0,
            pending_bytes: 0,
            inactive_bytes: 0,
            requested_bytes: 0,
            blocks: 0,
            stream_id: None,
            kind: None,
            pool: None,
            is_expandable: None,
            stack: None,
        };
        let (mut kind, mut pool, mut frames, mut list) = (None, None, None, Value::None);
        for place in 0..arena.dict(dict).pairs.len() {
            let (key, value) = arena.dict(dict).pairs[place];
            let Value::Word(key) = key else { continue };
            match key {
                Word::Device => segment.device_id = self.int(value, offset_bytes).unwrap_or(0),
                Word::Address => segment.address = self.address(arena, value, offset_bytes),
                Word::TotalSize => segment.total_bytes = self.int(value, offset_bytes).unwrap_or(0),
                Word::AllocatedSize => segment.recorded_allocated_bytes = self.int(value, offset_bytes),
                Word::Stream => segment.stream_id = self.int(value, offset_bytes),
                Word::SegmentType => kind = self.text(value, offset_bytes),
                Word::SegmentPoolId => pool = to_json(arena, value).filter(|_| value != Value::None),
                Word::IsExpandable => segment.is_expandable = self.truth(value, offset_bytes),
                Word::Frames => frames = Some(value),
                Word::Blocks => list = value,
                _ => {}
            }
        }
        segment.stack = self.stack(arena, frames);
        let blocks = self.take_blocks(arena, list, offset_bytes);
        self.tell_blocks(&mut segment, &blocks);
        let kind = kind.and_then(|kind| arena.as_text(kind));
        self.sink.memory_segment(&MemorySegment { kind, pool: pool.as_deref(), ..segment });
        self.segments += 1;
        arena.release(value);
    }

    /// The blocks of a segment: those that were kept, and those that are still in its list.
    fn take_blocks(&mut self, arena: &mut Arena, list: Value, offset_bytes: u64) -> Vec<Block> {
        let (Value::List(number) | Value::Tuple(number)) = list else {
            if list != Value::None {
                self.warn(WRONG_TYPES, offset_bytes, "blocks that are not a list");
            }
            return Vec::new();
        };
        let has_kept = self.open_blocks.contains_key(&number);
        if arena.list(number).handed_out > 0 && !has_kept && arena.list(number).is_visited {
            self.repeated(offset_bytes, "blocks of a segment");
        }
        arena.list_mut(number).is_visited = true;
        let mut blocks = self.open_blocks.remove(&number).unwrap_or_default();
        arena.let_go(size_of_val(blocks.as_slice()));
        // The list owns what is in it: it is emptied, so that blocks are released once.
        for item in arena.take_items(number) {
            blocks.extend(self.read_block(arena, item));
        }
        blocks
    }

    /// Adds up blocks and tells them.
    fn tell_blocks(&mut self, segment: &mut MemorySegment<'_>, blocks: &[Block]) {
        let mut next_address = segment.address.unwrap_or(0);
        for (position, block) in blocks.iter().enumerate() {
            let size_bytes = block.size_bytes;
            let address = block.address.unwrap_or(next_address);
            next_address = address.saturating_add_signed(size_bytes);
            let add = |sum: &mut i64, bytes: i64| *sum = sum.saturating_add(bytes);
            match block.state {
                Some(BlockState::Allocated) => {
                    add(&mut segment.allocated_bytes, size_bytes);
                    add(&mut segment.requested_bytes, block.requested_size.unwrap_or(size_bytes));
                }
                Some(BlockState::Pending) => add(&mut segment.pending_bytes, size_bytes),
                Some(BlockState::Inactive) => add(&mut segment.inactive_bytes, size_bytes),
                None => {}
            }
            self.sink.memory_block(&MemoryBlock {
                segment: segment.segment,
                position: position as u64,
                device_id: segment.device_id,
                address,
                size_bytes,
                requested_bytes: Some(block.requested_bytes),
                state: block.state,
                stack: block.stack,
            });
        }
        segment.blocks = blocks.len() as u64;
        let sum = segment.allocated_bytes.saturating_add(segment.pending_bytes).saturating_add(segment.inactive_bytes);
        let is_as_recorded = segment.recorded_allocated_bytes.is_none_or(|bytes| bytes == segment.allocated_bytes);
        self.totals_differ += u64::from(segment.total_bytes != sum || !is_as_recorded);
    }

    fn read_block(&mut self, arena: &mut Arena, value: Value) -> Option<Block> {
        let dict = self.first_visit(arena, value, "a block")?;
        let offset_bytes = arena.dict(dict).offset_bytes;
        let (mut address, mut size, mut requested_size) = (None, None, None);
        let (mut state, mut frames, mut history) = (None, None, None);
        for place in 0..arena.dict(dict).pairs.len() {
            let (key, value) = arena.dict(dict).pairs[place];
            let Value::Word(key) = key else { continue };
            match key {
                Word::Address => address = self.address(arena, value, offset_bytes),
                Word::Size => size = self.int(value, offset_bytes),
                Word::RequestedSize => requested_size = self.int(value, offset_bytes),
                Word::State => state = self.text(value, offset_bytes).and_then(|state| arena.as_text(state)),
                Word::Frames => frames = Some(value),
                Word::History => history = Some(value),
                _ => {}
            }
        }
        let state = state.and_then(BlockState::from_torch);
        let size_bytes = size.unwrap_or(0);
        let history: &[Value] = history.and_then(|history| arena.items(history)).unwrap_or_default();
        let member = |item: &Value, key| match *item {
            Value::Dict(dict) => arena.member(dict, key),
            _ => None,
        };
        let real_size = |item| match member(item, Word::RealSize) {
            Some(Value::Int(size)) => size,
            _ => 0,
        };
        let recorded = history.iter().map(real_size).fold(0, i64::saturating_add);
        let requested_bytes = requested_size.unwrap_or(if history.is_empty() { size_bytes } else { recorded });
        let has_frames = |frames: &Value| match *frames {
            Value::Stack(_) => true,
            frames => arena.items(frames).is_some_and(|frames| !frames.is_empty()),
        };
        let own_frames = frames.filter(has_frames);
        let frames = own_frames.or_else(|| history.first().and_then(|item| member(item, Word::Frames)));
        let stack = self.stack(arena, frames);
        arena.release(value);
        Some(Block { address, size_bytes, requested_size, requested_bytes, state, stack })
    }
}
