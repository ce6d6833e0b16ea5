//! The history of one device: how much memory was in use, when most, and what it was in use for then.
//!
//! A history may have millions of changes, so it is walked as it is read: what is held is what is in use.

use std::collections::{BTreeMap, HashMap, HashSet};

use stepscope_figures::memory_levels::{MemoryAction, MemoryLevels};

/// A change, in the order of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub action: MemoryAction,
    /// Bytes, without a sign.
    pub size_bytes: i64,
    pub address: Option<i64>,
    pub ts_ns: Option<i64>,
    pub stack: Option<i64>,
    pub category: Option<String>,
    /// Free bytes of the device, when memory ran out.
    pub device_free_bytes: Option<i64>,
}

/// A block that was in use at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndBlock {
    pub address: i64,
    pub requested_bytes: i64,
    pub stack: Option<i64>,
    pub is_allocated: bool,
}

/// A part of what is in use at the peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub bytes: i64,
    pub stack: Option<i64>,
    pub category: Option<String>,
}

/// What a history says.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub changes: usize,
    pub by_action: BTreeMap<String, i64>,
    pub start: MemoryLevels,
    pub end: MemoryLevels,
    pub peak: MemoryLevels,
    /// Number of the change after which most was active; `None` if that was the start.
    pub peak_change: Option<usize>,
    pub peak_ns: Option<i64>,
    pub parts: Vec<Part>,
    /// The first and the last time; `None` if a change has none.
    pub times: Option<(i64, i64)>,
    pub out_of_order: i64,
    pub freed_without_allocation: i64,
    pub freed_without_allocation_bytes: i64,
    pub allocations_not_in_a_block: i64,
    pub closed_lifetimes: i64,
    pub lifetime_ns: i64,
    pub allocated_bytes: i64,
    /// Bytes taken from the device, bytes given back to it, and the changes that did.
    pub taken_bytes: i64,
    pub returned_bytes: i64,
    pub returns: i64,
    pub out_of_memory: Vec<(usize, i64, Option<i64>)>,
}

/// The first walk: levels from the start, and each address from its allocation to its end.
#[derive(Debug, Default)]
pub(super) struct Walk {
    history: History,
    now: MemoryLevels,
    has_all_times: bool,
    last_ns: Option<i64>,
    /// Addresses in use that the history allocated.
    alive: HashSet<Option<i64>>,
    /// What was freed and never allocated in the history, by address.
    freed_early: HashMap<Option<i64>, i64>,
    born: HashMap<Option<i64>, Option<i64>>,
}

impl Walk {
    pub(super) fn take(&mut self, name: &str, change: &Change) {
        let Change { action, size_bytes, ts_ns, .. } = *change;
        let history = &mut self.history;
        match history.by_action.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(history.by_action.insert(name.to_owned(), 1)),
        }
        self.now.change(action, size_bytes);
        history.peak.allocated_bytes = history.peak.allocated_bytes.max(self.now.allocated_bytes);
        history.peak.reserved_bytes = history.peak.reserved_bytes.max(self.now.reserved_bytes);
        if self.now.active_bytes > history.peak.active_bytes {
            history.peak.active_bytes = self.now.active_bytes;
            (history.peak_change, history.peak_ns) = (Some(history.changes), ts_ns);
        }
        match action {
            MemoryAction::SegmentTaken => history.taken_bytes += size_bytes,
            MemoryAction::SegmentReturned => {
                history.returned_bytes += size_bytes;
                history.returns += 1;
            }
            MemoryAction::OutOfMemory => {
                history.out_of_memory.push((history.changes, size_bytes, change.device_free_bytes));
            }
            _ => {}
        }
        self.time(ts_ns);
        self.live(change);
        self.history.changes += 1;
    }

    fn time(&mut self, ts_ns: Option<i64>) {
        self.has_all_times = ts_ns.is_some() && (self.has_all_times || self.history.changes == 0);
        let Some(now) = ts_ns else { return };
        self.history.out_of_order += i64::from(self.last_ns.is_some_and(|last| now < last));
        self.last_ns = Some(now);
        let (first, last) = self.history.times.unwrap_or((now, now));
        self.history.times = Some((first.min(now), last.max(now)));
    }

    fn live(&mut self, change: &Change) {
        let Change { action, size_bytes, address, ts_ns, .. } = *change;
        if action == MemoryAction::Alloc {
            self.history.allocated_bytes += size_bytes;
            self.alive.insert(address);
            self.born.insert(address, ts_ns);
        } else if action.ends_use() && !self.alive.remove(&address) {
            self.freed_early.insert(address, size_bytes);
        }
        if action.ends_allocation()
            && let Some(Some(then)) = self.born.remove(&address)
            && let Some(now) = ts_ns
        {
            self.history.closed_lifetimes += 1;
            self.history.lifetime_ns += now - then;
        }
    }

    /// Ends the walk. Without a state at the `end`, levels are differences from the start.
    pub(super) fn end(self, end: Option<MemoryLevels>, blocks: &[EndBlock]) -> (History, AtPeak) {
        let Self { mut history, now, alive, freed_early, has_all_times, .. } = self;
        history.start = end.map_or(MemoryLevels::default(), |end| end.minus(now));
        history.end = history.start.plus(now);
        history.peak = history.start.plus(history.peak);
        history.times = history.times.filter(|_| has_all_times);
        let addresses: HashSet<i64> = blocks.iter().map(|block| block.address).collect();
        let is_block = |address: &Option<i64>| address.is_some_and(|address| addresses.contains(&address));
        history.allocations_not_in_a_block = alive.iter().filter(|address| !is_block(address)).count() as i64;
        history.freed_without_allocation = freed_early.len() as i64;
        history.freed_without_allocation_bytes = freed_early.values().sum();
        let last: HashMap<i64, &EndBlock> = blocks.iter().map(|block| (block.address, block)).collect();
        let older = last.into_values().filter(|block| !alive.contains(&Some(block.address)));
        let older = older.map(|block| Part { bytes: block.requested_bytes, stack: block.stack, category: None });
        let left = history.peak_change.map_or(0, |number| number + 1);
        let at_peak = AtPeak { left, older: older.collect(), alive: HashMap::new(), gone: freed_early };
        (history, at_peak)
    }
}

/// The second walk, to the peak: what the history allocated and did not free before, what is in use at the end and was never
/// allocated in the history, and what was freed later without an allocation.
#[derive(Debug, Default)]
pub(super) struct AtPeak {
    /// Changes up to the peak that are still to come.
    left: usize,
    /// Blocks that were there before the history began, and still are at its end.
    pub older: Vec<Part>,
    alive: HashMap<Option<i64>, Part>,
    /// Blocks that are freed without an allocation in the history, by address.
    pub gone: HashMap<Option<i64>, i64>,
}

impl AtPeak {
    pub(super) fn take(&mut self, change: &Change) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        let Change { action, size_bytes: bytes, address, stack, ref category, .. } = *change;
        if action == MemoryAction::Alloc {
            self.alive.insert(address, Part { bytes, stack, category: category.clone() });
        } else if action.ends_use() && self.alive.remove(&address).is_none() {
            self.gone.remove(&address);
        }
    }

    pub(super) fn parts(self) -> Vec<Part> {
        let gone = self.gone.into_values().map(|bytes| Part { bytes, stack: None, category: None });
        self.alive.into_values().chain(self.older).chain(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes<const N: usize>(of: [(&str, i64, i64, i64); N]) -> [(String, Change); N] {
        of.map(|(name, address, size_bytes, ts_ns)| {
            let (address, ts_ns) = (Some(address), Some(ts_ns));
            let action = MemoryAction::of(name);
            let (stack, category, device_free_bytes) = (None, None, None);
            (name.to_owned(), Change { action, size_bytes, address, ts_ns, stack, category, device_free_bytes })
        })
    }

    #[test]
    fn owners_add_up_to_the_peak() {
        let changes = changes([
            ("free_completed", 9, 50, 0),
            ("alloc", 1, 100, 1),
            ("alloc", 2, 30, 2),
            ("free_requested", 1, 100, 5),
            ("free_completed", 1, 100, 6),
        ]);
        let older = EndBlock { address: 7, requested_bytes: 11, stack: None, is_allocated: true };
        let newer = EndBlock { address: 2, requested_bytes: 30, stack: None, is_allocated: true };
        let end = MemoryLevels { allocated_bytes: 41, active_bytes: 41, reserved_bytes: 0 };
        let mut walk = Walk::default();
        for (name, change) in &changes {
            walk.take(name, change);
        }
        let (history, mut at_peak) = walk.end(Some(end), &[older, newer]);
        for (_, change) in &changes {
            at_peak.take(change);
        }
        let active = (history.start.active_bytes, history.peak.active_bytes, history.end.active_bytes);
        assert_eq!((active, history.peak_change, history.times), ((61, 141, 41), Some(2), Some((0, 6))));
        assert_eq!(at_peak.parts().iter().map(|part| part.bytes).sum::<i64>(), 141);
        assert_eq!((history.closed_lifetimes, history.lifetime_ns), (1, 4));
        assert_eq!((history.freed_without_allocation, history.allocations_not_in_a_block), (1, 0));
    }
}
