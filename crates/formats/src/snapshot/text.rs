//! Texts of pickles: UTF-8, or the escapes of protocol 0.

use std::borrow::Cow;

/// A text in UTF-8, as protocols 1 and later write it; `true` if it is not valid and holds replacement characters.
pub(super) fn from_utf8(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let is_invalid = matches!(text, Cow::Owned(_));
    (text, is_invalid)
}

/// Every byte is the character of that number.
pub(super) fn from_latin_1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// The line of `UNICODE`: characters beyond Latin-1, backslashes and ends of lines are `\uXXXX` or `\UXXXXXXXX`.
pub(super) fn from_unicode_escape(line: &[u8]) -> (Cow<'_, str>, bool) {
    unescape(line, |code| match code {
        b'u' => Some(4),
        b'U' => Some(8),
        _ => None,
    })
}

/// What is between the quotes of `STRING`.
pub(super) fn from_string_escape(line: &[u8]) -> (Cow<'_, str>, bool) {
    unescape(line, |code| (code == b'x').then_some(2))
}

/// Replaces escapes; `hex_digits` says how many digits follow a letter. A number that is no character is replaced.
fn unescape(line: &[u8], hex_digits: impl Fn(u8) -> Option<usize>) -> (Cow<'_, str>, bool) {
    if !line.contains(&b'\\') {
        return (from_latin_1(line), false);
    }
    let (mut text, mut is_invalid, mut at) = (String::with_capacity(line.len()), false, 0);
    while let Some(&byte) = line.get(at) {
        at += 1;
        let code = line.get(at).copied().filter(|_| byte == b'\\');
        if let Some(length) = code.and_then(&hex_digits) {
            let digits = line.get(at + 1..at + 1 + length).and_then(|digits| std::str::from_utf8(digits).ok());
            if let Some(number) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                let letter = char::from_u32(number);
                is_invalid |= letter.is_none();
                text.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
                at += 1 + length;
                continue;
            }
        }
        let short = code.filter(|_| hex_digits(b'x').is_some()).and_then(short_escape);
        at += usize::from(short.is_some());
        text.push(short.unwrap_or(char::from(byte)));
    }
    (Cow::Owned(text), is_invalid)
}

fn short_escape(code: u8) -> Option<char> {
    Some(match code {
        b'\\' | b'\'' | b'"' => char::from(code),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(from_unicode_escape(b"a\\u0394b\\u005cn\\U0001f600\xe9"), ("aΔb\\n😀é".into(), false));
        assert_eq!(from_unicode_escape(b"\\ud800 \\u12"), ("\u{FFFD} \\u12".into(), true));
        assert_eq!(from_string_escape(b"a\\'b\\x41\\\\n\\q\xe9"), ("a'bA\\n\\qé".into(), false));
        assert!(from_utf8(b"\xed\xa0\x80").1);
        assert_eq!(from_latin_1(b"plain"), "plain");
    }
}
