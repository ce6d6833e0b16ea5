//! Process and thread ids: a decimal string is the same id as the integer, anything else stays text.

use std::borrow::Cow;

use stepscope_formats::Value;

/// The canonical text of an id; `None` when the event has none. Integers lose leading zeros, so that `"007"` is `7`.
pub(crate) fn canonical<'a>(value: &'a Value<'_>) -> Option<Cow<'a, str>> {
    match value {
        Value::Missing | Value::Null => None,
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Value::Number(text) => Some(decimal(text)),
        Value::Text(text) => Some(decimal(text)),
        Value::Json(text) => Some(Cow::Borrowed(text)),
    }
}

/// The integer behind a canonical id.
pub(crate) fn integer(id: &str) -> Option<i64> {
    // `parse` takes a plus sign, which no id that is an integer has.
    if id.starts_with('+') { None } else { id.parse().ok() }
}

/// The integer that a text ends with: 7 for `stream 7`.
pub(crate) fn trailing_integer(id: &str) -> Option<i64> {
    let id = id.trim_end();
    let digits = id.len() - id.bytes().rev().take_while(u8::is_ascii_digit).count();
    let start = if digits > 0 && id.as_bytes()[digits - 1] == b'-' { digits - 1 } else { digits };
    id[start..].parse().ok()
}

fn decimal(text: &str) -> Cow<'_, str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        Cow::Borrowed("0")
    } else if significant.len() == digits.len() {
        Cow::Borrowed(text)
    } else if text.starts_with('-') {
        Cow::Owned(format!("-{significant}"))
    } else {
        Cow::Borrowed(significant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &Value<'_>, want: Option<&str>) {
        assert_eq!(canonical(value).as_deref(), want, "{value:?}");
    }

    #[test]
    fn decimal_strings_equal_integers() {
        check(&Value::Number("25738"), Some("25738"));
        check(&Value::Text("25738".into()), Some("25738"));
        check(&Value::Text("-0012".into()), Some("-12"));
        check(&Value::Text("-0".into()), Some("0"));
        check(&Value::Text("stream 7".into()), Some("stream 7"));
        check(&Value::Text(String::new().into()), Some(""));
        check(&Value::Missing, None);
    }

    #[test]
    fn streams_come_from_the_end_of_the_thread() {
        for (text, want) in
            [("stream 7", Some(7)), ("7", Some(7)), ("a-3 ", Some(-3)), ("Spans", None), ("", None), ("-", None)]
        {
            assert_eq!(trailing_integer(text), want, "{text:?}");
        }
    }
}
