//! Sizes, ranks and steps as people write them: the command, the pages, Python and the environment read them alike.

use std::fmt;

/// Ranks that one list may name: a slip such as `0-4294967295` would take all memory.
const MOST_RANKS: usize = 100_000;

/// Steps by the numbers that the recording gives them (16 is `ProfilerStep#16`), else by their place from 0; both ends
/// included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRange {
    /// First step.
    pub first: u32,
    /// Last step.
    pub last: u32,
}

impl fmt::Display for StepRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{} to {}", self.first, self.last) }
    }
}

/// What was expected instead of a text. Whoever shows it names the argument and the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(&'static str);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl std::error::Error for Expected {}

/// The bytes of a size: `1500`, `512MiB`, `2 gb`. A GB is 10⁹ bytes, a GiB is 2³⁰.
pub fn size_bytes(text: &str) -> Result<u64, Expected> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = whole_number(digits).ok_or(Expected("a size such as 512MiB or 2GB"))?;
    let factor: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return Err(Expected("KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)")),
    };
    number.checked_mul(factor).ok_or(Expected("less than 2^64 bytes"))
}

/// The bytes of a size that something has to fit in.
pub fn limit_bytes(text: &str) -> Result<u64, Expected> {
    match size_bytes(text)? {
        0 => Err(Expected("more than 0")),
        bytes => Ok(bytes),
    }
}

/// The ranks of a list such as `0,2-4`.
pub fn ranks(text: &str) -> Result<Vec<u32>, Expected> {
    let mut ranks = Vec::new();
    for part in text.split(',') {
        let (first, last) = range(part, Expected("ranks such as 0 or 0,2-4"))?;
        if (last - first) as usize >= MOST_RANKS - ranks.len() {
            return Err(Expected("at most 100,000 ranks"));
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}

/// The steps of a text such as `3` or `2-5`.
pub fn steps(text: &str) -> Result<StepRange, Expected> {
    let (first, last) = range(text, Expected("a step such as 3, or steps such as 2-5"))?;
    Ok(StepRange { first, last })
}

fn range(text: &str, expected: Expected) -> Result<(u32, u32), Expected> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (whole_number(first).ok_or(expected)?, whole_number(last).ok_or(expected)?);
    if first > last { Err(Expected("the smaller number first")) } else { Ok((first, last)) }
}

/// Digits alone: the library would take a sign too.
fn whole_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What the tests of every way in read too.
    const CASES: &str = include_str!("../tests/arguments.json");

    #[test]
    fn every_case_has_its_meaning_or_its_sentence() {
        let cases: Value = serde_json::from_str(CASES).unwrap();
        let check = |kind: &str, read: fn(&str) -> Result<Value, Expected>| {
            let cases = cases[kind].as_array().unwrap();
            for case in cases {
                let text = case["text"].as_str().unwrap();
                match read(text) {
                    Ok(is) => assert_eq!(is, case["is"], "{kind}: {text}"),
                    Err(error) => assert_eq!(error.to_string(), case["error"], "{kind}: {text}"),
                }
            }
        };
        check("sizes", |text| size_bytes(text).map(|bytes| json!(bytes)));
        check("sizes", |text| limit_bytes(text).map(|bytes| json!(bytes)));
        check("limits", |text| limit_bytes(text).map(|bytes| json!(bytes)));
        check("ranks", |text| ranks(text).map(|ranks| json!(ranks)));
        check("steps", |text| steps(text).map(|steps| json!([steps.first, steps.last])));
    }

    #[test]
    fn nothing_is_a_size_and_no_limit() {
        assert_eq!(size_bytes("0 GB"), Ok(0));
    }
}
