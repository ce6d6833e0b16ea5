//! Where the values of an event stand in the scanned text, and the way from there to values.
//!
//! Places are 32 bits wide: a batch of events is mostly places, and the limits keep texts far shorter.

use std::borrow::Cow;

use super::scan::{ScanLimits, Scanner};
use super::text::unescape;
use crate::event::Value;

/// What kind of value a slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// Nothing was there.
    #[default]
    Missing,
    /// `null`, or a value that counts as it.
    Null,
    /// `true` or `false`.
    Bool(bool),
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

/// A value and where it stands in the scanned text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) kind: SlotKind,
    start: u32,
    end: u32,
}

impl Slot {
    #[inline]
    pub(super) fn new(kind: SlotKind, start: usize, end: usize) -> Self {
        Self { kind, start: start as u32, end: end as u32 }
    }

    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn end(self) -> usize {
        self.end as usize
    }

    /// What stands there.
    pub(super) fn raw(self, text: &str) -> &str {
        &text[self.start()..self.end()]
    }

    /// The text of a key or another string.
    #[inline]
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        if self.kind == SlotKind::Escaped { unescape(self.raw(text)) } else { Cow::Borrowed(self.raw(text)) }
    }

    /// The value; borrowed unless it has escapes or is not valid JSON.
    #[inline]
    pub(super) fn value(self, text: &str, is_lenient: bool) -> Value<'_> {
        match self.kind {
            SlotKind::Missing => Value::Missing,
            SlotKind::Null => Value::Null,
            SlotKind::Bool(value) => Value::Bool(value),
            SlotKind::Number => Value::Number(self.raw(text)),
            SlotKind::Plain => Value::Text(Cow::Borrowed(self.raw(text))),
            SlotKind::Escaped => Value::Text(unescape(self.raw(text))),
            SlotKind::Json => Value::Json(Cow::Borrowed(self.raw(text))),
            SlotKind::LaxJson => {
                let limits = ScanLimits { max_depth: usize::MAX, max_string_bytes: usize::MAX };
                // The scanner decides about a quote by what follows the string, so it may see the text to its end.
                let mut scanner = Scanner::new(&text[self.start()..], limits, is_lenient);
                Value::Json(Cow::Owned(scanner.rewrite(self.end() - self.start())))
            }
        }
    }
}

/// An argument: its key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArgSlot {
    pub(super) key: Slot,
    pub(super) value: Slot,
}

/// The arguments of a scanned event.
#[derive(Clone, Copy)]
pub(crate) struct ScannedArgs<'a> {
    pub(super) text: &'a str,
    pub(super) slots: &'a [ArgSlot],
    pub(super) is_lenient: bool,
}

impl<'a> ScannedArgs<'a> {
    pub(crate) fn len(self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn key(self, index: usize) -> Cow<'a, str> {
        self.slots[index].key.text(self.text)
    }

    #[inline]
    pub(crate) fn value(self, index: usize) -> Value<'a> {
        self.slots[index].value.value(self.text, self.is_lenient)
    }
}
