//! Decimal numbers as they are written, without a float in between.

/// A number with a fixed count of decimal places: `12.50` is 1250 units with two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// The digits without their point.
    pub(crate) units: i128,
    /// How many of them stand behind the point.
    pub(crate) places: u32,
}

/// Places that all numbers of a trace fit in.
const COMMON_PLACES: u32 = 12;

impl Decimal {
    /// Reads `-12.50`; `None` for exponents and for what is no number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fits = fraction.len() <= COMMON_PLACES as usize && whole.len() <= 20;
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || !fits {
            return None;
        }
        let units: i128 = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { units: sign * units, places: fraction.len() as u32 })
    }

    /// Units with twelve places, so that numbers of different places can be added and compared.
    pub(crate) fn common_units(self) -> i128 {
        self.units * 10_i128.pow(COMMON_PLACES - self.places)
    }

    /// The whole part of a number in common units.
    pub(crate) fn whole(common_units: i128) -> i128 {
        common_units / 10_i128.pow(COMMON_PLACES)
    }
}

/// Appends units with their decimal point.
pub(crate) fn push(out: &mut Vec<u8>, units: i64, places: u32) {
    let mut digits = [b'0'; 40];
    let mut at = digits.len();
    let mut rest = units.unsigned_abs();
    let mut written = 0;
    loop {
        if places > 0 && written == places {
            at -= 1;
            digits[at] = b'.';
        }
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
        if rest == 0 && written > places {
            break;
        }
    }
    if units < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::{Decimal, push};

    #[test]
    fn what_is_read_is_written() {
        for text in ["0", "7", "-7", "12.50", "-0.5", "0.001", "1661203463586753.125", "9007199254740993"] {
            let number = Decimal::parse(text).unwrap();
            let mut out = Vec::new();
            push(&mut out, i64::try_from(number.units).unwrap(), number.places);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        for text in ["", "-", "1e3", "soon", ".5", "\"1\""] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::whole(Decimal::parse("12.75").unwrap().common_units()), 12);
    }
}
