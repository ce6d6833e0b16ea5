//! One event: from its text to typed fields, without allocating in the usual case.

use std::borrow::Cow;

use super::scan::{Scan, ScanLimits, Scanner, Slot, SlotKind, Stop};
use super::text::unescape;
use crate::event::{Event, Value};

/// Where the fields of one event stand in its text. Reused from event to event.
#[derive(Default)]
pub(super) struct Record {
    phase: Slot,
    category: Slot,
    name: Slot,
    ts: Slot,
    dur: Slot,
    process: Slot,
    thread: Slot,
    id: Slot,
    args: Vec<(Slot, Slot)>,
    is_lenient: bool,
    /// The room of the scanner's stack.
    stack: Vec<u8>,
    /// A value was read as null, or a comma was too many.
    pub(super) saw_bad_value: bool,
}

/// The room of an argument list, kept between events; always empty there.
pub(super) type ArgsRoom = Vec<(Cow<'static, str>, Value<'static>)>;

impl Record {
    /// Scans the event that `text` begins with and gives its length.
    pub(super) fn scan(&mut self, text: &str, limits: ScanLimits, lenient: bool) -> Scan<usize> {
        let mut args = std::mem::take(&mut self.args);
        args.clear();
        let stack = std::mem::take(&mut self.stack);
        *self = Self { args, is_lenient: lenient, ..Self::default() };
        if limits.max_depth == 0 {
            return Err(Stop::Deep(0));
        }
        let mut scanner = Scanner::new(text, limits, lenient);
        scanner.stack = stack;
        let outcome = scanner.members(|scanner, key| self.member(scanner, text, limits, key));
        self.saw_bad_value = scanner.saw_bad_value;
        self.stack = scanner.stack;
        outcome.map(|()| scanner.pos)
    }

    /// Hands the event in `text` to `take`, with the values where they stand. Gives `room` back.
    pub(super) fn deliver(
        &self,
        text: &str,
        position: u64,
        offset_bytes: u64,
        room: ArgsRoom,
        take: impl FnOnce(&Event<'_>),
    ) -> ArgsRoom {
        let mut args = emptied(room);
        let value = |slot: Slot| value_of(text, slot, self.is_lenient);
        args.extend(self.args.iter().map(|&(key, slot)| (text_of(text, key), value(slot))));
        take(&Event {
            position,
            offset_bytes,
            phase: value(self.phase),
            category: value(self.category),
            name: value(self.name),
            ts: value(self.ts),
            dur: value(self.dur),
            process: value(self.process),
            thread: value(self.thread),
            id: value(self.id),
            args: &args,
        });
        emptied(args)
    }

    #[inline]
    fn member(&mut self, scanner: &mut Scanner<'_>, text: &str, limits: ScanLimits, key: Slot) -> Scan<()> {
        let key = text_of(text, key);
        let place = match key.as_bytes() {
            b"ph" => &mut self.phase,
            b"cat" => &mut self.category,
            b"name" => &mut self.name,
            b"ts" => &mut self.ts,
            b"dur" => &mut self.dur,
            b"pid" => &mut self.process,
            b"tid" => &mut self.thread,
            b"id" => &mut self.id,
            b"args" => {
                self.args.clear();
                if scanner.peek()? != b'{' {
                    return scanner.value(1).map(drop);
                }
                return members_of(scanner, limits, |key, value| self.args.push((key, value)));
            }
            b"id2" => {
                if scanner.peek()? != b'{' {
                    return scanner.value(1).map(drop);
                }
                return members_of(scanner, limits, |key, value| {
                    if matches!(&*text_of(text, key), "local" | "global") {
                        self.id = value;
                    }
                });
            }
            _ => return scanner.value(1).map(drop),
        };
        *place = scanner.value(1)?;
        Ok(())
    }
}

/// The members of an object inside an event.
fn members_of(scanner: &mut Scanner<'_>, limits: ScanLimits, mut take: impl FnMut(Slot, Slot)) -> Scan<()> {
    if limits.max_depth < 2 {
        return Err(Stop::Deep(scanner.pos));
    }
    scanner.members(|scanner, key| {
        let value = scanner.value(2)?;
        take(key, value);
        Ok(())
    })
}

/// The text of a key or another string.
pub(super) fn text_of(text: &str, slot: Slot) -> Cow<'_, str> {
    let raw = &text[slot.start..slot.end];
    if slot.kind == SlotKind::Escaped { unescape(raw) } else { Cow::Borrowed(raw) }
}

/// The value in a slot; borrowed unless it has escapes or is not valid JSON.
pub(super) fn value_of(text: &str, slot: Slot, lenient: bool) -> Value<'_> {
    let raw = &text[slot.start..slot.end];
    match slot.kind {
        SlotKind::Missing => Value::Missing,
        SlotKind::Null => Value::Null,
        SlotKind::Bool(value) => Value::Bool(value),
        SlotKind::Number => Value::Number(raw),
        SlotKind::Plain => Value::Text(Cow::Borrowed(raw)),
        SlotKind::Escaped => Value::Text(unescape(raw)),
        SlotKind::Json => Value::Json(Cow::Borrowed(raw)),
        SlotKind::LaxJson => {
            let limits = ScanLimits { max_depth: usize::MAX, max_string_bytes: usize::MAX };
            // The scanner decides about a quote by what follows the string, so it may see the text to its end.
            Value::Json(Cow::Owned(Scanner::new(&text[slot.start..], limits, lenient).rewrite(raw.len())))
        }
    }
}

/// The same allocation for entries of another lifetime. The standard library collects in place here, and if it ever
/// stops doing so, this is slower but not wrong.
fn emptied<'b>(mut room: Vec<(Cow<'_, str>, Value<'_>)>) -> Vec<(Cow<'b, str>, Value<'b>)> {
    room.clear();
    room.into_iter().map(|_| (Cow::Borrowed(""), Value::Missing)).collect()
}
