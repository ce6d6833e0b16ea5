//! Shapes of events, learnt from the trace itself: what stands between their values.
//!
//! A profiler writes events of a kind with the same keys, commas and spaces; only the values differ. A shape is the
//! sequence of these texts, from the `{` of the event to its `}`. Shapes that begin alike share their beginnings in a
//! tree: a node is the text before a value, and says what the value is. Reading an event by its shape takes one
//! comparison for each value instead of looking at each token between them.
//!
//! The outcome is that of `Record::scan`, always. Each text between values was accepted by that scan after the same
//! texts, with values of any kind between them, and what it makes of a text depends on nothing else: not on the values,
//! as those whose kind matters (`args`, `id2`) are learnt as an object or not at all. The values are scanned by the same
//! `Scanner::value` at the same depth. Where anything is different (no text fits, the input ends, a value is bad) the
//! event is left to `Record::scan` from its start.
//!
//! The tree stops growing at a size that no profiler reaches, and an input whose events rarely fit is not tried for
//! long, so that hostile input costs a constant factor at most.

use super::record::{Field, Path, Record, Target};
use super::scan::{ScanLimits, Scanner};
use super::slot::{ArgSlot, Slot, SlotKind};

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
#[derive(Clone)]
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
        let shape = self.follow(&mut scanner, text.as_bytes(), record);
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
    fn follow(&mut self, scanner: &mut Scanner<'_>, bytes: &[u8], record: &mut Record) -> Option<u32> {
        let mut node = 0;
        loop {
            node = self.fitting_child(node, bytes.get(scanner.pos..)?)?;
            let &Node { length, role, .. } = &self.nodes[node];
            scanner.pos += length as usize;
            let place = scanner.pos;
            if let Role::End { shape } = role {
                return Some(shape);
            }
            let depth = if matches!(role, Role::Arg { .. }) { 2 } else { 1 };
            let value = scanner.value(depth).ok()?;
            match role {
                Role::Field(field) => record.fields[field as usize] = value,
                Role::Arg { key_start, key_end } => {
                    let key = Slot::new(SlotKind::Plain, place - key_start as usize, place - key_end as usize);
                    record.args.push(ArgSlot { key, value });
                }
                Role::Nothing | Role::End { .. } => {}
            }
            if scanner.saw_bad_value {
                return None;
            }
        }
    }

    /// The child of `parent` whose text `rest` begins with.
    #[inline]
    fn fitting_child(&mut self, parent: usize, rest: &[u8]) -> Option<usize> {
        let Node { children, child_count, .. } = &self.nodes[parent];
        let index = children[..usize::from(*child_count)]
            .iter()
            .position(|&child| self.nodes[usize::from(child)].fits(rest))?;
        let child = children[index];
        if index > 0 {
            self.nodes[parent].children[..=index].rotate_right(1);
        }
        Some(usize::from(child))
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
mod tests {
    use stepscope_testkit::Random;

    use super::{MAX_CHILDREN, MAX_NODES, PAUSE_EVENTS, Shapes};
    use crate::chrome::record::Record;
    use crate::chrome::scan::ScanLimits;

    const LIMITS: ScanLimits = ScanLimits { max_depth: 4, max_string_bytes: 20 };

    /// Reads events one after the other, as the reader does, and compares each with what the general scan says of it.
    #[derive(Default)]
    struct Comparison {
        shapes: Shapes,
        by_shape: Record,
        general: Record,
        fitted: usize,
    }

    impl Comparison {
        #[track_caller]
        fn check(&mut self, text: &str) -> Option<u32> {
            let length = self.shapes.scan(text, LIMITS, &mut self.by_shape);
            let wanted = self.general.scan(text, LIMITS, false);
            if length.is_none() {
                if wanted.is_ok() {
                    self.shapes.learn(text, &self.general.path);
                }
                return None;
            }
            self.fitted += 1;
            assert_eq!(length, wanted.ok(), "{text}");
            assert_eq!(self.by_shape.fields, self.general.fields, "{text}");
            assert_eq!(self.by_shape.args, self.general.args, "{text}");
            assert!(!self.general.saw_bad_value && !self.by_shape.is_lenient, "{text}");
            self.by_shape.shape
        }
    }

    /// One of a few forms, so that most of them come again.
    fn any_event(random: &mut Random) -> String {
        // The first choice is the usual one.
        let mut pick = |choices: &[&str]| choices[random.below(200).saturating_sub(200 - choices.len())].to_owned();
        let mut event = pick(&["{", "{ ", "{\n  "]);
        let mut comma = "";
        for key in ["ph", "cat", "name", "ts", "dur", "pid", "tid", "id", "bp", "args"] {
            let key = pick(&[key, "", "id2", "args"]);
            if key.is_empty() {
                continue;
            }
            event += comma;
            comma = ", ";
            let colon = pick(&[": ", ":", ":  "]);
            let value = pick(&[
                "17",
                "-2.5",
                "\"\"",
                "\"a\\\"b\"",
                "\"a very long text of many\"",
                "[1, [\"a\"]]",
                "[[[[1]]]]",
                "null",
                "NaN",
                "",
                "x",
                "{}",
                "\"a\nb\"",
                "[\"\t\"]",
                "12:",
            ]);
            let (first, second) = (pick(&["a", "b", "\\u0061"]), pick(&["b", "a"]));
            let end = pick(&["}", ",}", " }"]);
            let member = match (&*key, &*pick(&["object", "any"])) {
                ("args", "object") => format!("\"args\"{colon}{{\"{first}\": {value}, \"{second}\"{colon}7{end}"),
                _ => format!("\"{key}\"{colon}{value}"),
            };
            event += &member;
        }
        event + &pick(&["}", "\n}", ",}", "", "}}"])
    }

    #[test]
    fn random_events_and_one_byte_changes_are_read_as_by_the_general_scan() {
        let mut random = Random::new(5);
        let mut fitted = 0;
        for _ in 0..1000 {
            let mut comparison = Comparison::default();
            let events = [any_event(&mut random), any_event(&mut random)];
            for _ in 0..20 {
                let event = &events[random.below(events.len())];
                comparison.check(event);
                comparison.check(&event[..event.floor_char_boundary(random.below(event.len() + 1))]);
                let mut changed = event.clone().into_bytes();
                let at = random.below(changed.len());
                changed[at] = b"{}[],:\"\\ 0a\n"[random.below(12)];
                comparison.check(&String::from_utf8_lossy(&changed));
                comparison.check(&(String::from_utf8_lossy(&changed) + ", {\"ph\": \"X\"}]"));
            }
            fitted += comparison.fitted;
        }
        assert!(fitted > 10_000, "{fitted}");
    }

    #[test]
    fn shapes_are_numbered_by_their_keys() {
        let mut comparison = Comparison::default();
        let mut check = |text: &str, want: Option<u32>| assert_eq!(comparison.check(text), want, "{text}");
        check(r#"{"ph": "X", "args": {"a": 1, "b": 2}}"#, None);
        check(r#"{"ph": "B", "args": {"a": [3], "b": "x"}}, "#, Some(0));
        check(r#"{"ph": "X", "args": {"a": 1}}"#, None);
        check(r#"{"ph": "X", "args": {"a": 1}}"#, Some(1));
        check(r#"{"ph": "X", "args": {}}"#, None);
        check(r#"{"ph": "X", "args": {}}"#, Some(2));
        check(r#"{"ph": "X", "args": {"a": 1, "b": 2}}"#, Some(0));
        // A space more, an argument list that is none, a bad value, another key.
        for text in [
            r#"{"ph":  "X", "args": {"a": 1}}"#,
            r#"{"ph": "X", "args": 1}"#,
            r#"{"ph": "X", "args": {"a": NaN}}"#,
            r#"{"ph": "X", "args": {"c": 1}}"#,
        ] {
            check(text, None);
        }
    }

    #[test]
    fn the_tree_is_bounded_and_rests_when_nothing_fits() {
        let mut comparison = Comparison::default();
        for key in 0..100_000 {
            comparison.check(&format!(r#"{{"ph": "X", "{}": 1, "{key}": 2}}"#, key % 12));
        }
        let shapes = &comparison.shapes;
        assert!(shapes.nodes.len() <= MAX_NODES);
        assert!(shapes.nodes.iter().all(|node| usize::from(node.child_count) <= MAX_CHILDREN));
        assert!(comparison.fitted < 1000);
        assert!((0..=PAUSE_EVENTS).any(|_| { comparison.check(r#"{"ph": "X", "0": 1, "0": 2}"#).is_some() }));
    }
}
