//! The history of one device: how much memory was in use, when most, and what it was in use for then.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A change, in the order of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub action: String,
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

/// The three levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    pub allocated: i64,
    pub active: i64,
    pub reserved: i64,
}

/// What a history says.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub by_action: BTreeMap<String, i64>,
    pub start: Levels,
    pub end: Levels,
    pub peak: Levels,
    /// Number of the change after which most was active; `None` if that was the start.
    pub peak_change: Option<usize>,
    pub peak_ns: Option<i64>,
    pub parts: Vec<Part>,
    pub out_of_order: i64,
    pub freed_without_allocation: i64,
    pub freed_without_allocation_bytes: i64,
    pub allocations_not_in_a_block: i64,
    pub closed_lifetimes: i64,
    pub lifetime_ns: i64,
    pub allocated_bytes: i64,
    pub out_of_memory: Vec<(usize, i64, Option<i64>)>,
}

impl Levels {
    fn change(&mut self, change: &Change, sign: i64) {
        let bytes = sign * change.size_bytes;
        match change.action.as_str() {
            "alloc" => {
                self.allocated += bytes;
                self.active += bytes;
            }
            "free" => {
                self.allocated -= bytes;
                self.active -= bytes;
            }
            "free_requested" => self.allocated -= bytes,
            "free_completed" => self.active -= bytes,
            "segment_alloc" | "segment_map" => self.reserved += bytes,
            "segment_free" | "segment_unmap" => self.reserved -= bytes,
            _ => {}
        }
    }
}

fn is_freed(change: &Change) -> bool {
    matches!(change.action.as_str(), "free" | "free_completed")
}

impl History {
    /// Goes through the changes of a device. Without a state at the `end`, levels are differences from the start.
    pub(super) fn of(changes: &[Change], end: Option<Levels>, blocks: &[EndBlock]) -> Self {
        let mut history = Self::default();
        let mut start = end.unwrap_or_default();
        if end.is_some() {
            for change in changes {
                start.change(change, -1);
            }
        }
        history.start = start;
        history.levels(changes);
        let freed_early = history.lives(changes, blocks);
        history.parts = parts(changes, blocks, history.peak_change, freed_early);
        history
    }

    fn levels(&mut self, changes: &[Change]) {
        let mut now = self.start;
        self.peak = now;
        for (number, change) in changes.iter().enumerate() {
            *self.by_action.entry(change.action.clone()).or_default() += 1;
            now.change(change, 1);
            self.peak.allocated = self.peak.allocated.max(now.allocated);
            self.peak.reserved = self.peak.reserved.max(now.reserved);
            if now.active > self.peak.active {
                self.peak.active = now.active;
                self.peak_change = Some(number);
            }
            if change.action == "oom" {
                self.out_of_memory.push((number, change.size_bytes, change.device_free_bytes));
            }
        }
        self.end = now;
        self.peak_ns = self.peak_change.and_then(|number| changes[number].ts_ns);
        let times: Vec<i64> = changes.iter().filter_map(|change| change.ts_ns).collect();
        self.out_of_order = times.windows(2).filter(|pair| pair[1] < pair[0]).count() as i64;
    }

    /// Follows each address. Gives what was freed and never allocated in the history, by address.
    fn lives(&mut self, changes: &[Change], blocks: &[EndBlock]) -> HashMap<Option<i64>, i64> {
        let mut alive: HashSet<Option<i64>> = HashSet::new();
        let mut freed_early: HashMap<Option<i64>, i64> = HashMap::new();
        let mut born: HashMap<Option<i64>, Option<i64>> = HashMap::new();
        for change in changes {
            if change.action == "alloc" {
                self.allocated_bytes += change.size_bytes;
                alive.insert(change.address);
                born.insert(change.address, change.ts_ns);
            } else if is_freed(change) && !alive.remove(&change.address) {
                freed_early.insert(change.address, change.size_bytes);
            }
            if matches!(change.action.as_str(), "free" | "free_requested")
                && let Some(Some(then)) = born.remove(&change.address)
                && let Some(now) = change.ts_ns
            {
                self.closed_lifetimes += 1;
                self.lifetime_ns += now - then;
            }
        }
        let addresses: HashSet<i64> = blocks.iter().map(|block| block.address).collect();
        let is_block = |address: &Option<i64>| address.is_some_and(|address| addresses.contains(&address));
        self.allocations_not_in_a_block = alive.iter().filter(|address| !is_block(address)).count() as i64;
        self.freed_without_allocation = freed_early.len() as i64;
        self.freed_without_allocation_bytes = freed_early.values().sum();
        freed_early
    }
}

/// What is in use at the peak: what the history allocated and did not free before, what is in use at the end and was never
/// allocated in the history, and what was freed later without an allocation.
fn parts(
    changes: &[Change],
    blocks: &[EndBlock],
    peak_change: Option<usize>,
    mut gone: HashMap<Option<i64>, i64>,
) -> Vec<Part> {
    let mut alive_at_end: HashSet<Option<i64>> = HashSet::new();
    for change in changes {
        if change.action == "alloc" {
            alive_at_end.insert(change.address);
        } else if is_freed(change) {
            alive_at_end.remove(&change.address);
        }
    }
    let mut alive: HashMap<Option<i64>, &Change> = HashMap::new();
    for change in &changes[..peak_change.map_or(0, |number| number + 1)] {
        if change.action == "alloc" {
            alive.insert(change.address, change);
        } else if is_freed(change) && alive.remove(&change.address).is_none() {
            gone.remove(&change.address);
        }
    }
    let in_history = alive.into_values().map(|change| Part {
        bytes: change.size_bytes,
        stack: change.stack,
        category: change.category.clone(),
    });
    let last: HashMap<i64, &EndBlock> = blocks.iter().map(|block| (block.address, block)).collect();
    let older = last.into_values().filter(|block| !alive_at_end.contains(&Some(block.address)));
    let older = older.map(|block| Part { bytes: block.requested_bytes, stack: block.stack, category: None });
    let gone = gone.into_values().map(|bytes| Part { bytes, stack: None, category: None });
    in_history.chain(older).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(action: &str, address: i64, size_bytes: i64, ts_ns: i64) -> Change {
        let (address, ts_ns) = (Some(address), Some(ts_ns));
        Change {
            action: action.into(),
            size_bytes,
            address,
            ts_ns,
            stack: None,
            category: None,
            device_free_bytes: None,
        }
    }

    #[test]
    fn owners_add_up_to_the_peak() {
        let changes = [
            change("free_completed", 9, 50, 0),
            change("alloc", 1, 100, 1),
            change("alloc", 2, 30, 2),
            change("free_requested", 1, 100, 5),
            change("free_completed", 1, 100, 6),
        ];
        let older = EndBlock { address: 7, requested_bytes: 11, stack: None, is_allocated: true };
        let newer = EndBlock { address: 2, requested_bytes: 30, stack: None, is_allocated: true };
        let end = Levels { allocated: 41, active: 41, reserved: 0 };
        let history = History::of(&changes, Some(end), &[older, newer]);
        assert_eq!((history.start.active, history.peak.active, history.peak_change), (61, 141, Some(2)));
        assert_eq!(history.parts.iter().map(|part| part.bytes).sum::<i64>(), 141);
        assert_eq!((history.closed_lifetimes, history.lifetime_ns), (1, 4));
        assert_eq!((history.freed_without_allocation, history.allocations_not_in_a_block), (1, 0));
    }
}
