//! The caching allocator of a rank: memory of the device in segments, cut into blocks that are used again.

use std::collections::{BTreeMap, BTreeSet};

/// Sizes are multiples of this.
const ROUND_BYTES: i64 = 512;
/// Requests up to this size share small segments.
const SMALL_BYTES: i64 = 1 << 20;
const SMALL_SEGMENT_BYTES: i64 = 2 << 20;
/// Requests up to this size share large segments; a larger one has a segment to itself.
const LARGE_BYTES: i64 = 10 << 20;
const LARGE_SEGMENT_BYTES: i64 = 20 << 20;
/// Where the memory of the device begins. Segments do not touch, so blocks of two are never joined.
const FIRST_ADDRESS: i64 = 0x7f00_0000_0000;
const BETWEEN_SEGMENTS: i64 = 2 << 20;

/// The allocator of a rank.
#[derive(Default)]
pub(super) struct Allocator {
    /// All blocks by address.
    blocks: BTreeMap<i64, Block>,
    /// Free blocks: whether small, size, address.
    free: BTreeSet<(bool, i64, i64)>,
    pub(super) allocated_bytes: i64,
    pub(super) reserved_bytes: i64,
    segments_bytes: i64,
}

#[derive(Clone, Copy)]
struct Block {
    bytes: i64,
    is_small: bool,
    is_free: bool,
}

/// A block that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handed {
    pub address: i64,
    pub bytes: i64,
    /// The allocator had to ask the device.
    pub is_new: bool,
}

impl Allocator {
    /// The smallest free block that is large enough, cut to size; else a block of a new segment.
    pub(super) fn allocate(&mut self, bytes: i64) -> Handed {
        let bytes = (bytes.max(1) + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
        let is_small = bytes <= SMALL_BYTES;
        let fitting = self.free.range((is_small, bytes, 0)..(is_small, i64::MAX, 0)).next().copied();
        let (block, is_new) = match fitting {
            Some(block) => (block, false),
            None => (self.reserve(bytes, is_small), true),
        };
        self.free.remove(&block);
        let (_, size, address) = block;
        let left = size - bytes;
        let can_cut = if is_small { left >= ROUND_BYTES } else { left > SMALL_BYTES };
        let handed = if can_cut { bytes } else { size };
        self.blocks.insert(address, Block { bytes: handed, is_small, is_free: false });
        if can_cut {
            self.put_free(address + bytes, Block { bytes: left, is_small, is_free: true });
        }
        self.allocated_bytes += handed;
        Handed { address, bytes: handed, is_new }
    }

    /// Takes a block back and joins it with its free neighbors; gives its size.
    pub(super) fn free(&mut self, address: i64) -> i64 {
        let Some(mut block) = self.blocks.remove(&address) else { return 0 };
        let bytes = block.bytes;
        self.allocated_bytes -= bytes;
        let mut start = address;
        if let Some((&next, &after)) = self.blocks.range(address..).next()
            && after.is_free
            && next == address + bytes
        {
            self.take_free(next, after);
            block.bytes += after.bytes;
        }
        if let Some((&previous, &before)) = self.blocks.range(..address).next_back()
            && before.is_free
            && previous + before.bytes == address
        {
            self.take_free(previous, before);
            block.bytes += before.bytes;
            start = previous;
        }
        self.put_free(start, Block { is_free: true, ..block });
        bytes
    }

    fn reserve(&mut self, bytes: i64, is_small: bool) -> (bool, i64, i64) {
        let size = match bytes {
            _ if is_small => SMALL_SEGMENT_BYTES,
            ..LARGE_BYTES => LARGE_SEGMENT_BYTES,
            _ => (bytes + SMALL_SEGMENT_BYTES - 1) / SMALL_SEGMENT_BYTES * SMALL_SEGMENT_BYTES,
        };
        let address = FIRST_ADDRESS + self.segments_bytes;
        self.segments_bytes += size + BETWEEN_SEGMENTS;
        self.reserved_bytes += size;
        (is_small, size, address)
    }

    fn put_free(&mut self, address: i64, block: Block) {
        self.blocks.insert(address, block);
        self.free.insert((block.is_small, block.bytes, address));
    }

    fn take_free(&mut self, address: i64, block: Block) {
        self.blocks.remove(&address);
        self.free.remove(&(block.is_small, block.bytes, address));
    }
}

#[cfg(test)]
mod tests {
    use super::Allocator;

    const MB: i64 = 1 << 20;

    #[test]
    fn blocks_are_used_again_and_joined() {
        let mut allocator = Allocator::default();
        let [a, b, c] = [5 * MB, 6 * MB, 7 * MB].map(|bytes| allocator.allocate(bytes));
        assert!(a.is_new && !b.is_new && !c.is_new, "one segment of 20 MB");
        assert_eq!((allocator.allocated_bytes, allocator.reserved_bytes), (18 * MB, 20 * MB));
        allocator.free(a.address);
        allocator.free(b.address);
        let joined = allocator.allocate(9 * MB);
        assert_eq!((joined.address, joined.is_new), (a.address, false));
        assert_eq!(allocator.free(joined.address), 9 * MB);
        assert_eq!(allocator.free(c.address), 7 * MB);
        assert_eq!(allocator.allocate(20 * MB).address, a.address, "all of it is one block again");
    }

    #[test]
    fn growing_sizes_leave_blocks_that_nothing_fits_into() {
        let mut allocator = Allocator::default();
        for size in 0..20 {
            let block = allocator.allocate((50 + 10 * size) * MB);
            assert!(block.is_new);
            allocator.free(block.address);
        }
        assert_eq!((allocator.allocated_bytes, allocator.reserved_bytes), (0, (20 * 50 + 10 * 190) * MB));
    }
}
