//! Values as most of them are, scanned in few steps.
//!
//! What these functions give is what the `Scanner` would say; they give nothing where it has more to look at.
#![expect(clippy::inline_always, reason = "calls for each value of a trace are a good part of the time")]

use super::eight_bytes::{plain_string_length, short_strict_string_length};
use super::scan::ScanLimits;
use super::slot::{Slot, SlotKind};
use super::word::number_length;

/// What most values are: a string without escapes, or a number. Gives it, and where it ends, if `bytes` has one
/// at `at`.
#[inline(always)]
pub(super) fn usual_value(bytes: &[u8], at: usize, limits: ScanLimits) -> Option<(Slot, usize)> {
    let rest = bytes.get(at..)?;
    if rest.first() == Some(&b'"') {
        let length = plain_string_length(&rest[1..]).filter(|&length| length <= limits.max_string_bytes)?;
        let start = at + 1;
        return Some((Slot::new(SlotKind::Plain, start, start + length), start + length + 1));
    }
    let length = usual_number_length(rest)?;
    Some((Slot::new(SlotKind::Number, at, at + length), at + length))
}

/// The list that `bytes` has at `at`, inside `depth` arrays and objects, if it is as most are: numbers, short strings
/// and lists, with a comma and at most a space between them, all of it valid JSON.
pub(super) fn usual_list(bytes: &[u8], at: usize, depth: usize, limits: ScanLimits) -> Option<(Slot, usize)> {
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    let mut end = at;
    let mut open = 0;
    loop {
        let rest = bytes.get(end..)?;
        match rest.first()? {
            b'[' => {
                open += 1;
                end += 1;
                if depth + open > limits.max_depth {
                    return None;
                }
                if bytes.get(end) != Some(&b']') {
                    continue;
                }
            }
            b'"' => {
                let length =
                    short_strict_string_length(&rest[1..]).filter(|&length| length <= limits.max_string_bytes)?;
                end += length + 2;
            }
            _ => end += usual_number_length(rest)?,
        }
        while bytes.get(end) == Some(&b']') {
            open -= 1;
            end += 1;
            if open == 0 {
                return Some((Slot::new(SlotKind::Json, at, end), end));
            }
        }
        match bytes.get(end..)? {
            [b',', b' ', ..] => end += 2,
            [b',', ..] => end += 1,
            _ => return None,
        }
    }
}

/// Length of the number at the start of `bytes`, if something follows it that may follow a number.
#[inline(always)]
fn usual_number_length(bytes: &[u8]) -> Option<usize> {
    let length = number_length(bytes)?;
    matches!(bytes.get(length), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')).then_some(length)
}

#[cfg(test)]
mod tests {
    use stepscope_testkit::Random;

    use super::{usual_list, usual_value};
    use crate::chrome::scan::{ScanLimits, Scanner};
    use crate::chrome::slot::Slot;

    const LIMITS: ScanLimits = ScanLimits { max_depth: 4, max_string_bytes: 50 };

    fn scanned(text: &str, depth: usize) -> Option<(Slot, usize)> {
        let mut scanner = Scanner::new(text, LIMITS, false);
        let slot = scanner.any_value(depth).ok().filter(|_| !scanner.saw_bad_value)?;
        Some((slot, scanner.pos))
    }

    #[test]
    fn usual_values_are_what_the_scanner_says() {
        let pieces = [
            "[",
            "[",
            "[",
            "]",
            "]",
            "]",
            ", ",
            ", ",
            ",",
            "1",
            "23",
            "-4.5",
            "0",
            "01",
            "1e5",
            "\"a\"",
            "\"\"",
            "\"b c\"",
            "\"\\n\"",
            "\"\n\"",
            " ",
            "null",
            "{}",
            ":",
            "\"a text of more than thirty-two bytes, and more\"",
            "\"a text of more than fifty bytes, which is the limit here\"",
        ];
        let mut random = Random::new(9);
        let mut usual = 0;
        for _ in 0..300_000 {
            let count = 1 + random.below(9);
            let text: String = (0..count).map(|_| pieces[random.below(pieces.len())]).collect();
            // Room behind it, as in a trace.
            let text = text + ", \"a\": 1}, {\"ph\": \"X\", \"cat\": \"cpu_op\"}";
            for depth in 0..3 {
                let found = usual_value(text.as_bytes(), 0, LIMITS);
                let found = found.or_else(|| usual_list(text.as_bytes(), 0, depth, LIMITS));
                if found.is_some() {
                    assert_eq!(found, scanned(&text, depth), "{text}");
                    usual += 1;
                }
            }
        }
        assert!(usual > 50_000, "{usual}");
    }
}
