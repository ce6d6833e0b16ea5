//! Times without floating point: decimal microseconds become integer nanoseconds, exactly.

use super::eight_bytes::{digits_end, number_of_digits};
use super::slot::{Slot, SlotKind};
use crate::event::{Time, Value};

/// The time in a slot that is due to hold a decimal number of microseconds.
#[inline]
pub(super) fn time(slot: Slot, text: &str, is_lenient: bool) -> Time<'_> {
    match slot.kind() {
        SlotKind::Number => {
            let digits = slot.raw(text);
            Time { ns: microseconds_to_ns(digits), recorded: Value::Number(digits) }
        }
        SlotKind::Missing => Time::default(),
        _ => Time { ns: None, recorded: slot.value(text, is_lenient) },
    }
}

/// Nanoseconds in `text`, which is a decimal number of microseconds.
///
/// Digits past the third of the fraction round half away from zero. `None` when the text is not a number, or when the
/// result does not fit. Takes time by the length of the text, whatever its exponent.
#[inline]
fn microseconds_to_ns(text: &str) -> Option<i64> {
    usual_microseconds_to_ns(text.as_bytes()).or_else(|| any_microseconds_to_ns(text))
}

/// A time as profilers write it: up to sixteen digits, and up to three of a fraction.
#[inline]
fn usual_microseconds_to_ns(bytes: &[u8]) -> Option<i64> {
    let point = digits_end(bytes, 0);
    if point == 0 || point > 16 {
        return None;
    }
    let (whole, fraction) = bytes.split_at(point);
    let fraction_ns = match fraction {
        [] => 0,
        [b'.', a @ b'0'..=b'9'] => u64::from(a - b'0') * 100,
        [b'.', a @ b'0'..=b'9', b @ b'0'..=b'9'] => u64::from(a - b'0') * 100 + u64::from(b - b'0') * 10,
        [b'.', a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            u64::from(a - b'0') * 100 + u64::from(b - b'0') * 10 + u64::from(c - b'0')
        }
        _ => return None,
    };
    i64::try_from(number_of_digits(whole) * 1000 + fraction_ns).ok()
}

fn any_microseconds_to_ns(text: &str) -> Option<i64> {
    let decimal = Decimal::parse(text)?;
    let digits = decimal.digits().skip_while(|&digit| digit == 0);
    let digits_total = digits.clone().count() as i64;
    if digits_total == 0 {
        return Some(0);
    }
    let shift = decimal.exponent.saturating_sub(decimal.fraction.len() as i64).saturating_add(3);
    // How many digits stand before the point of the result; i64 holds no number of more than nineteen.
    let digits_whole = digits_total.saturating_add(shift);
    if digits_whole > 19 {
        return None;
    }
    if digits_whole < 0 {
        return Some(0);
    }
    let mut magnitude: i128 = 0;
    let mut digits = digits;
    for _ in 0..digits_whole {
        magnitude = magnitude * 10 + i128::from(digits.next().unwrap_or(0));
    }
    if digits.next().is_some_and(|digit| digit >= 5) {
        magnitude += 1;
    }
    i64::try_from(if decimal.is_negative { -magnitude } else { magnitude }).ok()
}

/// The parts of a decimal number.
struct Decimal<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (is_negative, rest) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (whole, rest) = take_digits(rest)?;
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => take_digits(rest)?,
            rest => (&rest[..0], rest),
        };
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => parse_exponent(rest)?,
            _ => return None,
        };
        Some(Self { is_negative, whole, fraction, exponent })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + Clone + 'a {
        self.whole.iter().chain(self.fraction).map(|&byte| byte - b'0')
    }
}

/// The digits at the start, of which there must be one, and what follows.
fn take_digits(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| bytes.split_at(count))
}

fn parse_exponent(bytes: &[u8]) -> Option<i64> {
    let (is_negative, rest) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (digits, []) = take_digits(rest)? else { return None };
    let size = digits.iter().fold(0_i64, |sum, &byte| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')));
    Some(if is_negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::{any_microseconds_to_ns, microseconds_to_ns};

    #[track_caller]
    fn check(text: &str, want: Option<i64>) {
        assert_eq!(microseconds_to_ns(text), want, "{text}");
        assert_eq!(any_microseconds_to_ns(text), want, "{text}");
    }

    #[test]
    fn exact_times() {
        check("0", Some(0));
        check("5", Some(5_000));
        check("-5", Some(-5_000));
        check("1.5", Some(1_500));
        check("1.234", Some(1_234));
        check("1711234567890123.457", Some(1_711_234_567_890_123_457));
        check("-0.001", Some(-1));
        check("000.5", Some(500));
        check("0.000", Some(0));
        check("-0", Some(0));
        check("9.8", Some(9_800));
        check("12345678.25", Some(12_345_678_250));
        check("0000000000000001.001", Some(1_001));
        check("00000000000000001.001", Some(1_001));
        check("9999999999999999.999", None);
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        check("0.0004", Some(0));
        check("0.0005", Some(1));
        check("-0.0005", Some(-1));
        check("0.00049999999999999999999999999", Some(0));
        check("1.2345", Some(1_235));
        check("1.2344999", Some(1_234));
        check("-1.2345", Some(-1_235));
        check("0.9999", Some(1_000));
        check("0.00005", Some(0));
    }

    #[test]
    fn exponents() {
        check("1e3", Some(1_000_000));
        check("1E+3", Some(1_000_000));
        check("1.5e-3", Some(2));
        check("15e-4", Some(2));
        check("1e-4", Some(0));
        check("123456e-3", Some(123_456));
        check("1e999999999", None);
        check("1e99999999999999999999999999", None);
        check("1e-999999999", Some(0));
        check("-1e-99999999999999999999999999", Some(0));
        check("0e999999999", Some(0));
        check("9e-4", Some(1));
    }

    #[test]
    fn range() {
        check("9223372036854775.807", Some(i64::MAX));
        check("9223372036854775.808", None);
        check("-9223372036854775.808", Some(i64::MIN));
        check("-9223372036854775.809", None);
        check("9223372036854775.8074", Some(i64::MAX));
        check("9223372036854775.8075", None);
        check("99999999999999999999", None);
        check(&format!("1{}", "0".repeat(100_000)), None);
        check(&format!("0.{}1", "0".repeat(100_000)), Some(0));
    }

    #[test]
    fn not_numbers() {
        for text in ["", "-", "+5", ".5", "5.", "1e", "1e+", "1x", "NaN", "0x10", " 5", "5 ", "1.2.3", "--5", "1e5.5"] {
            check(text, None);
        }
    }
}
