//! What an allocator recorded: its segments and blocks at one moment, the changes up to then, and the stacks behind them.

use stepscope_model::BlockState;

use crate::event::Args;

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// File; `None` where it is not known.
    pub file: Option<&'a str>,
    /// Line; `None` where it is not known.
    pub line: Option<i64>,
}

/// A segment: what an allocator asked the device for at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySegment<'a> {
    /// Its place among the segments of the file, from 0.
    pub segment: u64,
    /// Device that it is on.
    pub device_id: i64,
    /// Address.
    pub address: Option<u64>,
    /// Bytes, as recorded.
    pub total_bytes: i64,
    /// Bytes of its allocated blocks, as the segment itself has it recorded.
    pub recorded_allocated_bytes: Option<i64>,
    /// Bytes of its allocated blocks.
    pub allocated_bytes: i64,
    /// Bytes of its blocks that wait to be freed.
    pub pending_bytes: i64,
    /// Bytes of its inactive blocks.
    pub inactive_bytes: i64,
    /// Bytes that were asked for in its allocated blocks.
    pub requested_bytes: i64,
    /// Number of its blocks.
    pub blocks: u64,
    /// Stream that it belongs to.
    pub stream_id: Option<i64>,
    /// `small` or `large`, as recorded.
    pub kind: Option<&'a str>,
    /// Pool that it belongs to, as recorded.
    pub pool: Option<&'a str>,
    /// Whether it can grow.
    pub is_expandable: Option<bool>,
    /// Stack that asked for it.
    pub stack: Option<u32>,
}

/// A block of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBlock {
    /// Place of its segment among the segments of the file, from 0.
    pub segment: u64,
    /// Its place among the blocks of the segment, from 0.
    pub position: u64,
    /// Device that it is on.
    pub device_id: i64,
    /// Address; where none is recorded, blocks follow each other.
    pub address: u64,
    /// Bytes.
    pub size_bytes: i64,
    /// Bytes that were asked for.
    pub requested_bytes: Option<i64>,
    /// What it is used for; `None` for a state that is not known.
    pub state: Option<BlockState>,
    /// Stack that allocated it.
    pub stack: Option<u32>,
}

/// A change of the memory in use: an allocation, a free, or something that happened to the allocator.
#[derive(Debug)]
pub struct MemoryChange<'a> {
    /// Place among the elements of the event list, from 0.
    pub position: u64,
    /// Where it starts in the plain bytes.
    pub offset_bytes: u64,
    /// Number of the track that it is on.
    pub track: u32,
    /// When; `None` where only the order is recorded.
    pub ts_ns: Option<i64>,
    /// What happened, in the words of the allocator.
    pub action: Option<&'a str>,
    /// Bytes: positive for an allocation, negative for a free.
    pub size_bytes: Option<i64>,
    /// Address of the block.
    pub address: Option<u64>,
    /// 0 is the host, 1 CUDA.
    pub device_type: Option<i64>,
    /// Number of the device.
    pub device_id: Option<i64>,
    /// Bytes in use after it.
    pub total_allocated_bytes: Option<i64>,
    /// Which allocator.
    pub allocator: Option<&'a str>,
    /// Stream that it belongs to.
    pub stream_id: Option<i64>,
    /// Stack that asked for it.
    pub stack: Option<u32>,
    /// What the memory is for, as recorded.
    pub category: Option<&'a str>,
    /// What else is known of it.
    pub args: Args<'a>,
}
