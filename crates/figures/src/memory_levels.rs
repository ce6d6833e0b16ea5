//! Which change of an allocator moves which level of a device's memory (metrics, section 31).

/// What a memory snapshot says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAction {
    /// A block is allocated.
    Alloc,
    /// A block is freed and out of use at once, as old snapshots say it.
    Free,
    /// The program frees a block.
    FreeRequested,
    /// A freed block is out of use.
    FreeCompleted,
    /// The allocator takes memory from the device.
    SegmentTaken,
    /// The allocator gives memory back.
    SegmentReturned,
    /// There was not enough.
    OutOfMemory,
    /// Something that moves no level.
    Other,
}

impl MemoryAction {
    /// The action of that name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "alloc" => Self::Alloc,
            "free" => Self::Free,
            "free_requested" => Self::FreeRequested,
            "free_completed" => Self::FreeCompleted,
            "segment_alloc" | "segment_map" => Self::SegmentTaken,
            "segment_free" | "segment_unmap" => Self::SegmentReturned,
            "oom" => Self::OutOfMemory,
            _ => Self::Other,
        }
    }

    /// Whether the program gives its block up with it.
    #[must_use]
    pub fn ends_allocation(self) -> bool {
        matches!(self, Self::Free | Self::FreeRequested)
    }

    /// Whether the device is done with the block after it.
    #[must_use]
    pub fn ends_use(self) -> bool {
        matches!(self, Self::Free | Self::FreeCompleted)
    }
}

/// The three levels of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLevels {
    /// What the program holds.
    pub allocated_bytes: i64,
    /// That, and what is freed but still in use by the device.
    pub active_bytes: i64,
    /// What the allocator has taken from the device.
    pub reserved_bytes: i64,
}

impl MemoryLevels {
    /// Adds what an action does with that many bytes, which have no sign.
    pub fn change(&mut self, action: MemoryAction, bytes: i64) {
        let (allocated, active, reserved) = match action {
            MemoryAction::Alloc => (bytes, bytes, 0),
            MemoryAction::Free => (-bytes, -bytes, 0),
            MemoryAction::FreeRequested => (-bytes, 0, 0),
            MemoryAction::FreeCompleted => (0, -bytes, 0),
            MemoryAction::SegmentTaken => (0, 0, bytes),
            MemoryAction::SegmentReturned => (0, 0, -bytes),
            MemoryAction::OutOfMemory | MemoryAction::Other => return,
        };
        *self = self.plus(Self { allocated_bytes: allocated, active_bytes: active, reserved_bytes: reserved });
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            allocated_bytes: self.allocated_bytes.saturating_add(other.allocated_bytes),
            active_bytes: self.active_bytes.saturating_add(other.active_bytes),
            reserved_bytes: self.reserved_bytes.saturating_add(other.reserved_bytes),
        }
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            allocated_bytes: self.allocated_bytes.saturating_sub(other.allocated_bytes),
            active_bytes: self.active_bytes.saturating_sub(other.active_bytes),
            reserved_bytes: self.reserved_bytes.saturating_sub(other.reserved_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_until_the_device_is_done_with_it() {
        let mut levels = MemoryLevels::default();
        for (name, bytes) in [("segment_alloc", 64), ("alloc", 10), ("free_requested", 10)] {
            levels.change(MemoryAction::of(name), bytes);
        }
        assert_eq!(levels, MemoryLevels { allocated_bytes: 0, active_bytes: 10, reserved_bytes: 64 });
        levels.change(MemoryAction::of("free_completed"), 10);
        assert_eq!(levels, MemoryLevels { reserved_bytes: 64, ..MemoryLevels::default() });
        for (name, bytes) in [("alloc", 7), ("free", 7), ("segment_unmap", 64), ("oom", 5), ("annotate", 5)] {
            levels.change(MemoryAction::of(name), bytes);
        }
        assert_eq!(levels, MemoryLevels::default());
    }
}
