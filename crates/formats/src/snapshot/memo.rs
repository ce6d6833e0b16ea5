//! The memo of a pickle: numbered slots, of which only those that are ever fetched keep their value.

use std::collections::{HashMap, HashSet};

use super::arena::Value;
use super::fault::Fault;

/// Slots below this have a bit each, at most 16 MiB in all; the others are keys of a map.
const NEAR_SLOTS: u64 = 1 << 27;

/// Slots that are fetched: 128 MiB of values. A snapshot of 1 GB has about a million.
const MAX_FETCHED_SLOTS: usize = 8 << 20;

/// Slots that are numbered as no writer numbers them.
const MAX_SCATTERED_SLOTS: usize = 1 << 20;

/// Slots that are fetched somewhere in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetched {
    near: Vec<u64>,
    near_count: usize,
    far: HashSet<u64>,
}

impl Fetched {
    /// Notes that a slot is fetched.
    #[inline]
    pub(super) fn insert(&mut self, slot: u64) -> Result<(), Fault> {
        if slot >= NEAR_SLOTS {
            self.far.insert(slot);
            return if self.far.len() > MAX_SCATTERED_SLOTS { Err(Fault::TooManySlots) } else { Ok(()) };
        }
        let place = (slot / 64) as usize;
        if place >= self.near.len() {
            self.near.resize((place + 1).next_power_of_two(), 0);
        }
        let bit = 1 << (slot % 64);
        self.near_count += usize::from(self.near[place] & bit == 0);
        self.near[place] |= bit;
        if self.near_count > MAX_FETCHED_SLOTS { Err(Fault::TooManySlots) } else { Ok(()) }
    }
}

/// The values of the slots that are fetched. A slot that nothing fetches takes a bit.
#[derive(Debug)]
pub(super) struct Memo {
    fetched: Fetched,
    /// How many slots are fetched before each word of `fetched.near`.
    before: Vec<u32>,
    near: Vec<Value>,
    far: HashMap<u64, Value>,
    /// Slots below it are all set.
    dense: u64,
    /// Slots from there on that are set.
    sparse: HashSet<u64>,
}

impl Memo {
    pub(super) fn new(fetched: Fetched) -> Self {
        let mut count = 0;
        let before = fetched.near.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        let before = before.collect();
        // A mark is never in a slot: it stands for one that is not set.
        let near = vec![Value::Mark; count as usize];
        Self { fetched, before, near, far: HashMap::new(), dense: 0, sparse: HashSet::new() }
    }

    /// The slot that `MEMOIZE` sets: the number of those that are set.
    #[inline]
    pub(super) fn next_slot(&self) -> u64 {
        self.dense + self.sparse.len() as u64
    }

    /// Sets a slot; gives whether its value is ever fetched.
    #[inline]
    pub(super) fn put(&mut self, slot: u64, value: Value) -> Result<bool, Fault> {
        if slot == self.dense {
            self.dense += 1;
            while !self.sparse.is_empty() && self.sparse.remove(&self.dense) {
                self.dense += 1;
            }
        } else if slot > self.dense {
            self.sparse.insert(slot);
            if self.sparse.len() > MAX_SCATTERED_SLOTS {
                return Err(Fault::TooManySlots);
            }
        }
        if let Some(place) = self.place(slot) {
            self.near[place] = value;
            return Ok(true);
        }
        let is_fetched = slot >= NEAR_SLOTS && self.fetched.far.contains(&slot);
        if is_fetched {
            self.far.insert(slot, value);
        }
        Ok(is_fetched)
    }

    /// Puts another value into a slot that is set and fetched.
    pub(super) fn replace(&mut self, slot: u64, value: Value) {
        match self.place(slot) {
            Some(place) => self.near[place] = value,
            None => {
                self.far.insert(slot, value);
            }
        }
    }

    /// The value of a slot, if it is set.
    #[inline]
    pub(super) fn get(&self, slot: u64) -> Option<Value> {
        match self.place(slot) {
            Some(place) => Some(self.near[place]).filter(|value| !matches!(value, Value::Mark)),
            None => self.far.get(&slot).copied(),
        }
    }

    /// Place among the fetched slots.
    #[inline]
    fn place(&self, slot: u64) -> Option<usize> {
        let word = (slot / 64) as usize;
        let bits = *self.fetched.near.get(word)?;
        let bit = 1 << (slot % 64);
        (bits & bit != 0).then(|| self.before[word] as usize + (bits & (bit - 1)).count_ones() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_fetched_is_kept() {
        let mut fetched = Fetched::default();
        for slot in [0, 63, 64, 200, u64::from(u32::MAX)] {
            fetched.insert(slot).unwrap();
        }
        let mut memo = Memo::new(fetched);
        assert_eq!((memo.near.len(), memo.next_slot()), (4, 0));
        assert!(memo.put(0, Value::Int(1)).unwrap());
        assert!(!memo.put(1, Value::Int(2)).unwrap());
        assert!(memo.put(200, Value::Int(3)).unwrap());
        assert!(memo.put(u64::from(u32::MAX), Value::Int(4)).unwrap());
        assert!(!memo.put(u64::from(u32::MAX) - 1, Value::Int(4)).unwrap());
        assert_eq!(memo.next_slot(), 5);
        assert_eq!((memo.get(0), memo.get(1), memo.get(63)), (Some(Value::Int(1)), None, None));
        assert_eq!((memo.get(200), memo.get(u64::from(u32::MAX))), (Some(Value::Int(3)), Some(Value::Int(4))));
    }

    #[test]
    fn slots_that_are_set_out_of_order_are_counted_once() {
        let mut memo = Memo::new(Fetched::default());
        for slot in [2, 1, 1, 0, 2, 7] {
            memo.put(slot, Value::None).unwrap();
        }
        assert_eq!((memo.dense, memo.next_slot()), (3, 4));
    }
}
