//! How much memory each of some stacks held: of each stretch of the history, the moment at which most was in use.

use std::collections::HashMap;

use stepscope_figures::memory_levels::{MemoryAction, MemoryLevels};
use stepscope_model::{MemoryTimeline, StackCurve};

use super::super::history::{Change, History, Part};

/// Stretches at most.
const STRETCHES: i64 = 600;

/// What was in use at one moment.
#[derive(Clone, Debug, Default)]
struct Moment {
    at: i64,
    levels: MemoryLevels,
    /// By stack, in the order of the stacks.
    held: Vec<i64>,
}

/// Walks a history again, and keeps one moment of each stretch.
#[derive(Debug)]
pub(super) struct Curve {
    stacks: Vec<Option<i64>>,
    places: HashMap<Option<i64>, usize>,
    /// The blocks of these stacks that are in use.
    alive: HashMap<Option<i64>, (usize, i64)>,
    now: Moment,
    has_times: bool,
    /// The first and the last time or number.
    range: (i64, i64),
    changes: i64,
    stretch: i64,
    kept: Vec<Moment>,
}

impl Curve {
    /// Begins where the history does.
    pub(super) fn new(history: &History, stacks: Vec<Option<i64>>) -> Self {
        let places: HashMap<_, _> = stacks.iter().enumerate().map(|(place, stack)| (*stack, place)).collect();
        let held = vec![0; stacks.len()];
        let range = history.times.unwrap_or((0, history.changes.saturating_sub(1) as i64));
        let now = Moment { at: range.0, levels: history.start, held };
        let kept = vec![now.clone()];
        let has_times = history.times.is_some();
        Self { stacks, places, alive: HashMap::new(), now, has_times, range, changes: 0, stretch: 0, kept }
    }

    /// Adds what was in use before: what still is at the end, and what is freed without an allocation, by address.
    pub(super) fn begin_with(&mut self, older: &[Part], gone: &HashMap<Option<i64>, i64>) {
        for part in older {
            if let Some(place) = self.places.get(&part.stack) {
                self.now.held[*place] += part.bytes;
            }
        }
        if let Some(place) = self.places.get(&None) {
            self.now.held[*place] += gone.values().sum::<i64>();
            self.alive.extend(gone.iter().map(|(address, bytes)| (*address, (*place, *bytes))));
        }
        self.kept = vec![self.now.clone()];
    }

    pub(super) fn take(&mut self, change: &Change) {
        let Change { action, size_bytes, address, stack, .. } = *change;
        // Times may go back; the curve does not.
        self.now.at = change.ts_ns.filter(|_| self.has_times).unwrap_or(self.changes).max(self.now.at);
        self.changes += 1;
        self.now.levels.change(action, size_bytes);
        if action == MemoryAction::Alloc {
            if let Some(place) = self.places.get(&stack) {
                self.alive.insert(address, (*place, size_bytes));
                self.now.held[*place] += size_bytes;
            }
        } else if action.ends_use()
            && let Some((place, bytes)) = self.alive.remove(&address)
        {
            self.now.held[place] -= bytes;
        }
        let (first, last) = self.range;
        let length = i128::from(last) - i128::from(first) + 1;
        let stretch = (i128::from(self.now.at) - i128::from(first)) * i128::from(STRETCHES) / length;
        let stretch = i64::try_from(stretch).unwrap_or(STRETCHES);
        let highest = self.kept.last_mut().filter(|_| stretch == self.stretch);
        match highest {
            Some(highest) if highest.levels.active_bytes >= self.now.levels.active_bytes => {}
            Some(highest) => highest.clone_from(&self.now),
            None => self.kept.push(self.now.clone()),
        }
        self.stretch = stretch;
    }

    /// The curves, which end where the history does.
    pub(super) fn drawn(mut self, mut owner: impl FnMut(Option<i64>) -> usize) -> MemoryTimeline {
        self.kept.push(Moment { at: self.range.1, ..self.now });
        let kept = &self.kept;
        let figures = |figure: fn(&Moment) -> i64| kept.iter().map(figure).collect::<Vec<i64>>();
        let curve = |(place, stack): (usize, &Option<i64>)| StackCurve {
            owner: owner(*stack),
            bytes: kept.iter().map(|moment| moment.held[place]).collect(),
        };
        let active_bytes = figures(|moment| moment.levels.active_bytes);
        let most = active_bytes.iter().max().copied().unwrap_or_default();
        MemoryTimeline {
            at: figures(|moment| moment.at),
            has_times: self.has_times,
            is_relative: false,
            reserved_bytes: figures(|moment| moment.levels.reserved_bytes),
            stacks: self.stacks.iter().enumerate().map(curve).collect(),
            other_bytes: figures(|moment| moment.levels.active_bytes - moment.held.iter().sum::<i64>()),
            peak: active_bytes.iter().position(|bytes| *bytes == most).unwrap_or(0),
            active_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, address: i64, stack: i64, ts_ns: i64) -> Change {
        Change {
            action: MemoryAction::of(name),
            size_bytes: 100,
            address: Some(address),
            ts_ns: Some(ts_ns),
            stack: Some(stack),
            category: None,
            device_free_bytes: None,
        }
    }

    #[test]
    fn stacks_and_the_rest_add_up_at_the_highest_moment_of_each_stretch() {
        let start = MemoryLevels { allocated_bytes: 30, active_bytes: 30, reserved_bytes: 512 };
        let history = History { start, times: Some((0, 1_199)), changes: 6, ..History::default() };
        let older = [Part { bytes: 20, stack: Some(1), category: None }];
        let mut curve = Curve::new(&history, vec![Some(1), None]);
        curve.begin_with(&older, &HashMap::from([(Some(9), 10)]));
        let changes = [
            change("alloc", 1, 1, 0),
            change("alloc", 2, 2, 1),
            change("free_completed", 1, 9, 1),
            Change { size_bytes: 10, ..change("free_completed", 9, 9, 1) },
            change("free_completed", 2, 9, 700),
            // A time that goes back.
            change("alloc", 3, 2, 2),
        ];
        for change in &changes {
            curve.take(change);
        }
        let drawn = curve.drawn(|_| 7);
        assert_eq!((drawn.at, drawn.peak), (vec![1, 700, 1_199], 0));
        assert_eq!(drawn.active_bytes, [230, 120, 120]);
        let held = |bytes: [i64; 3]| StackCurve { owner: 7, bytes: bytes.to_vec() };
        assert_eq!(drawn.stacks, [held([120, 20, 20]), held([10, 0, 0])]);
        assert_eq!((drawn.other_bytes, drawn.reserved_bytes), (vec![100; 3], vec![512; 3]));
    }

    #[test]
    fn changes_without_times_are_counted() {
        let history = History { changes: 2, ..History::default() };
        let mut curve = Curve::new(&history, vec![]);
        for address in 1..3 {
            curve.take(&Change { ts_ns: None, ..change("alloc", address, 1, 0) });
        }
        let drawn = curve.drawn(|_| 0);
        assert_eq!((drawn.has_times, drawn.at, drawn.active_bytes), (false, vec![0, 1, 1], vec![100, 200, 200]));
    }
}
