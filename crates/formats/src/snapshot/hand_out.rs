//! Values leave the machine as soon as it is known what they are, so that a long file takes little memory.

use super::arena::Value;
use super::fault::{Fault, MAX_VALUES};
use super::machine::Machine;
use super::path::{Path, Role};

/// Items of a list that may wait on the stack. Python writes at most a thousand at once, other writers all of them.
const MAX_WAITING: usize = 1024;

impl Machine<'_> {
    /// Gives the values from `first` on to the list at `at`: they are handed out if it is known what they are.
    pub(super) fn hand_on(&mut self, at: usize, first: usize) -> Result<(), Fault> {
        let Value::List(list) = self.stack[at] else { return Ok(()) };
        let role = Path { stack: &self.stack, marks: &self.marks, arena: &self.arena }.role(at);
        let (arena, values) = (&mut self.arena, &self.stack[first..]);
        if arena.list(list).len() + values.len() as u64 > MAX_VALUES as u64 {
            return Err(Fault::TooManyValues);
        }
        if role == Role::Other {
            return arena.extend_list(list, values);
        }
        arena.list_mut(list).handed_out += values.len() as u64;
        if role == Role::BareSegments {
            self.teller.bare_list = Some(list);
        }
        for &value in values {
            match role {
                Role::History { device } => self.teller.change(arena, device, value),
                Role::Segments => self.teller.segment(arena, value),
                Role::BareSegments => self.teller.bare_segment(arena, value),
                Role::Blocks => self.teller.block(arena, list, value)?,
                Role::Other => {}
            }
        }
        if let Role::History { device } = role {
            arena.list_mut(list).device = Some(device);
        }
        Ok(())
    }

    /// Hands out events and segments that wait for the end of a long list. Another dict begins above them, so that they
    /// are finished.
    #[inline]
    pub(super) fn hand_out_waiting(&mut self) -> Result<(), Fault> {
        let Some(&mark) = self.marks.last().filter(|&&mark| self.stack.len() - mark > MAX_WAITING) else {
            return Ok(());
        };
        let is_list_of_dicts = mark > 0
            && matches!(self.stack[mark - 1], Value::List(_))
            && self.stack[mark + 1..].iter().all(|value| matches!(value, Value::Dict(_)));
        let path = Path { stack: &self.stack, marks: &self.marks[..self.marks.len() - 1], arena: &self.arena };
        if !is_list_of_dicts || path.role(mark - 1) == Role::Other {
            return Ok(());
        }
        self.contain(self.stack[mark - 1], mark + 1)?;
        self.marks.pop();
        let outcome = self.hand_on(mark - 1, mark + 1);
        self.marks.push(mark);
        self.stack.truncate(mark + 1);
        outcome
    }

    /// Makes a list of frames the number of its stack. In real files each allocation has a list, which its block and its
    /// frees refer to: kept as they are, they would be half of the file.
    pub(super) fn settle(&mut self, number: u32) -> Value {
        let (value, list) = (Value::List(number), self.arena.list(number));
        let is_all_frames = list.items.iter().all(|item| matches!(item, Value::Dict(_)));
        // Nothing else may refer to it but the slot, which gets the number too.
        let is_elsewhere = list.references > 0 || list.slot.is_some_and(|slot| self.memo.get(slot) != Some(value));
        if !is_all_frames || is_elsewhere {
            return value;
        }
        let slot = list.slot;
        let Some(stack) = self.teller.stack(&mut self.arena, Some(value)) else { return value };
        if let Some(slot) = slot {
            self.memo.replace(slot, Value::Stack(stack));
        }
        self.arena.list_mut(number).is_shared = false;
        self.arena.release(value);
        Value::Stack(stack)
    }
}
