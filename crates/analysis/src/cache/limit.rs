//! `STEPSCOPE_CACHE_LIMIT`: how large the cache may grow.

use crate::error::AnalysisError;

/// 20 GB.
pub(super) const DEFAULT_BYTES: u64 = 20_000_000_000;

/// `500MB`, `5GB`, `2GiB`, `1000000`: as disks are sold, so a GB is 10⁹ bytes; a GiB is 2³⁰.
pub(super) fn parse(text: &str) -> Result<u64, AnalysisError> {
    let refuse = || AnalysisError::CacheLimit { value: text.to_owned() };
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.trim().parse().map_err(|_| refuse())?;
    let factor: u64 = match trimmed[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(refuse()),
    };
    number.checked_mul(factor).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let check = |text: &str, want: Option<u64>| assert_eq!(parse(text).ok(), want, "{text}");
        check("5GB", Some(5_000_000_000));
        check("2 GiB", Some(2 << 30));
        check("100m", Some(100_000_000));
        check("0", Some(0));
        check("much", None);
        check("-1", None);
        check("5XB", None);
        check("99999999999TB", None);
    }
}
