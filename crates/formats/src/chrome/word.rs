//! Numbers and words of JSON, and what profilers write in their place.
#![expect(clippy::inline_always, reason = "calls for each value of a trace are a good part of the time")]

use super::eight_bytes::digits_end;
use super::slot::SlotKind;

/// Length of the JSON number at the start of `bytes`.
#[inline(always)]
pub(super) fn number_length(bytes: &[u8]) -> Option<usize> {
    let whole = usize::from(bytes.first() == Some(&b'-'));
    let mut at = digits_end(bytes, whole);
    if at == whole || (bytes[whole] == b'0' && at > whole + 1) {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits_end(bytes, fraction);
        if at == fraction {
            return None;
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) { exponent_end(bytes, at + 1) } else { Some(at) }
}

#[cold]
fn exponent_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = at + usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let end = digits_end(bytes, digits);
    (end > digits).then_some(end)
}

/// Whether `byte` cannot be part of a word.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[' | b' ' | b'\n' | b'\r' | b'\t')
}

/// What a word stands for.
pub(super) enum Word {
    /// A value of JSON.
    Is(SlotKind),
    /// No number of JSON, but meant as one.
    BadValue,
    /// Nothing known.
    Unknown,
}

/// What the word or number `word` stands for.
pub(super) fn word_kind(word: &[u8]) -> Word {
    match word {
        b"null" => return Word::Is(SlotKind::Null),
        b"true" => return Word::Is(SlotKind::True),
        b"false" => return Word::Is(SlotKind::False),
        _ if number_length(word) == Some(word.len()) => return Word::Is(SlotKind::Number),
        _ => {}
    }
    let unsigned = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"+")).unwrap_or(word);
    let names: [&[u8]; 5] = [b"nan", b"inf", b"infinity", b"nan(ind)", b"nan(snan)"];
    let is_not_finite = names.iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    let is_number_like = word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        && word.first().is_some_and(|byte| !byte.is_ascii_alphabetic());
    if is_not_finite || is_number_like { Word::BadValue } else { Word::Unknown }
}

#[cfg(test)]
mod tests {
    use super::{Word, word_kind};
    use crate::chrome::slot::SlotKind;

    #[test]
    fn words() {
        for number in ["0", "-0", "12", "1.5", "1e5", "1E-5", "-1.25e+7", "10159970886766084423"] {
            assert!(matches!(word_kind(number.as_bytes()), Word::Is(SlotKind::Number)), "{number}");
        }
        for bad in ["NaN", "-nan", "+inf", "Infinity", "01", "1.", ".5", "+1", "-", "1e", "1.2.3", "--1", "nan(ind)"] {
            assert!(matches!(word_kind(bad.as_bytes()), Word::BadValue), "{bad}");
        }
        for unknown in ["", "oops", "nul", "True", "e5", "1x", "0x10", "undefined"] {
            assert!(matches!(word_kind(unknown.as_bytes()), Word::Unknown), "{unknown}");
        }
    }
}
