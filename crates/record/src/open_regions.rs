//! Regions that have been entered and not yet left: of a thread, and of each asynchronous task on it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::names::NameId;

/// Regions that may be open at once on a thread or task, and tasks that may have some. Where there are more, they were
/// left elsewhere and never will be here: all are forgotten, so that memory stays fixed and what comes is recorded.
const MAX_OPEN: usize = u16::MAX as usize - 1;

/// Regions that are open, innermost last.
#[derive(Debug, Default)]
pub(crate) struct OpenRegions(Vec<Open>);

#[derive(Debug)]
struct Open {
    name: NameId,
    start: u64,
}

/// A region that was left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub start: u64,
    /// Open regions around it.
    pub around: usize,
}

impl OpenRegions {
    pub(crate) fn with_room() -> Self {
        Self(Vec::with_capacity(64))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Gives whether it is open now; else all of them were forgotten.
    #[inline]
    pub(crate) fn enter(&mut self, name: NameId, start: u64) -> bool {
        let has_room = self.0.len() < MAX_OPEN;
        if has_room {
            self.0.push(Open { name, start });
        } else {
            self.0.clear();
        }
        has_room
    }

    /// Leaves the innermost region of a name; nothing if none is open.
    #[inline]
    pub(crate) fn leave(&mut self, name: NameId) -> Option<Left> {
        if let Some(last) = self.0.pop_if(|last| last.name == name) {
            return Some(Left { start: last.start, around: self.0.len() });
        }
        // Generators may be left out of order.
        let around = self.0.iter().rposition(|open| open.name == name)?;
        Some(Left { start: self.0.remove(around).start, around })
    }
}

/// Regions that are open on the asynchronous tasks of a thread.
#[derive(Debug, Default)]
pub(crate) struct OpenTasks {
    tasks: HashMap<usize, Task>,
    /// Numbers that were given back, and the highest that was ever given.
    free: BinaryHeap<Reverse<u16>>,
    highest: u16,
}

#[derive(Debug)]
struct Task {
    number: u16,
    open: OpenRegions,
}

impl OpenTasks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn enter(&mut self, task: usize, name: NameId, start: u64) {
        if self.tasks.len() >= MAX_OPEN && !self.tasks.contains_key(&task) {
            *self = Self::default();
        }
        let Self { tasks, free, highest } = self;
        let task = tasks.entry(task).or_insert_with(|| {
            // The lowest number that no other task has now: numbers are lanes on the timeline.
            let number = free.pop().map_or_else(|| *highest + 1, |Reverse(number)| number);
            *highest = number.max(*highest);
            Task { number, open: OpenRegions::default() }
        });
        task.open.enter(name, start);
    }

    /// Leaves the innermost region of a name, and gives the number of its task as well; nothing if none is open.
    pub(crate) fn leave(&mut self, task: usize, name: NameId) -> Option<(u16, Left)> {
        let found = self.tasks.get_mut(&task)?;
        let (number, left) = (found.number, found.open.leave(name)?);
        if found.open.len() == 0 {
            self.tasks.remove(&task);
            self.free.push(Reverse(number));
        }
        Some((number, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NameId = NameId(1);
    const B: NameId = NameId(2);

    #[test]
    fn regions_are_left_in_any_order() {
        let mut open = OpenRegions::default();
        for (name, start) in [(A, 1), (B, 2), (A, 3)] {
            assert!(open.enter(name, start));
        }
        assert_eq!(open.leave(B), Some(Left { start: 2, around: 1 }));
        assert_eq!(open.leave(A), Some(Left { start: 3, around: 1 }));
        assert_eq!(open.leave(B), None);
        assert_eq!(open.leave(A), Some(Left { start: 1, around: 0 }));
    }

    #[test]
    fn what_is_never_left_is_forgotten_in_the_end() {
        let mut open = OpenRegions::default();
        assert!((0..MAX_OPEN).all(|start| open.enter(A, start as u64)));
        assert!(!open.enter(A, 0));
        assert!(open.enter(B, 7));
        assert_eq!(open.leave(B), Some(Left { start: 7, around: 0 }));

        let mut tasks = OpenTasks::default();
        for task in 1..=MAX_OPEN + 1 {
            tasks.enter(task, A, 0);
        }
        assert_eq!(tasks.leave(1, A), None);
        assert_eq!(tasks.leave(MAX_OPEN + 1, A).map(|(number, _)| number), Some(1));
        assert!(tasks.is_empty());
    }

    #[test]
    fn a_task_has_the_lowest_number_that_is_free() {
        let mut tasks = OpenTasks::default();
        for task in [10, 20, 30] {
            tasks.enter(task, A, 0);
        }
        assert_eq!(tasks.leave(20, A).map(|(number, _)| number), Some(2));
        assert_eq!(tasks.leave(10, A).map(|(number, _)| number), Some(1));
        tasks.enter(40, A, 0);
        tasks.enter(40, B, 5);
        assert_eq!(tasks.leave(40, B), Some((1, Left { start: 5, around: 1 })));
        assert_eq!(tasks.leave(20, A), None);
    }
}
