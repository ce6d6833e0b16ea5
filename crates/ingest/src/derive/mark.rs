//! A mark that may be a step, and what it says of itself.

use super::stream::Span;
use crate::spill::strings::Strings;

/// A step as the host marked it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub start: i64,
    pub end: i64,
    pub name: String,
}

/// An argument without a column, as its JSON text.
pub(super) fn argument(span: &Span<'_>, key: &str, strings: &Strings) -> Option<String> {
    let rest = strings.resolve(span.record.head.rest?, span.record.texts);
    let arguments: serde_json::Value = serde_json::from_str(rest).ok()?;
    arguments.get(key).map(serde_json::Value::to_string)
}
