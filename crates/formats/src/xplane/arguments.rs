//! The arguments of one event, made of its stats and of those of its kind.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use hashbrown::HashMap;

use super::metadata::{Metadata, StatValue};
use super::names::{Known, NameId, Names};
use crate::event::{LazyArgs, Value};

/// The arguments of the current event. Kept from event to event, so that their memory is.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    keys: Vec<NameId>,
    values: Vec<Slot>,
    /// Digits and texts of the values.
    text: String,
    /// Which stats are there, one bit for each known name.
    present: u64,
    shapes: HashMap<Vec<NameId>, u32>,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Null,
    Number(Range<usize>),
    Text(Range<usize>),
    Json(Range<usize>),
    /// The name of a stat.
    Reference(u64),
}

impl Arguments {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.text.clear();
        self.present = 0;
    }

    /// Adds a stat; one of the same name replaces it.
    pub(super) fn put_stat(&mut self, key: NameId, value: &StatValue<'_>) {
        let slot = match value {
            StatValue::None => Slot::Null,
            StatValue::Float(value) if !value.is_finite() => Slot::Null,
            StatValue::Float(value) => Slot::Number(self.write(value)),
            // Programs are numbered by hashes: the upper half of them has the same bits as a negative number.
            StatValue::Unsigned(value) if [Known::Program as NameId, Known::Run as NameId].contains(&key) => {
                Slot::Number(self.write(value.cast_signed()))
            }
            StatValue::Unsigned(value) => Slot::Number(self.write(value)),
            StatValue::Signed(value) => Slot::Number(self.write(value)),
            StatValue::Text(text) => Slot::Text(self.push_text(text)),
            StatValue::Bytes(length) => Slot::Json(self.write(format_args!("{{\"bytes\":{length}}}"))),
            StatValue::Reference(name) => Slot::Reference(*name),
        };
        self.put(key, slot);
    }

    pub(super) fn put_number(&mut self, key: Known, value: impl std::fmt::Display) {
        let slot = Slot::Number(self.write(value));
        self.put(key as NameId, slot);
    }

    pub(super) fn put_text(&mut self, key: Known, text: &str) {
        let slot = Slot::Text(self.push_text(text));
        self.put(key as NameId, slot);
    }

    /// `json` is valid JSON.
    pub(super) fn put_json(&mut self, key: Known, json: impl std::fmt::Display) {
        let slot = Slot::Json(self.write(json));
        self.put(key as NameId, slot);
    }

    /// Whether there is a stat of this name, whatever its value.
    pub(super) fn has(&self, key: Known) -> bool {
        self.present & bit(key as NameId) != 0
    }

    /// Takes an argument out, because it is told in another way.
    pub(super) fn remove(&mut self, key: Known) {
        if let Some(index) = self.place(key as NameId) {
            self.keys.remove(index);
            self.values.remove(index);
        }
    }

    /// The text of an argument.
    pub(super) fn text<'s>(&'s self, key: Known, metadata: &'s Metadata) -> Option<&'s str> {
        match &self.values[self.place(key as NameId)?] {
            Slot::Text(range) => Some(&self.text[range.clone()]),
            Slot::Reference(name) => metadata.referred(*name),
            _ => None,
        }
    }

    /// The digits of an argument that is a number.
    pub(super) fn number(&self, key: Known) -> Option<&str> {
        match &self.values[self.place(key as NameId)?] {
            Slot::Number(range) => Some(&self.text[range.clone()]),
            _ => None,
        }
    }

    /// The integer of an argument.
    pub(super) fn integer(&self, key: Known) -> Option<i64> {
        self.number(key)?.parse().ok()
    }

    /// A number that all events with the same keys share.
    pub(super) fn shape(&mut self) -> u32 {
        let next = self.shapes.len() as u32;
        match self.shapes.get(&self.keys) {
            Some(&shape) => shape,
            None => *self.shapes.entry(self.keys.clone()).or_insert(next),
        }
    }

    /// As a sink asks for them.
    pub(super) fn lazy<'s>(&'s self, names: &'s Names, metadata: &'s Metadata) -> LazyArguments<'s> {
        LazyArguments { arguments: self, names, metadata }
    }

    fn put(&mut self, key: NameId, slot: Slot) {
        let may_be_there = key >= u64::BITS || self.present & bit(key) != 0;
        self.present |= bit(key);
        if let Some(index) = may_be_there.then(|| self.place(key)).flatten() {
            self.values[index] = slot;
        } else {
            self.keys.push(key);
            self.values.push(slot);
        }
    }

    fn place(&self, key: NameId) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    fn write(&mut self, value: impl std::fmt::Display) -> Range<usize> {
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
        start..self.text.len()
    }

    fn push_text(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }
}

/// The bit of a known name; none for others.
fn bit(key: NameId) -> u64 {
    1_u64.checked_shl(key).unwrap_or(0)
}

/// The arguments with the names they need.
pub(super) struct LazyArguments<'s> {
    arguments: &'s Arguments,
    names: &'s Names,
    metadata: &'s Metadata,
}

impl LazyArgs for LazyArguments<'_> {
    fn len(&self) -> usize {
        self.arguments.keys.len()
    }

    fn key(&self, index: usize) -> Cow<'_, str> {
        Cow::Borrowed(self.names.argument(self.arguments.keys[index]))
    }

    fn value(&self, index: usize) -> Value<'_> {
        let text = |range: &Range<usize>| &self.arguments.text[range.clone()];
        match &self.arguments.values[index] {
            Slot::Null => Value::Null,
            Slot::Number(range) => Value::Number(text(range)),
            Slot::Text(range) => Value::Text(text(range).into()),
            Slot::Json(range) => Value::Json(text(range).into()),
            Slot::Reference(name) => self.metadata.referred(*name).map_or(Value::Null, |text| Value::Text(text.into())),
        }
    }
}
