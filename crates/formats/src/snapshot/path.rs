//! What a list on the stack is for, told by the stack below it.
//!
//! Pickles write containers from the outside: a dict or a list is on the stack, and above it, behind a mark, what it will
//! take. So the way from the root to a list is known while the list is still open, and its items can be handed out.

use super::arena::{Arena, Value};
use super::word::Word;

/// What a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing that is handed out before the end.
    Other,
    /// The history of a device.
    History { device: u64 },
    /// Segments, in a snapshot.
    Segments,
    /// Segments that are the whole file.
    BareSegments,
    /// Blocks of a segment.
    Blocks,
}

/// The stack, and where its marks are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    pub(super) stack: &'a [Value],
    pub(super) marks: &'a [usize],
    pub(super) arena: &'a Arena,
}

/// Where a value goes.
struct Owner {
    /// Place of the container on the stack.
    at: usize,
    slot: Slot,
}

enum Slot {
    Item(u64),
    Member(Value),
}

impl Path<'_> {
    /// What the list at this place of the stack is for.
    pub(super) fn role(self, at: usize) -> Role {
        if at == 0 {
            return Role::BareSegments;
        }
        let Some(owner) = self.owner(at) else { return Role::Other };
        let is_root = owner.at == 0 && matches!(self.stack[0], Value::Dict(_));
        match owner.slot {
            Slot::Member(Value::Word(Word::Segments)) if is_root => Role::Segments,
            Slot::Member(Value::Word(Word::Blocks)) if self.is_segment(owner.at) => Role::Blocks,
            Slot::Item(device) if self.is_member_of_root(owner.at, Word::DeviceTraces) => Role::History { device },
            _ => Role::Other,
        }
    }

    /// Whether the dict at this place is an event or a segment.
    pub(super) fn is_element(self, at: usize) -> bool {
        self.is_segment(at)
            || self.owner(at).is_some_and(|owner| {
                matches!(owner.slot, Slot::Item(_)) && matches!(self.role(owner.at), Role::History { .. })
            })
    }

    fn is_segment(self, at: usize) -> bool {
        let Some(Owner { at: list, slot: Slot::Item(_) }) = self.owner(at) else { return false };
        list == 0 || self.is_member_of_root(list, Word::Segments)
    }

    fn is_member_of_root(self, at: usize, key: Word) -> bool {
        let Some(Owner { at: 0, slot: Slot::Member(found) }) = self.owner(at) else { return false };
        found == Value::Word(key) && matches!(self.stack[0], Value::Dict(_))
    }

    /// The container that will take the value at this place.
    fn owner(self, at: usize) -> Option<Owner> {
        let above_mark = self.marks.iter().rev().find(|&&mark| mark < at).map_or(0, |mark| mark + 1);
        // `key value` directly above a dict that has no mark: the value of a single `SETITEM`.
        let single = || {
            let at = at.checked_sub(2).filter(|&at| at >= above_mark && matches!(self.stack[at], Value::Dict(_)))?;
            Some(Owner { at, slot: Slot::Member(self.stack[at + 1]) })
        };
        // An item directly above a list that has no mark: the value of a single `APPEND`.
        let appended = || {
            let at = at.checked_sub(1).filter(|&at| at >= above_mark)?;
            let Value::List(list) = self.stack[at] else { return None };
            Some(Owner { at, slot: Slot::Item(self.arena.list(list).len()) })
        };
        let place = at - above_mark;
        let container = above_mark.checked_sub(2);
        match container.map(|container| (container, self.stack[container])) {
            Some((container, Value::Dict(_))) if place % 2 == 1 => {
                Some(Owner { at: container, slot: Slot::Member(self.stack[at - 1]) })
            }
            Some((container, Value::List(list))) => single().or_else(|| {
                Some(Owner { at: container, slot: Slot::Item(self.arena.list(list).len() + place as u64) })
            }),
            _ => single().or_else(appended),
        }
    }
}
