//! Integers of pickles: most fit into 64 bits, and the others are kept as their decimal digits.

/// Bytes of a binary integer.
pub(super) const MAX_BYTES: usize = 32;

/// Digits of an integer in text.
pub(super) const MAX_DIGITS: usize = 80;

/// An integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Integer {
    Small(i64),
    /// Its decimal digits, with a sign if it is negative.
    Large(String),
}

/// The integer of these bytes, the lowest first, in two's complement.
pub(super) fn from_bytes(bytes: &[u8]) -> Integer {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let filler = if is_negative { 0xff } else { 0 };
    if bytes.len() <= 8 {
        let mut eight = [filler; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        return Integer::Small(i64::from_le_bytes(eight));
    }
    let mut wide = [filler; MAX_BYTES];
    let length = bytes.len().min(MAX_BYTES);
    wide[..length].copy_from_slice(&bytes[..length]);
    if wide[8..].iter().all(|&byte| byte == filler) && (wide[7] ^ filler) & 0x80 == 0 {
        return from_bytes(&wide[..8]);
    }
    if is_negative {
        negate(&mut wide);
    }
    let mut digits = Vec::new();
    while wide.iter().any(|&byte| byte != 0) {
        digits.push(b'0' + divide_by_ten(&mut wide));
    }
    digits.extend(is_negative.then_some(b'-'));
    Integer::Large(digits.into_iter().rev().map(char::from).collect())
}

/// The integer that a line is, if it is one.
pub(super) fn from_text(line: &[u8]) -> Option<Integer> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if let Ok(number) = text.parse() {
        return Some(Integer::Small(number));
    }
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => ("-", digits),
        [b'+', digits @ ..] | digits => ("", digits),
    };
    let is_number = !digits.is_empty() && digits.len() <= MAX_DIGITS && digits.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(digits).ok()?.trim_start_matches('0');
    is_number.then(|| Integer::Large(format!("{sign}{digits}")))
}

fn negate(wide: &mut [u8; MAX_BYTES]) {
    let mut carry = true;
    for byte in wide {
        (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
    }
}

/// Divides; gives the remainder.
fn divide_by_ten(wide: &mut [u8; MAX_BYTES]) -> u8 {
    let mut rest = 0;
    for byte in wide.iter_mut().rev() {
        let part = u16::from(rest) << 8 | u16::from(*byte);
        (*byte, rest) = ((part / 10) as u8, (part % 10) as u8);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size() {
        let large = |text: &str| Integer::Large(text.to_owned());
        let check = |bytes: &[u8], want: Integer| assert_eq!(from_bytes(bytes), want, "{bytes:?}");
        check(&[], Integer::Small(0));
        check(&[0xff], Integer::Small(-1));
        check(&[0xff, 0], Integer::Small(255));
        check(&i64::MIN.to_le_bytes(), Integer::Small(i64::MIN));
        check(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0xff], Integer::Small(i64::MIN));
        check(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0], large("9223372036854775808"));
        check(&[0xff; 32], Integer::Small(-1));
        check(&i128::MIN.to_le_bytes(), large(&i128::MIN.to_string()));
        check(
            &u64::MAX.to_le_bytes().map(|_| 0xff).iter().copied().chain([0]).collect::<Vec<_>>(),
            large("18446744073709551615"),
        );
    }

    #[test]
    fn integers_in_text() {
        assert_eq!(from_text(b"-12"), Some(Integer::Small(-12)));
        assert_eq!(from_text(b"18446744073709551615"), Some(Integer::Large("18446744073709551615".to_owned())));
        assert_eq!(from_text(b"-018446744073709551615"), Some(Integer::Large("-18446744073709551615".to_owned())));
        for wrong in ["", "-", "1x", "0x10", "1.0"] {
            assert_eq!(from_text(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
