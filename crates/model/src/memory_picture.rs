//! What a page draws of a memory snapshot: the segments with their blocks, and how much memory each stack held over time.

use serde::Serialize;

/// The devices of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MemoryPicture {
    /// In the order of their numbers.
    pub devices: Vec<DeviceMemory>,
}

/// The memory of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeviceMemory {
    /// Number of the device.
    pub device_id: i64,
    /// Stacks that blocks and curves refer to by their place.
    pub owners: Vec<MemoryOwner>,
    /// Segments, the largest first.
    pub segments: Vec<SegmentMap>,
    /// Segments that are not among them, because there are too many.
    pub segments_left_out: usize,
    /// How much memory was in use; none where no history is recorded.
    pub timeline: Option<MemoryTimeline>,
}

/// A stack that holds memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MemoryOwner {
    /// The line of the program that it belongs to.
    pub line: String,
    /// Its frames, innermost first, one on each line.
    pub frames: Option<String>,
    /// What its memory is for; an estimate.
    pub category: String,
}

/// A segment and what lies in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SegmentMap {
    /// Address, as people write it.
    pub address: Option<String>,
    /// Stream that it belongs to.
    pub stream_id: Option<i64>,
    /// small or large, as recorded.
    pub segment_type: Option<String>,
    /// Whether it can grow.
    pub is_expandable: Option<bool>,
    /// Its size.
    pub total_bytes: i64,
    /// Bytes of allocated blocks.
    pub allocated_bytes: i64,
    /// Bytes of blocks that wait to be freed.
    pub pending_bytes: i64,
    /// Bytes of inactive blocks.
    pub inactive_bytes: i64,
    /// Its blocks, in the order of their addresses.
    pub blocks: Vec<MapBlock>,
}

/// A block of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MapBlock {
    /// Where in the segment it begins.
    pub offset_bytes: i64,
    /// Its size.
    pub size_bytes: i64,
    /// What was asked for.
    pub requested_bytes: Option<i64>,
    /// allocated, pending or inactive.
    pub state: String,
    /// Who allocated it, as a place among the owners.
    pub owner: Option<usize>,
}

/// How much memory was in use, at the moments of equal stretches of the history in which most was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MemoryTimeline {
    /// Nanoseconds from the start of the recording, or numbers of changes where no times are recorded.
    pub at: Vec<i64>,
    /// Whether times are recorded.
    pub has_times: bool,
    /// Levels count from the start of the history, because its end is not known.
    pub is_relative: bool,
    /// What was in use.
    pub active_bytes: Vec<i64>,
    /// What the allocator had taken.
    pub reserved_bytes: Vec<i64>,
    /// What the stacks that hold most at the peak held, most first.
    pub stacks: Vec<StackCurve>,
    /// What the other stacks held.
    pub other_bytes: Vec<i64>,
    /// Place of the peak.
    pub peak: usize,
}

/// What one stack held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StackCurve {
    /// Its place among the owners.
    pub owner: usize,
    /// Bytes at each moment.
    pub bytes: Vec<i64>,
}
