//! What a plane says once for all its events: the names of events and of their stats.

use std::borrow::Cow;
use std::collections::HashMap;

use super::wire::{Broken, Fields, Item};

/// A stat: something that is known of an event, a kind of event, or a plane.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stat<'a> {
    /// Number of its name.
    pub key: i64,
    pub value: StatValue<'a>,
}

/// The value of a stat.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StatValue<'a> {
    None,
    Float(f64),
    Unsigned(u64),
    Signed(i64),
    Text(Cow<'a, str>),
    /// So many bytes that are not looked at.
    Bytes(u64),
    /// The text is the name of this stat.
    Reference(u64),
}

/// What was wrong with a stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub broken_fields: u64,
    pub long_texts: u64,
    pub invalid_utf8: bool,
}

impl Faults {
    pub(super) fn any(self) -> bool {
        self != Self::default()
    }

    /// A text of the file; one that is too long is none.
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8], max_bytes: usize) -> Cow<'a, str> {
        if bytes.len() > max_bytes {
            self.long_texts += 1;
            return Cow::Borrowed("");
        }
        let text = String::from_utf8_lossy(bytes);
        self.invalid_utf8 |= matches!(text, Cow::Owned(_));
        text
    }
}

impl<'a> Stat<'a> {
    /// Reads a stat; a tail that is broken is left out.
    pub(super) fn read(bytes: &'a [u8], max_text_bytes: usize, faults: &mut Faults) -> Self {
        let mut stat = Self { key: 0, value: StatValue::None };
        let mut fields = Fields(bytes);
        loop {
            match fields.next() {
                Ok(Some((1, Item::Varint(key)))) => stat.key = key.cast_signed(),
                Ok(Some((2, Item::Fixed64(bits)))) => stat.value = StatValue::Float(f64::from_bits(bits)),
                Ok(Some((3, Item::Varint(value)))) => stat.value = StatValue::Unsigned(value),
                Ok(Some((4, Item::Varint(value)))) => stat.value = StatValue::Signed(value.cast_signed()),
                Ok(Some((5, Item::Bytes(text)))) => stat.value = StatValue::Text(faults.text(text, max_text_bytes)),
                Ok(Some((6 | 8, Item::Bytes(bytes)))) => stat.value = StatValue::Bytes(bytes.len() as u64),
                Ok(Some((7, Item::Varint(name)))) => stat.value = StatValue::Reference(name),
                Ok(Some(_)) => {}
                Ok(None) => return stat,
                Err(Broken::Cut | Broken::Invalid) => {
                    faults.broken_fields += 1;
                    return stat;
                }
            }
        }
    }

    pub(super) fn into_owned(self) -> Stat<'static> {
        let value = match self.value {
            StatValue::Text(text) => StatValue::Text(Cow::Owned(text.into_owned())),
            StatValue::None => StatValue::None,
            StatValue::Float(value) => StatValue::Float(value),
            StatValue::Unsigned(value) => StatValue::Unsigned(value),
            StatValue::Signed(value) => StatValue::Signed(value),
            StatValue::Bytes(length) => StatValue::Bytes(length),
            StatValue::Reference(name) => StatValue::Reference(name),
        };
        Stat { key: self.key, value }
    }
}

/// What events of one kind have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EventKind {
    pub name: String,
    pub display_name: String,
    pub stats: Vec<Stat<'static>>,
    /// Bytes of the description that comes with it.
    pub described_bytes: u64,
}

/// The maps of a plane. Numbers of a file are keys, never places.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub event_kinds: HashMap<i64, EventKind>,
    pub stat_names: HashMap<i64, String>,
    /// Stats of the plane as a whole.
    pub stats: Vec<Stat<'static>>,
}

impl Metadata {
    /// The name of a stat; its number where the file has none.
    pub(super) fn stat_name(&self, key: i64) -> Cow<'_, str> {
        self.stat_names.get(&key).map_or_else(|| Cow::Owned(key.to_string()), |name| Cow::Borrowed(name.as_str()))
    }

    /// The text that a stat refers to.
    pub(super) fn referred(&self, name: u64) -> Option<&str> {
        i64::try_from(name).ok().and_then(|name| self.stat_names.get(&name)).map(String::as_str)
    }

    /// The text of a stat.
    pub(super) fn text<'s>(&'s self, value: &'s StatValue<'_>) -> Option<&'s str> {
        match value {
            StatValue::Text(text) => Some(text),
            StatValue::Reference(name) => self.referred(*name),
            _ => None,
        }
    }

    /// The value of a stat of the plane; the last one of several.
    pub(super) fn of_plane(&self, name: &str) -> Option<&StatValue<'static>> {
        self.stats.iter().rev().find(|stat| self.stat_name(stat.key) == name).map(|stat| &stat.value)
    }
}

impl StatValue<'_> {
    /// The integer, if it is one that fits.
    pub(super) fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Signed(value) => Some(value),
            Self::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub(super) fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Float(value) => Some(value),
            Self::Signed(value) => Some(value as f64),
            Self::Unsigned(value) => Some(value as f64),
            _ => None,
        }
    }
}
