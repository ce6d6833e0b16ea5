//! Shapes of events, learned from the trace itself: what stands between their values.
//!
//! A profiler writes events of a kind with the same keys, commas and spaces; only the values differ. A shape is the
//! sequence of these texts, from the `{` of the event to its `}`. Shapes that begin alike share their beginnings in a
//! tree: a node is the text before a value, and says what the value is. Reading an event by its shape takes one
//! comparison for each value instead of looking at each token between them.
//!
//! The outcome is that of `Record::scan`, always. Each text between values was accepted by that scan after the same
//! texts, with values of any kind between them, and what it makes of a text depends on nothing else: not on the values,
//! as those whose kind matters (`args`, `id2`) are learned as an object or not at all. The values are scanned as by
//! `Scanner::value`, at the same depth. Where anything is different (no text fits, the input ends, a value is bad) the
//! event is left to `Record::scan` from its start.
//!
//! The tree stops growing at a size that no profiler reaches, and an input whose events rarely fit is not tried for
//! long, so that hostile input costs a constant factor at most.

use super::record::{Field, Path, Record, Target};
use super::scan::{ScanLimits, Scanner};
use super::slot::{ArgSlot, Slot, SlotKind};
use super::usual::usual_value;

const MAX_NODES: usize = 8192;
const MAX_CHILDREN: usize = 16;
const MAX_LITERAL_BYTES: usize = 256;

/// Words of a text that are compared at once; few texts are longer.
const HEAD_WORDS: usize = 3;
const HEAD_BYTES: usize = HEAD_WORDS * 8;

/// Events in a row that fit no shape before shapes are left alone.
const MAX_MISSES: u32 = 64;

/// Events for which they are left alone.
const PAUSE_EVENTS: u32 = 1024;

/// The shapes of the events so far.
pub(super) struct Shapes {
    /// The first one is the start of an event.
    nodes: Vec<Node>,
    shape_count: u32,
    /// Events in a row that fitted no shape.
    misses: u32,
    /// Events that are still to come before shapes are tried again.
    pause: u32,
}

/// The text before a value, or before the end of the event.
///
/// Two lines of the cache.
#[derive(Clone)]
#[repr(align(64))]
struct Node {
    /// The beginning of the text, and which bits of it count.
    head: [u64; HEAD_WORDS],
    head_mask: [u64; HEAD_WORDS],
    /// What follows the head.
    tail: Box<[u8]>,
    length: u32,
    role: Role,
    child_count: u8,
    /// What may follow the value; the most recent one first.
    children: [u16; MAX_CHILDREN],
}

/// What follows the text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Field(Field),
    /// An argument; its key is so many bytes before the value.
    Arg {
        key_start: u32,
        key_end: u32,
    },
    /// A value of no interest.
    Nothing,
    /// The event ends.
    End {
        shape: u32,
    },
}

impl Default for Shapes {
    fn default() -> Self {
        let start = Node::new(&[], Role::Nothing);
        Self { nodes: vec![start], shape_count: 0, misses: 0, pause: 0 }
    }
}

impl Shapes {
    /// Scans the event that `text` begins with into `record` and gives its length; `None` when `Record::scan` has to.
    pub(super) fn scan(&mut self, text: &str, limits: ScanLimits, record: &mut Record) -> Option<usize> {
        if self.pause > 0 {
            return None;
        }
        record.clear();
        let mut scanner = Scanner::new(text, limits, false);
        scanner.stack = std::mem::take(&mut record.stack);
        let shape = self.follow(&mut scanner, text.as_bytes(), limits, record);
        let end = scanner.pos;
        record.stack = scanner.stack;
        record.shape = shape;
        shape?;
        self.misses = 0;
        Some(end)
    }

    /// Takes the shape of an event that was scanned by `Record::scan`.
    pub(super) fn learn(&mut self, text: &str, path: &Path) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        self.misses += 1;
        if self.misses == MAX_MISSES {
            self.misses = 0;
            self.pause = PAUSE_EVENTS;
        }
        if path.is_regular {
            self.add(text.as_bytes(), path);
        }
    }

    /// Follows the tree along the event and gives its shape.
    fn follow(
        &mut self,
        scanner: &mut Scanner<'_>,
        bytes: &[u8],
        limits: ScanLimits,
        record: &mut Record,
    ) -> Option<u32> {
        // The scanner takes over for unusual values only, so that the place stays in a register.
        let mut pos = 0;
        let mut node = 0;
        loop {
            node = self.fitting_child(node, bytes.get(pos..)?)?;
            let &Node { length, role, .. } = &self.nodes[node];
            pos += length as usize;
            if let Role::End { shape } = role {
                scanner.pos = pos;
                return (!scanner.saw_bad_value).then_some(shape);
            }
            let start = pos;
            let value = if let Some((value, end)) = usual_value(bytes, pos, limits) {
                pos = end;
                value
            } else {
                scanner.pos = pos;
                let value = scanner.value(if matches!(role, Role::Arg { .. }) { 2 } else { 1 }).ok()?;
                pos = scanner.pos;
                value
            };
            match role {
                Role::Field(field) => record.fields[field as usize] = value,
                Role::Arg { key_start, key_end } => {
                    let key = Slot::new(SlotKind::Plain, start - key_start as usize, start - key_end as usize);
                    record.args.push(ArgSlot { key, value });
                }
                Role::Nothing | Role::End { .. } => {}
            }
        }
    }

    /// The child of `parent` whose text `rest` begins with.
    #[inline]
    fn fitting_child(&mut self, parent: usize, rest: &[u8]) -> Option<usize> {
        let first = usize::from(self.nodes[parent].children[0]);
        // The start is nobody's child, and its number stands for none.
        if first != 0 && self.nodes[first].fits(rest) { Some(first) } else { self.other_child(parent, rest) }
    }

    /// The same for all children but the first, which the one that fits becomes.
    fn other_child(&mut self, parent: usize, rest: &[u8]) -> Option<usize> {
        let Node { children, child_count, .. } = &self.nodes[parent];
        let others = children.get(1..usize::from(*child_count))?;
        let index = 1 + others.iter().position(|&child| self.nodes[usize::from(child)].fits(rest))?;
        let children = &mut self.nodes[parent].children;
        children[..=index].rotate_right(1);
        Some(usize::from(children[0]))
    }

    /// Adds the way along `path` to the tree, as far as there is room.
    fn add(&mut self, bytes: &[u8], path: &Path) -> Option<()> {
        let mut node = 0;
        let mut from = 0;
        for step in &path.steps {
            let role = match step.target {
                Target::Field(field) => Role::Field(field),
                Target::Arg(key) => {
                    Role::Arg { key_start: (step.start - key.start()) as u32, key_end: (step.start - key.end()) as u32 }
                }
                Target::Nothing => Role::Nothing,
            };
            node = self.child_with(node, bytes.get(from..step.start)?, role)?;
            from = step.end;
        }
        let shape = self.shape_count;
        let end = self.child_with(node, bytes.get(from..path.end)?, Role::End { shape })?;
        if self.nodes[end].role == (Role::End { shape }) {
            self.shape_count += 1;
        }
        Some(())
    }

    /// The child of `parent` with this text, which may be new.
    fn child_with(&mut self, parent: usize, literal: &[u8], role: Role) -> Option<usize> {
        let Node { children, child_count, .. } = &self.nodes[parent];
        let child_count = usize::from(*child_count);
        let is_known = |&&child: &&u16| self.nodes[usize::from(child)].is_text(literal);
        if let Some(&child) = children[..child_count].iter().find(is_known) {
            return Some(usize::from(child));
        }
        let has_room = self.nodes.len() < MAX_NODES && child_count < MAX_CHILDREN;
        if !has_room || literal.is_empty() || literal.len() > MAX_LITERAL_BYTES {
            return None;
        }
        let child = self.nodes.len();
        self.nodes.push(Node::new(literal, role));
        let parent = &mut self.nodes[parent];
        parent.children[child_count] = child as u16;
        parent.child_count += 1;
        Some(child)
    }
}

impl Node {
    fn new(literal: &[u8], role: Role) -> Self {
        let (head, tail) = literal.split_at(literal.len().min(HEAD_BYTES));
        let mut padded = [0; HEAD_BYTES];
        let mut mask = [0; HEAD_BYTES];
        padded[..head.len()].copy_from_slice(head);
        mask[..head.len()].fill(u8::MAX);
        Self {
            head: words(&padded),
            head_mask: words(&mask),
            tail: tail.into(),
            length: literal.len() as u32,
            role,
            child_count: 0,
            children: [0; MAX_CHILDREN],
        }
    }

    /// Whether `rest` begins with the text, and with a value behind it.
    #[inline]
    fn fits(&self, rest: &[u8]) -> bool {
        let Some(head) = rest.first_chunk::<HEAD_BYTES>() else { return self.fits_near_end(rest) };
        let difference = (0..HEAD_WORDS).fold(0, |difference, index| {
            difference | ((words(head)[index] ^ self.head[index]) & self.head_mask[index])
        });
        difference == 0
            && (self.tail.is_empty() || rest[HEAD_BYTES..].starts_with(&self.tail))
            && self.is_followed_well(rest)
    }

    /// The same where the text in memory ends soon.
    #[cold]
    fn fits_near_end(&self, rest: &[u8]) -> bool {
        rest.get(..self.length as usize).is_some_and(|near| self.is_text(near)) && self.is_followed_well(rest)
    }

    /// With a space more before the value it is another text.
    #[inline]
    fn is_followed_well(&self, rest: &[u8]) -> bool {
        matches!(self.role, Role::End { .. }) || rest.get(self.length as usize).is_some_and(|&byte| byte > b' ')
    }

    fn is_text(&self, literal: &[u8]) -> bool {
        let head = self.head.iter().flat_map(|word| word.to_le_bytes()).take(self.length as usize);
        head.chain(self.tail.iter().copied()).eq(literal.iter().copied())
    }
}

/// The words that `bytes` are.
#[inline]
fn words(bytes: &[u8; HEAD_BYTES]) -> [u64; HEAD_WORDS] {
    std::array::from_fn(|index| u64::from_le_bytes(bytes.as_chunks::<8>().0[index]))
}

#[cfg(test)]
mod tests;
