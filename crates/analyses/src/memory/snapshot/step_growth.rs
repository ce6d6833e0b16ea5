//! What grew within one snapshot: what each stack holds at the end of the last step, minus what it held at the end of the
//! first (metrics, section 31).

use std::collections::HashMap;

use stepscope_figures::memory_levels::MemoryAction;
use stepscope_model::SourceRecord;
use stepscope_runs::RunError;

use super::Held;
use super::history::Change;
use super::read;
use crate::Asking;

/// What stacks hold more, by device and stack, and between which steps.
pub(super) struct StepGrowth {
    pub first: String,
    pub last: String,
    pub steps: usize,
    pub grown: Vec<((i64, Option<i64>), Held)>,
}

/// What grew between the ends of the first and the last complete step; `None` unless there are two.
pub(super) fn read(asking: &Asking<'_>, source: &SourceRecord) -> Result<Option<StepGrowth>, RunError> {
    let frame = asking.query(&format!(
        "SELECT name, host_start_ns + host_dur_ns AS end_ns FROM steps WHERE {} AND is_complete ORDER BY step",
        read::condition(source)
    ))?;
    let (ends, names) = (frame.required_i64("end_ns")?, frame.text("name")?);
    let ([first_ns, .., last_ns], [first, .., last]) = (&ends[..], &names[..]) else { return Ok(None) };
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let mut between = Between { from_ns: *first_ns, to_ns: *last_ns, ..Between::default() };
    read::changes(asking, source, |device, _, change| between.take(device, change))?;
    let mut grown: Vec<_> = between.grown.into_iter().filter(|(_, held)| held.bytes > 0 && held.blocks > 0).collect();
    grown.sort_by_key(|(key, held)| (-held.bytes, *key));
    Ok(Some(StepGrowth { first: name(first), last: name(last), steps: ends.len(), grown }))
}

/// Adds up what is allocated after one moment and up to another, minus what is freed.
#[derive(Debug, Default)]
struct Between {
    from_ns: i64,
    to_ns: i64,
    /// Stacks of the blocks that the history allocated.
    alive: HashMap<(i64, Option<i64>), Option<i64>>,
    grown: HashMap<(i64, Option<i64>), Held>,
}

impl Between {
    fn take(&mut self, device: i64, change: &Change) {
        let block = (device, change.address);
        let (stack, sign) = if change.action == MemoryAction::Alloc {
            self.alive.insert(block, change.stack);
            (change.stack, 1)
        } else if change.action.ends_allocation() {
            (self.alive.remove(&block).flatten(), -1)
        } else {
            return;
        };
        if change.ts_ns.is_some_and(|now| self.from_ns < now && now <= self.to_ns) {
            let held = self.grown.entry((device, stack)).or_default();
            held.bytes += sign * change.size_bytes;
            held.blocks += sign;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_earlier_steps_count_when_they_are_freed() {
        let mut between = Between { from_ns: 10, to_ns: 20, ..Between::default() };
        for (name, address, stack, ts_ns) in [
            ("alloc", 1, 5, 1),
            ("alloc", 2, 6, 11),
            ("free_requested", 1, 9, 12),
            ("alloc", 3, 6, 20),
            ("alloc", 4, 6, 21),
        ] {
            let change = Change {
                action: MemoryAction::of(name),
                size_bytes: 100,
                address: Some(address),
                ts_ns: Some(ts_ns),
                stack: Some(stack),
                category: None,
                device_free_bytes: None,
            };
            between.take(0, &change);
        }
        let held = |stack: i64| between.grown.get(&(0, Some(stack))).map(|held| (held.bytes, held.blocks));
        assert_eq!((held(5), held(6), held(9)), (Some((-100, -1)), Some((200, 2)), None));
    }
}
