//! What a reader says about a trace, whatever its format: header entries, events, and what was not right.

use std::borrow::Cow;

use stepscope_model::warning::WarningCode;

/// Takes what a reader finds, in the order of the file.
///
/// Every element of the event list arrives exactly once: as an `event`, or as a `warning` whose code is a loss.
pub trait TraceSink {
    /// An entry of the header, before or after the events; a later one of the same key replaces the earlier.
    fn header(&mut self, key: &str, value: &Value<'_>);

    /// One event.
    fn event(&mut self, event: &Event<'_>);

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
    /// `args`, in the order of the file; a key that comes twice is there twice, and the last one wins.
    pub args: &'a [(Cow<'a, str>, Value<'a>)],
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
    /// The integer, if it is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
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
