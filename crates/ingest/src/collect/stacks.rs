//! Stacks, and the segments and blocks of an allocator that refer to them.

use std::sync::Arc;

use stepscope_figures::stack_category::category;
use stepscope_formats::{Frame, MemoryBlock, MemorySegment};
use stepscope_model::BlockState;

use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;
use crate::spill::strings::{Strings, TextId};

/// A frame as it was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldFrame {
    pub name: TextId,
    pub file: Option<TextId>,
    pub line: Option<i64>,
}

/// A segment as it was told.
#[derive(Clone, Debug)]
pub(crate) struct ToldSegment {
    pub device_id: i64,
    pub address: Option<u64>,
    pub total_bytes: i64,
    pub allocated_bytes: i64,
    pub pending_bytes: i64,
    pub inactive_bytes: i64,
    pub requested_bytes: i64,
    pub blocks: u64,
    pub stream_id: Option<i64>,
    pub kind: Option<TextId>,
    pub pool: Option<TextId>,
    pub is_expandable: Option<bool>,
    pub stack: Option<u32>,
}

row! {
    /// A block, in the order of the file.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    BlockRow {
        segment: u64,
        position: u64,
        device_id: i64,
        address: i64,
        size_bytes: i64,
        requested_bytes: Option<i64>,
        /// Place of the state in the list of all, from 1; 0 is none.
        state: u8,
        stack: Option<i64>,
    }
}

impl BlockRow {
    pub(crate) fn state(&self) -> Option<BlockState> {
        BlockState::ALL.get(usize::from(self.state).checked_sub(1)?).copied()
    }
}

/// What a snapshot tells beside its history.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub frames: Vec<ToldFrame>,
    /// The frames of all stacks, one stack after the other.
    stack_frames: Vec<u32>,
    /// Where each stack ends in that.
    stack_ends: Vec<usize>,
    pub segments: Vec<ToldSegment>,
    pub blocks: Sorter<BlockRow>,
}

impl Snapshot {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self {
            frames: Vec::new(),
            stack_frames: Vec::new(),
            stack_ends: Vec::new(),
            segments: Vec::new(),
            blocks: Sorter::new(scratch),
        }
    }

    pub(crate) fn frame(&mut self, frame: &Frame<'_>, strings: &mut Strings) {
        let (name, file) = (strings.intern(frame.name), frame.file.map(|file| strings.intern(file)));
        self.frames.push(ToldFrame { name, file, line: frame.line });
    }

    pub(crate) fn stack(&mut self, frames: &[u32]) {
        self.stack_frames.extend_from_slice(frames);
        self.stack_ends.push(self.stack_frames.len());
    }

    pub(crate) fn segment(&mut self, segment: &MemorySegment<'_>, strings: &mut Strings) {
        let (kind, pool) =
            (segment.kind.map(|text| strings.intern(text)), segment.pool.map(|text| strings.intern(text)));
        self.segments.push(ToldSegment {
            device_id: segment.device_id,
            address: segment.address,
            total_bytes: segment.total_bytes,
            allocated_bytes: segment.allocated_bytes,
            pending_bytes: segment.pending_bytes,
            inactive_bytes: segment.inactive_bytes,
            requested_bytes: segment.requested_bytes,
            blocks: segment.blocks,
            stream_id: segment.stream_id,
            kind,
            pool,
            is_expandable: segment.is_expandable,
            stack: segment.stack,
        });
    }

    pub(crate) fn block(&mut self, block: &MemoryBlock) -> Result<(), IngestError> {
        self.blocks.push(BlockRow {
            segment: block.segment,
            position: block.position,
            device_id: block.device_id,
            address: block.address.cast_signed(),
            size_bytes: block.size_bytes,
            requested_bytes: block.requested_bytes,
            state: block.state.map_or(0, |state| state as u8 + 1),
            stack: block.stack.map(i64::from),
        })
    }

    /// The frames of each stack, innermost first.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.stack_ends.iter().copied());
        starts.zip(&self.stack_ends).map(|(start, &end)| &self.stack_frames[start..end])
    }

    /// What the memory of each stack is for, by its frames.
    pub(crate) fn categories(&self, strings: &Strings) -> Vec<&'static str> {
        let frames = |stack: &[u32]| -> Vec<(&str, &str)> {
            let known = stack.iter().filter_map(|frame| self.frames.get(*frame as usize));
            known.map(|frame| (frame.file.map_or("", |file| strings.get(file)), strings.get(frame.name))).collect()
        };
        self.stacks().map(|stack| category(&frames(stack))).collect()
    }
}
