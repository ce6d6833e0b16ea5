//! What a reader says about a trace, whatever its format: header entries, events, and what was not right.

use std::borrow::Cow;
use std::fmt;

use stepscope_model::warning::WarningCode;

use crate::chrome::ScannedArgs;
use crate::function::FunctionTotals;

/// Takes what a reader finds, in the order of the file.
///
/// Every element of the event list arrives exactly once: as an `event`, or as a `warning` whose code is a loss. A profile
/// of functions has a list of these instead, whose elements arrive as a `function` or as a loss.
pub trait TraceSink {
    /// An entry of the header, before or after the events; a later one of the same key replaces the earlier.
    fn header(&mut self, key: &str, value: &Value<'_>);

    /// One event.
    fn event(&mut self, event: &Event<'_>);

    /// One function of a profile that adds up calls.
    fn function(&mut self, _function: &FunctionTotals) {}

    /// Something that was not right. A code that is a loss stands for one element of the event list.
    fn warning(&mut self, warning: &Warning<'_>);

    /// Called now and then with the plain bytes read so far; `false` stops reading.
    fn progress(&mut self, plain_bytes: u64) -> bool;
}

/// One event, borrowed from the reader's buffer.
#[derive(Debug)]
pub struct Event<'a> {
    /// Place among the elements of the event list, from 0.
    pub position: u64,
    /// Where it starts in the plain bytes.
    pub offset_bytes: u64,
    /// `ph`.
    pub phase: Value<'a>,
    /// `cat`.
    pub category: Value<'a>,
    /// `name`.
    pub name: Value<'a>,
    /// `ts`, in microseconds, as recorded.
    pub ts: Value<'a>,
    /// `dur`, in microseconds, as recorded.
    pub dur: Value<'a>,
    /// `pid`.
    pub process: Value<'a>,
    /// `tid`.
    pub thread: Value<'a>,
    /// `id`, or what `id2` holds.
    pub id: Value<'a>,
    /// `args`.
    pub args: Args<'a>,
    /// Events of one input with the same shape have the same keys in `args`, in the same order. A small number, dense
    /// from 0; most events of a profiler have one.
    pub shape: Option<u32>,
}

/// The arguments of an event, in the order of the file; a key that comes twice is there twice, and the last one wins.
///
/// Values are made from the reader's buffer when they are asked for.
#[derive(Clone, Copy)]
pub struct Args<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Scanned(ScannedArgs<'a>),
    Entries(&'a [(Cow<'a, str>, Value<'a>)]),
}

impl<'a> Args<'a> {
    /// Arguments that are values already.
    #[must_use]
    pub fn from_entries(entries: &'a [(Cow<'a, str>, Value<'a>)]) -> Self {
        Self(Source::Entries(entries))
    }

    pub(crate) fn from_scanned(scanned: ScannedArgs<'a>) -> Self {
        Self(Source::Scanned(scanned))
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self.0 {
            Source::Scanned(scanned) => scanned.len(),
            Source::Entries(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The key of argument `index`, which must be below `len`.
    #[must_use]
    pub fn key(self, index: usize) -> Cow<'a, str> {
        match self.0 {
            Source::Scanned(scanned) => scanned.key(index),
            Source::Entries(entries) => Cow::Borrowed(&entries[index].0),
        }
    }

    /// The value of argument `index`, which must be below `len`.
    #[must_use]
    pub fn value(self, index: usize) -> Value<'a> {
        match self.0 {
            Source::Scanned(scanned) => scanned.value(index),
            Source::Entries(entries) => entries[index].1.borrowed(),
        }
    }

    /// Keys and values, in the order of the file.
    #[must_use]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = (Cow<'a, str>, Value<'a>)> + ExactSizeIterator {
        (0..self.len()).map(move |index| (self.key(index), self.value(index)))
    }

    /// The value of `key`; the last one of several.
    #[must_use]
    pub fn last(self, key: &str) -> Option<Value<'a>> {
        (0..self.len()).rev().find(|&index| self.key(index) == key).map(|index| self.value(index))
    }
}

impl Default for Args<'_> {
    fn default() -> Self {
        Self::from_entries(&[])
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A value as it stands in the trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// The key is not there.
    #[default]
    Missing,
    /// `null`, or a value that could not be read and was counted as such.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as its text, so that no digit is lost.
    Number(&'a str),
    /// A string, unescaped.
    Text(Cow<'a, str>),
    /// An array or an object, as valid JSON text.
    Json(Cow<'a, str>),
}

impl Value<'_> {
    /// The same value without owning its text.
    #[must_use]
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Missing => Value::Missing,
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => Value::Number(text),
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Json(text) => Value::Json(Cow::Borrowed(text)),
        }
    }

    /// The integer, if it is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The integer, if it is one without a sign that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is a number without fraction and exponent, of any size.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Number(text) if text.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    }
}

/// Something that was not right with the input.
#[derive(Debug)]
pub struct Warning<'a> {
    /// What.
    pub code: WarningCode,
    /// Place of the element among the elements of the event list, when it is about one.
    pub position: Option<u64>,
    /// Where in the plain bytes.
    pub offset_bytes: u64,
    /// What was seen there; short.
    pub detail: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::{Args, Value};

    #[test]
    fn the_last_entry_of_a_key_wins() {
        let entries = [
            ("a".into(), Value::Number("1")),
            ("b".into(), Value::Text("x".into())),
            ("a".into(), Value::Json("[]".into())),
        ];
        let args = Args::from_entries(&entries);
        assert_eq!((args.len(), args.is_empty()), (3, false));
        assert_eq!(args.last("a"), Some(Value::Json("[]".into())));
        assert_eq!(args.last("c"), None);
        assert!(args.iter().eq(entries.iter().map(|(key, value)| (key.clone(), value.borrowed()))));
        assert!(Args::default().is_empty());
    }
}
