//! Looks at eight bytes at once. Most strings and numbers of a trace are short: this is faster for them than looking
//! at each byte, and than calling a vector search.
#![expect(clippy::inline_always, reason = "calls for each value of a trace are a good part of the time")]

use memchr::memchr2;

/// 1 in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of each byte of a word.
const HIGHS: u64 = ONES << 7;

/// A byte in each byte of a word.
const QUOTES: u64 = ONES * 0x22;
const BACKSLASHES: u64 = ONES * 0x5c;
const ZEROS: u64 = ONES * 0x30;

/// Bytes that are looked at before a vector search takes over.
const NEAR_BYTES: usize = 32;

/// Where the first quote or backslash of `bytes` is.
#[inline(always)]
pub(crate) fn find_quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    find_near(bytes, quotes_and_backslashes).or_else(|| find_far(bytes))
}

/// The same when it is not near.
#[inline(never)]
fn find_far(bytes: &[u8]) -> Option<usize> {
    let start = if bytes.len() < NEAR_BYTES { 0 } else { NEAR_BYTES };
    memchr2(b'"', b'\\', &bytes[start..]).map(|at| start + at)
}

/// Length of the string whose inside `bytes` begins with, if it has no escapes.
#[inline(always)]
pub(crate) fn plain_string_length(bytes: &[u8]) -> Option<usize> {
    find_quote_or_backslash(bytes).filter(|&at| bytes[at] == b'"')
}

/// The same for a short string without control characters.
#[inline(always)]
pub(crate) fn short_strict_string_length(bytes: &[u8]) -> Option<usize> {
    find_near(bytes, |word| quotes_and_backslashes(word) | controls(word)).filter(|&at| bytes[at] == b'"')
}

/// The first byte that is marked, if it is near, and `bytes` go on behind that.
#[inline(always)]
fn find_near(bytes: &[u8], mark: impl Fn(u64) -> u64) -> Option<usize> {
    let near = bytes.first_chunk::<NEAR_BYTES>()?;
    for (index, chunk) in near.as_chunks::<8>().0.iter().enumerate() {
        let marks = mark(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return Some(index * 8 + first_marked(marks));
        }
    }
    None
}

/// Where the digits end that `bytes` has from `at` on.
#[inline(always)]
pub(crate) fn digits_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(chunk) = bytes.get(end..).and_then(|rest| rest.first_chunk::<8>()) {
        let others = bytes_that_are_no_digits(u64::from_le_bytes(*chunk));
        if others != 0 {
            return end + first_marked(others);
        }
        end += 8;
    }
    end + bytes.get(end..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether a control character is among `bytes`.
#[inline]
pub(crate) fn has_control(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let seen = chunks.iter().fold(0, |seen, chunk| seen | controls(u64::from_le_bytes(*chunk)));
    seen != 0 || rest.iter().any(|&byte| byte < 0x20)
}

/// The number that the digits `bytes` are; wraps when they are too many.
#[inline]
pub(crate) fn number_of_digits(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let whole = chunks.iter().fold(0_u64, |number, &chunk| {
        number.wrapping_mul(100_000_000).wrapping_add(number_of_eight_digits(u64::from_le_bytes(chunk)))
    });
    rest.iter().fold(whole, |number, &byte| number.wrapping_mul(10).wrapping_add(u64::from(byte & 0x0f)))
}

/// Joins neighboring digits to numbers below a hundred, these to numbers below ten thousand, and these to one.
#[inline]
fn number_of_eight_digits(word: u64) -> u64 {
    let digits = word & (ONES * 0x0f);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

// Each of these marks bytes by their highest bit. Behind the first byte that is marked, others may be so in error.

#[inline]
fn quotes_and_backslashes(word: u64) -> u64 {
    below(word ^ QUOTES, 1) | below(word ^ BACKSLASHES, 1)
}

#[inline]
fn controls(word: u64) -> u64 {
    below(word, 0x20)
}

/// Marks the bytes that are below `limit`.
#[inline]
fn below(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit) & !word & HIGHS
}

/// The highest bit of each byte that is no digit.
#[inline]
fn bytes_that_are_no_digits(word: u64) -> u64 {
    let distance = word ^ ZEROS;
    (((distance & !HIGHS) + ONES * (0x80 - 10)) | distance) & HIGHS
}

/// The first byte that is marked by its highest bit.
#[inline]
fn first_marked(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::{digits_end, find_quote_or_backslash, has_control, number_of_digits};

    #[test]
    fn quotes_are_found_anywhere() {
        for length in 0..80 {
            let mut bytes = vec![b'!'; length];
            assert_eq!(find_quote_or_backslash(&bytes), None);
            for at in 0..length {
                for byte in [b'"', b'\\'] {
                    bytes[at] = byte;
                    assert_eq!(find_quote_or_backslash(&bytes), Some(at), "{length}");
                }
                bytes[at] = b'#';
            }
        }
    }

    #[test]
    fn any_byte_is_told_from_digits_and_controls() {
        for byte in 0..=u8::MAX {
            for length in 1..20 {
                for at in 0..length {
                    let mut bytes = vec![b'9'; length];
                    bytes[at] = byte;
                    let want = if byte.is_ascii_digit() { length } else { at };
                    assert_eq!(digits_end(&bytes, 0), want, "{byte} at {at} of {length}");
                    assert_eq!(digits_end(&bytes, at), want, "{byte} at {at} of {length}");
                    assert_eq!(has_control(&bytes), byte < 0x20, "{byte} at {at} of {length}");
                }
            }
        }
        assert_eq!((digits_end(b"12", 2), digits_end(b"12", 3)), (2, 3));
    }

    #[test]
    fn numbers_of_any_length() {
        for text in ["", "0", "7", "12345678", "123456789", "00000001", "1234567890123456", "18446744073709551615"] {
            assert_eq!(number_of_digits(text.as_bytes()), text.parse().unwrap_or(0), "{text}");
        }
    }
}
