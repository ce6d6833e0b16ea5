//! Contents of JSON strings: unescaping, and writing them so that strict readers take them.

use std::borrow::Cow;

use super::eight_bytes::has_control;

/// The text that `raw`, the inside of a JSON string, stands for.
///
/// Unpaired surrogates become U+FFFD; an escape that JSON does not know stays as it is written.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else { return Cow::Borrowed(raw) };
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..first]);
    for_each_piece(&raw[first..], |piece| match piece {
        Piece::Plain(text) | Piece::Unknown(text) => out.push_str(text),
        Piece::Escape(_, character) => out.push(character),
        Piece::Surrogate => out.push('\u{FFFD}'),
    });
    Cow::Owned(out)
}

/// Whether `raw`, the inside of a string, is the inside of a strictly valid JSON string.
pub(super) fn is_strict(raw: &str, has_escapes: bool) -> bool {
    if has_control(raw.as_bytes()) {
        return false;
    }
    if !has_escapes {
        return true;
    }
    let mut strict = true;
    for_each_piece(raw, |piece| match piece {
        Piece::Plain(text) => strict &= !text.contains('"'),
        Piece::Escape(..) => {}
        Piece::Surrogate | Piece::Unknown(_) => strict = false,
    });
    strict
}

/// Appends `raw`, the inside of a string, as a strictly valid JSON string with its quotes.
pub(super) fn push_strict(out: &mut String, raw: &str) {
    out.push('"');
    for_each_piece(raw, |piece| match piece {
        Piece::Plain(text) => push_plain(out, text),
        Piece::Escape(written, _) => out.push_str(written),
        Piece::Surrogate => out.push_str("\\ufffd"),
        Piece::Unknown(text) => {
            out.push_str("\\\\");
            push_plain(out, &text[1..]);
        }
    });
    out.push('"');
}

/// A part of the inside of a string.
enum Piece<'a> {
    /// Text without a backslash.
    Plain(&'a str),
    /// An escape, or two that form a pair, as written, and what it stands for.
    Escape(&'a str, char),
    /// Half of a pair.
    Surrogate,
    /// A backslash that begins no escape of JSON, with what follows it.
    Unknown(&'a str),
}

fn for_each_piece<'a>(raw: &'a str, mut take: impl FnMut(Piece<'a>)) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(at);
        if !plain.is_empty() {
            take(Piece::Plain(plain));
        }
        let (piece, length) = read_escape(escape);
        take(piece);
        rest = &escape[length..];
    }
    if !rest.is_empty() {
        take(Piece::Plain(rest));
    }
}

/// The escape that `text` begins with, and its length.
fn read_escape(text: &str) -> (Piece<'_>, usize) {
    let bytes = text.as_bytes();
    let short = |character| (Piece::Escape(&text[..2], character), 2);
    match bytes.get(1) {
        Some(b'"') => short('"'),
        Some(b'\\') => short('\\'),
        Some(b'/') => short('/'),
        Some(b'b') => short('\u{8}'),
        Some(b'f') => short('\u{c}'),
        Some(b'n') => short('\n'),
        Some(b'r') => short('\r'),
        Some(b't') => short('\t'),
        Some(b'u') => read_unicode(text),
        _ => (Piece::Unknown(&text[..1]), 1),
    }
}

fn read_unicode(text: &str) -> (Piece<'_>, usize) {
    let Some(unit) = hex_unit(text.as_bytes(), 2) else { return (Piece::Unknown(&text[..2]), 2) };
    if let Some(character) = char::from_u32(unit) {
        return (Piece::Escape(&text[..6], character), 6);
    }
    let low = if text.as_bytes().get(6..8) == Some(b"\\u") { hex_unit(text.as_bytes(), 8) } else { None };
    match low {
        Some(low @ 0xDC00..=0xDFFF) if unit < 0xDC00 => {
            let character = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
            (Piece::Escape(&text[..12], character.unwrap_or('\u{FFFD}')), 12)
        }
        _ => (Piece::Surrogate, 6),
    }
}

fn hex_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
}

/// Appends text whose control characters and quotes are not escaped yet.
fn push_plain(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                out.push_str("\\u00");
                out.push(if character < '\u{10}' { '0' } else { '1' });
                out.push(char::from_digit(u32::from(character) % 16, 16).unwrap_or('0'));
            }
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_strict, push_strict, unescape};

    #[track_caller]
    fn check(raw: &str, want: &str, want_strict: &str) {
        assert_eq!(unescape(raw), want, "{raw}");
        let mut strict = String::new();
        push_strict(&mut strict, raw);
        assert_eq!(strict, format!("\"{want_strict}\""), "{raw}");
        assert_eq!(is_strict(raw, true), raw == want_strict, "{raw}");
    }

    #[test]
    fn escapes() {
        check("plain", "plain", "plain");
        check(r#"a\"b\\c\/d"#, "a\"b\\c/d", r#"a\"b\\c\/d"#);
        check(r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t", r"\b\f\n\r\t");
        check(r"\u00e9\u20AC", "é€", r"\u00e9\u20AC");
        check(r"\ud83d\ude00!", "😀!", r"\ud83d\ude00!");
    }

    #[test]
    fn lone_surrogates_become_the_replacement() {
        check(r"\ud83d!", "\u{FFFD}!", r"\ufffd!");
        check(r"\ude00", "\u{FFFD}", r"\ufffd");
        check(r"\ud83d\ud83d\ude00", "\u{FFFD}😀", r"\ufffd\ud83d\ude00");
        check(r"\ud83d\n", "\u{FFFD}\n", r"\ufffd\n");
    }

    #[test]
    fn unknown_escapes_stay() {
        check(r"C:\xampp", r"C:\xampp", r"C:\\xampp");
        check(r"\u12", r"\u12", r"\\u12");
        check(r"\uzzzz", r"\uzzzz", r"\\uzzzz");
        check("\\é", "\\é", "\\\\é");
    }

    #[test]
    fn raw_control_characters_and_quotes() {
        check("a\nb\u{1}\u{1f}", "a\nb\u{1}\u{1f}", r"a\nb\u0001\u001f");
        check("say \"hi\"", "say \"hi\"", r#"say \"hi\""#);
    }
}
