//! How much memory is in use after each change that a snapshot recorded (metrics, section 31).
//!
//! The history of a snapshot may begin anywhere, but where it ends is known: so the beginning is the end without all changes.

use std::collections::BTreeMap;

use stepscope_figures::memory_levels::{MemoryAction, MemoryLevels};
use stepscope_model::BlockState;

use crate::collect::stacks::{BlockRow, ToldSegment};

/// The levels of each device as the changes come.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelsByDevice {
    by_device: BTreeMap<i64, MemoryLevels>,
    /// The state at the end is known, so that levels are more than differences.
    is_absolute: bool,
}

impl LevelsByDevice {
    /// Adds up changes as they are read.
    pub(crate) fn add_change(&mut self, device: i64, action: &str, size_bytes: i64) {
        self.by_device.entry(device).or_default().change(MemoryAction::of(action), size_bytes.saturating_abs());
    }

    /// Goes to the beginning: the end without all changes. `is_absolute` says that the end is known; its blocks are added.
    pub(crate) fn rewind(&mut self, is_absolute: bool, segments: &[ToldSegment]) {
        self.is_absolute = is_absolute;
        let changes = std::mem::take(&mut self.by_device);
        if !is_absolute {
            return;
        }
        for (device, change) in changes {
            self.by_device.insert(device, MemoryLevels::default().minus(change));
        }
        for segment in segments {
            let levels = self.by_device.entry(segment.device_id).or_default();
            levels.reserved_bytes = levels.reserved_bytes.saturating_add(segment.total_bytes);
        }
    }

    /// Adds a block of the end.
    pub(crate) fn add_block(&mut self, block: &BlockRow) {
        if !self.is_absolute {
            return;
        }
        let requested_bytes = block.requested_bytes.unwrap_or(block.size_bytes);
        let allocated_bytes = if block.state() == Some(BlockState::Allocated) { requested_bytes } else { 0 };
        if matches!(block.state(), Some(BlockState::Allocated | BlockState::Pending)) {
            let levels = self.by_device.entry(block.device_id).or_default();
            *levels = levels.plus(MemoryLevels { allocated_bytes, active_bytes: requested_bytes, reserved_bytes: 0 });
        }
    }

    /// The levels after the next change of a device; `None` where only differences are known.
    pub(crate) fn after(&mut self, device: i64, action: &str, size_bytes: i64) -> Option<MemoryLevels> {
        let levels = self.by_device.entry(device).or_default();
        levels.change(MemoryAction::of(action), size_bytes.saturating_abs());
        self.is_absolute.then_some(*levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_ends_where_the_blocks_say() {
        let block = |state: BlockState, requested_bytes: i64| BlockRow {
            segment: 0,
            position: 0,
            device_id: 0,
            address: 0,
            size_bytes: 512,
            requested_bytes: Some(requested_bytes),
            state: state as u8 + 1,
            stack: None,
        };
        let changes = [("alloc", 100), ("free_requested", -30), ("free_completed", -30), ("segment_alloc", 2048)];
        let mut levels = LevelsByDevice::default();
        for (action, size) in changes {
            levels.add_change(0, action, size);
        }
        let blocks = [block(BlockState::Allocated, 400), block(BlockState::Pending, 7), block(BlockState::Inactive, 1)];
        levels.rewind(true, &[]);
        for block in &blocks {
            levels.add_block(block);
        }
        let after: Vec<MemoryLevels> = changes.map(|(action, size)| levels.after(0, action, size).unwrap()).to_vec();
        assert_eq!(after[0], MemoryLevels { allocated_bytes: 430, active_bytes: 437, reserved_bytes: -2048 });
        assert_eq!(after[3], MemoryLevels { allocated_bytes: 400, active_bytes: 407, reserved_bytes: 0 });
        let mut relative = LevelsByDevice::default();
        relative.rewind(false, &[]);
        assert_eq!(relative.after(0, "alloc", 5), None);
    }
}
