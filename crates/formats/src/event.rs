//! An event of a trace, whatever its format, and its values.

use std::borrow::Cow;
use std::fmt;

use stepscope_model::{Kind, Phase};

/// One event, borrowed from the reader's buffer.
#[derive(Debug)]
pub struct Event<'a> {
    /// Place among the elements of the event list, from 0.
    pub position: u64,
    /// Where it starts in the plain bytes.
    pub offset_bytes: u64,
    /// What it marks; `None` when the trace says something else, or nothing.
    pub phase: Option<Phase>,
    /// The phase as it stands in the trace, for counts and warnings.
    pub recorded_phase: Value<'a>,
    /// What kind of work it stands for, in the words of the profiler.
    pub category: Value<'a>,
    /// The kind of work, where the format says more than its category does.
    pub kind: Option<Kind>,
    /// What it is called.
    pub name: Value<'a>,
    /// When it starts.
    pub start: Time<'a>,
    /// How long it takes.
    pub dur: Time<'a>,
    /// Number of the track that it is on, where the reader told of one; else process and thread say it.
    pub track: Option<u32>,
    /// Process or device that it is on.
    pub process: Value<'a>,
    /// Thread or stream of that process.
    pub thread: Value<'a>,
    /// What the ends of an arrow, and the events of an asynchronous span, have in common.
    pub id: Value<'a>,
    /// What else is known of it.
    pub args: Args<'a>,
    /// Events of one input with the same shape have the same keys in `args`, in the same order. A small number, dense
    /// from 0; most events of a profiler have one.
    pub shape: Option<u32>,
}

impl Event<'_> {
    /// An event of which nothing but its phase is known.
    #[must_use]
    pub fn of_phase(phase: Phase) -> Self {
        Self {
            position: 0,
            offset_bytes: 0,
            phase: Some(phase),
            recorded_phase: Value::Text(phase.as_text().into()),
            category: Value::Missing,
            kind: None,
            name: Value::Missing,
            start: Time::default(),
            dur: Time::default(),
            track: None,
            process: Value::Missing,
            thread: Value::Missing,
            id: Value::Missing,
            args: Args::default(),
            shape: None,
        }
    }
}

/// A time of an event; missing unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Time<'a> {
    /// Nanoseconds; `None` when it is missing, is not a time, or does not fit.
    pub ns: Option<i64>,
    /// What stands in the trace, for warnings; missing in formats that hold nanoseconds.
    pub recorded: Value<'a>,
}

impl Time<'_> {
    /// A time that the format holds in nanoseconds.
    #[must_use]
    pub fn of_ns(ns: i64) -> Self {
        Self { ns: Some(ns), recorded: Value::Missing }
    }
}

/// Arguments that a reader makes from its buffer when they are asked for. An index must be below `len`.
#[expect(clippy::len_without_is_empty, reason = "`Args` has it")]
pub trait LazyArgs {
    /// How many there are.
    fn len(&self) -> usize;

    /// The key of an argument.
    fn key(&self, index: usize) -> Cow<'_, str>;

    /// The value of an argument.
    fn value(&self, index: usize) -> Value<'_>;
}

/// The arguments of an event, in the order of the file; a key that comes twice is there twice, and the last one wins.
#[derive(Clone, Copy)]
pub struct Args<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Lazy(&'a dyn LazyArgs),
    Entries(&'a [(Cow<'a, str>, Value<'a>)]),
}

impl<'a> Args<'a> {
    /// Arguments that are values already.
    #[must_use]
    pub fn from_entries(entries: &'a [(Cow<'a, str>, Value<'a>)]) -> Self {
        Self(Source::Entries(entries))
    }

    /// Arguments that are made when they are asked for.
    #[must_use]
    pub fn from_lazy(args: &'a dyn LazyArgs) -> Self {
        Self(Source::Lazy(args))
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self.0 {
            Source::Lazy(args) => args.len(),
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
            Source::Lazy(args) => args.key(index),
            Source::Entries(entries) => Cow::Borrowed(&entries[index].0),
        }
    }

    /// The value of argument `index`, which must be below `len`.
    #[must_use]
    pub fn value(self, index: usize) -> Value<'a> {
        match self.0 {
            Source::Lazy(args) => args.value(index),
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
