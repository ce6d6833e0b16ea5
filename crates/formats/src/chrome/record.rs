//! One event: from its text to the places of its fields, in any form that it may have.

use super::scan::{Scan, ScanLimits, Scanner, Stop};
use super::slot::{ArgSlot, Slot, SlotKind};

/// A field of an event that is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Phase,
    Category,
    Name,
    Ts,
    Dur,
    Process,
    Thread,
    Id,
}

/// How many fields there are.
pub(super) const FIELD_COUNT: usize = 8;

/// Where the fields of one event stand in its text. Reused from event to event.
#[derive(Default)]
pub(super) struct Record {
    /// By `Field`.
    pub(super) fields: [Slot; FIELD_COUNT],
    pub(super) args: Vec<ArgSlot>,
    /// The shape by which it was read.
    pub(super) shape: Option<u32>,
    /// A quote ended a string only when what followed it was due after a string.
    pub(super) is_lenient: bool,
    /// A value was read as null, or a comma was too many.
    pub(super) saw_bad_value: bool,
    pub(super) path: Path,
    /// The room of the scanner's stack.
    pub(super) stack: Vec<u8>,
}

/// The values of an event in the order of its text, for events of the same shape.
#[derive(Default)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
    /// Where the event ends.
    pub(super) end: usize,
    /// The text between the values says all that there is to know about them.
    pub(super) is_regular: bool,
}

/// A value of an event: what it is, and its text with its quotes.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) target: Target,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a value of an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Field(Field),
    /// An argument, with its key.
    Arg(Slot),
    /// Nothing of interest.
    Nothing,
}

impl Record {
    /// Forgets the event before.
    pub(super) fn clear(&mut self) {
        self.fields = [Slot::default(); FIELD_COUNT];
        self.args.clear();
        self.shape = None;
        self.is_lenient = false;
        self.saw_bad_value = false;
    }

    /// Whether anything in it is what events have.
    pub(super) fn is_like_event(&self) -> bool {
        !self.args.is_empty() || self.fields.iter().any(|field| field.kind() != SlotKind::Missing)
    }

    /// Scans the event that `text` begins with and gives its length.
    pub(super) fn scan(&mut self, text: &str, limits: ScanLimits, lenient: bool) -> Scan<usize> {
        self.clear();
        self.is_lenient = lenient;
        self.path.steps.clear();
        self.path.is_regular = !lenient;
        if limits.max_depth == 0 {
            return Err(Stop::Deep(0));
        }
        let mut scanner = Scanner::new(text, limits, lenient);
        scanner.stack = std::mem::take(&mut self.stack);
        let mut has_args = false;
        let outcome = scanner.members(|scanner, key| self.member(scanner, text, limits, key, &mut has_args));
        self.saw_bad_value = scanner.saw_bad_value;
        self.path.is_regular &= !scanner.saw_bad_value;
        self.path.end = scanner.pos;
        self.stack = scanner.stack;
        outcome.map(|()| scanner.pos)
    }

    #[inline]
    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        text: &str,
        limits: ScanLimits,
        key: Slot,
        has_args: &mut bool,
    ) -> Scan<()> {
        self.path.is_regular &= key.kind() == SlotKind::Plain;
        let field = match key.text(text).as_bytes() {
            b"ph" => Field::Phase,
            b"cat" => Field::Category,
            b"name" => Field::Name,
            b"ts" => Field::Ts,
            b"dur" => Field::Dur,
            b"pid" => Field::Process,
            b"tid" => Field::Thread,
            b"id" => Field::Id,
            b"args" => {
                self.args.clear();
                let is_object = scanner.peek()? == b'{';
                self.path.is_regular &= is_object && !std::mem::replace(has_args, true);
                if !is_object {
                    return scanner.value(1).map(drop);
                }
                return members_of(scanner, limits, |scanner, key| {
                    self.path.is_regular &= key.kind() == SlotKind::Plain;
                    let value = self.step(scanner, Target::Arg(key), 2)?;
                    self.args.push(ArgSlot { key, value });
                    Ok(())
                });
            }
            b"id2" => {
                self.path.is_regular = false;
                if scanner.peek()? != b'{' {
                    return scanner.value(1).map(drop);
                }
                return members_of(scanner, limits, |scanner, key| {
                    let value = scanner.value(2)?;
                    if matches!(&*key.text(text), "local" | "global") {
                        self.fields[Field::Id as usize] = value;
                    }
                    Ok(())
                });
            }
            _ => return self.step(scanner, Target::Nothing, 1).map(drop),
        };
        self.fields[field as usize] = self.step(scanner, Target::Field(field), 1)?;
        Ok(())
    }

    /// Scans a value and notes it in the path.
    fn step(&mut self, scanner: &mut Scanner<'_>, target: Target, depth: usize) -> Scan<Slot> {
        let start = scanner.pos;
        let value = scanner.value(depth)?;
        self.path.steps.push(Step { target, start, end: scanner.pos });
        Ok(value)
    }
}

/// The members of an object inside an event.
fn members_of(
    scanner: &mut Scanner<'_>,
    limits: ScanLimits,
    take: impl FnMut(&mut Scanner<'_>, Slot) -> Scan<()>,
) -> Scan<()> {
    if limits.max_depth < 2 {
        return Err(Stop::Deep(scanner.pos));
    }
    scanner.members(take)
}
