//! The name of a pack: where it lies in a store, and what it holds, known without reading it.
//!
//! ```text
//! runs/<run>/in/<hour>/<shard>/<rank>.<window>.<key>.<depth>.pack
//! ```
//! A name depends on the recording alone, so that a host may upload it twice and nobody has to hand out numbers.

use std::hash::Hasher;
use std::time::{Duration, UNIX_EPOCH};

use stepscope_model::{SourceId, SourceRecord};
use twox_hash::{XxHash3_64, XxHash3_128};

use super::Depth;
use crate::layout;

/// The hour of recordings whose times are not those of a clock.
pub const NO_HOUR: &str = "0";

/// Folders that the packs of an hour are spread over, so that as many listings can run at once.
pub(super) const SHARDS: u64 = 16;

/// Length of an hour such as `2026-11-16T05`.
const HOUR_LETTERS: usize = 13;

/// Digits of a hash.
const HASH_DIGITS: usize = 32;

/// The last hour that has a year of four digits, in seconds since 1970.
const LAST_HOUR_SECONDS: u64 = 253_402_297_200;

/// Which pack of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackName {
    /// Hour of the recording's last event in UTC, such as `2026-11-16T05`; [`NO_HOUR`] without a clock.
    pub hour: String,
    /// Rank and window.
    pub id: SourceId,
    /// Hash of the trace and of the versions that it was read with: equal packs have equal keys.
    pub key: u128,
    /// How much of the source it has.
    pub depth: Depth,
}

impl PackName {
    /// The name of a source.
    #[must_use]
    pub fn of(record: &SourceRecord, depth: Depth) -> Self {
        let mut hasher = XxHash3_128::with_seed(0);
        hasher.write(record.digest.as_bytes());
        hasher.write(&record.schema_version.to_le_bytes());
        hasher.write(&record.derivation_version.to_le_bytes());
        Self { hour: hour_of(record), id: record.id, key: hasher.finish_128(), depth }
    }

    /// Where it lies in a store.
    #[must_use]
    pub fn object_key(&self, run: &str) -> String {
        let Self { hour, id: SourceId { rank, window }, key, depth } = self;
        let (folder, shard, depth) = (packs_folder(run), shard_of(self.id), depth.as_text());
        format!("{folder}/{hour}/{shard:x}/{rank}.{window}.{key:032x}.{depth}.pack")
    }

    /// The run and the name of an object; `None` for what is not a pack. Only the one spelling that Stepscope writes
    /// counts, so that no pack has two names. To open a fleet, thousands are read: none is written out to compare it.
    #[must_use]
    pub fn parse(object_key: &str) -> Option<(String, Self)> {
        let rest = object_key.strip_prefix("runs/")?;
        let (run, rest) = rest.split_once("/in/")?;
        let (hour, rest) = rest.split_once('/')?;
        let (shard, file) = rest.split_once('/')?;
        let parts: Vec<&str> = file.strip_suffix(".pack")?.split('.').collect();
        let &[rank, window, key, depth] = &parts[..] else { return None };
        let (id, key) = (SourceId { rank: number(rank)?, window: number(window)? }, hash(key)?);
        let is_in_its_folder = layout::run_folder_name(run) == run
            && is_hour(hour)
            && shard.chars().eq(char::from_digit(shard_of(id) as u32, 16));
        let name = Self { hour: hour.to_owned(), id, key, depth: Depth::from_text(depth)? };
        is_in_its_folder.then(|| (run.to_owned(), name))
    }
}

/// A number without a sign and zeros before it.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|letter| letter.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// A hash as it is written: every digit, in small letters.
fn hash(text: &str) -> Option<u128> {
    let is_whole = text.len() == HASH_DIGITS && text.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'));
    u128::from_str_radix(text, 16).ok().filter(|_| is_whole)
}

/// The folder of a run's packs.
#[must_use]
pub fn packs_folder(run: &str) -> String {
    format!("runs/{}/in", layout::run_folder_name(run))
}

fn shard_of(id: SourceId) -> u64 {
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(&id.rank.to_le_bytes());
    hasher.write(&id.window.to_le_bytes());
    hasher.finish() % SHARDS
}

fn hour_of(record: &SourceRecord) -> String {
    // Without a base the times of a trace may count from anything.
    let last_ns = record.last_event_ns.filter(|_| record.base_time_ns != 0);
    last_ns.and_then(hour_at).unwrap_or_else(|| NO_HOUR.to_owned())
}

/// The hour of a time since 1970, such as `2026-11-16T05`; hours sort like times. `None` outside of 1970 to 9999.
#[must_use]
pub fn hour_at(ns: i64) -> Option<String> {
    let seconds = u64::try_from(ns.div_euclid(1_000_000_000)).ok().filter(|seconds| *seconds <= LAST_HOUR_SECONDS)?;
    let moment = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
    Some(moment[..HOUR_LETTERS].to_owned())
}

/// Whether a folder of packs has the name of an hour, or is that of packs without one.
#[must_use]
pub fn is_hour(text: &str) -> bool {
    let fits = |(at, letter): (usize, u8)| match at {
        4 | 7 => letter == b'-',
        10 => letter == b'T',
        _ => letter.is_ascii_digit(),
    };
    text == NO_HOUR || (text.len() == HOUR_LETTERS && text.bytes().enumerate().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_in_no_other_spelling() {
        let id = SourceId { rank: 12, window: 40 };
        let name = PackName { hour: "2026-11-16T05".to_owned(), id, key: 0xabc, depth: Depth::Sums };
        let key = name.object_key("my run");
        assert_eq!(key, "runs/my_run/in/2026-11-16T05/9/12.40.00000000000000000000000000000abc.sums.pack");
        assert_eq!(PackName::parse(&key), Some(("my_run".to_owned(), name.clone())));
        for (from, to) in [
            ("/12.40", "/012.40"),
            ("/12.40", "/+12.40"),
            ("/12.40", "/12.040"),
            ("/12.40", "/12."),
            ("/12.40", "/4294967296.40"),
            ("abc", "ABC"),
            (".0000", ".000"),
            (".0000", ".+000"),
            ("/9/", "/09/"),
            ("/9/", "//"),
            (".sums", ".some"),
            (".pack", ".pac"),
            ("/9/", "/1/"),
            ("T05", "T5"),
            ("2026-11", "2026/11"),
            ("my_run", "my run"),
            ("runs/", "run/"),
            ("/in/", "/out/"),
        ] {
            assert_eq!(PackName::parse(&key.replace(from, to)), None, "{to}");
        }
        let timeless = PackName { hour: NO_HOUR.to_owned(), ..name };
        assert_eq!(PackName::parse(&timeless.object_key("r")), Some(("r".to_owned(), timeless.clone())));
        // Shards are digits beyond 9 too.
        for rank in 0..64 {
            let name = PackName { id: SourceId { rank, window: 0 }, ..timeless.clone() };
            assert_eq!(PackName::parse(&name.object_key("r")), Some(("r".to_owned(), name)));
        }
    }
}
