//! Where the values of an event stand in the scanned text, and the way from there to values.

use std::borrow::Cow;
use std::fmt;

use super::scan::{ScanLimits, Scanner};
use super::text::unescape;
use crate::event::{LazyArgs, Value};

/// What kind of value a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// Nothing was there.
    Missing,
    /// `null`, or a value that counts as it.
    Null,
    True,
    False,
    /// A valid JSON number.
    Number,
    /// The inside of a string without escapes.
    Plain,
    /// The inside of a string with escapes.
    Escaped,
    /// An array or an object in valid JSON.
    Json,
    /// An array or an object that has to be rewritten to be valid JSON.
    LaxJson,
}

/// Every kind, at its own number.
const KINDS: [SlotKind; 9] = [
    SlotKind::Missing,
    SlotKind::Null,
    SlotKind::True,
    SlotKind::False,
    SlotKind::Number,
    SlotKind::Plain,
    SlotKind::Escaped,
    SlotKind::Json,
    SlotKind::LaxJson,
];

/// Bits of a place in the text.
pub(super) const PLACE_BITS: u32 = 30;

/// A value and where it stands in the scanned text: the end, the start and the kind in one word, as slots are most of
/// what goes from thread to thread, and fit into a register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Slot(u64);

impl Slot {
    #[inline]
    pub(super) fn new(kind: SlotKind, start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end < 1 << PLACE_BITS);
        Self((end as u64) << (4 + PLACE_BITS) | (start as u64) << 4 | kind as u64)
    }

    #[inline]
    pub(super) fn kind(self) -> SlotKind {
        KINDS.get((self.0 & 0xf) as usize).copied().unwrap_or(SlotKind::Missing)
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        (self.0 >> 4) as usize & ((1 << PLACE_BITS) - 1)
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        (self.0 >> (4 + PLACE_BITS)) as usize
    }

    /// What stands there.
    pub(super) fn raw(self, text: &str) -> &str {
        &text[self.start()..self.end()]
    }

    /// The text of a key or another string.
    #[inline]
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        if self.kind() == SlotKind::Escaped { unescape(self.raw(text)) } else { Cow::Borrowed(self.raw(text)) }
    }

    /// The value; borrowed unless it has escapes or is not valid JSON.
    #[expect(clippy::inline_always, reason = "it is called for each field of each event")]
    #[inline(always)]
    pub(super) fn value(self, text: &str, is_lenient: bool) -> Value<'_> {
        match self.kind() {
            SlotKind::Missing => Value::Missing,
            SlotKind::Null => Value::Null,
            SlotKind::True => Value::Bool(true),
            SlotKind::False => Value::Bool(false),
            SlotKind::Number => Value::Number(self.raw(text)),
            SlotKind::Plain => Value::Text(Cow::Borrowed(self.raw(text))),
            SlotKind::Escaped => Value::Text(unescape(self.raw(text))),
            SlotKind::Json => Value::Json(Cow::Borrowed(self.raw(text))),
            SlotKind::LaxJson => Value::Json(Cow::Owned(self.rewritten(text, is_lenient))),
        }
    }

    #[cold]
    fn rewritten(self, text: &str, is_lenient: bool) -> String {
        let limits = ScanLimits { max_depth: usize::MAX, max_string_bytes: usize::MAX };
        // The scanner decides about a quote by what follows the string, so it may see the text to its end.
        let mut scanner = Scanner::new(&text[self.start()..], limits, is_lenient);
        scanner.rewrite(self.end() - self.start())
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}..{}", self.kind(), self.start(), self.end())
    }
}

/// An argument: its key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArgSlot {
    pub(super) key: Slot,
    pub(super) value: Slot,
}

/// The arguments of a scanned event.
pub(super) struct ScannedArgs<'a> {
    pub(super) text: &'a str,
    pub(super) slots: &'a [ArgSlot],
    pub(super) is_lenient: bool,
}

impl LazyArgs for ScannedArgs<'_> {
    fn len(&self) -> usize {
        self.slots.len()
    }

    fn key(&self, index: usize) -> Cow<'_, str> {
        self.slots[index].key.text(self.text)
    }

    fn value(&self, index: usize) -> Value<'_> {
        self.slots[index].value.value(self.text, self.is_lenient)
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, PLACE_BITS, Slot, SlotKind};

    #[test]
    fn slots_give_back_what_they_hold() {
        let most = (1 << PLACE_BITS) - 1;
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            for (start, end) in [(0, 0), (0, most), (most, most), (17, 400)] {
                let slot = Slot::new(kind, start, end);
                assert_eq!((slot.kind(), slot.start(), slot.end()), (kind, start, end));
            }
        }
        assert_eq!(Slot::default().kind(), SlotKind::Missing);
    }
}
