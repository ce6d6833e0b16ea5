//! Which hours of packs to list: new packs come into few of them.

use std::time::Duration;

use stepscope_store::manifest::Manifest;
use stepscope_store::pack::{NO_HOUR, hour_at};

use super::options::nanoseconds;

/// After this time nobody looks for packs of an hour any more.
const SEALED_AFTER: Duration = Duration::from_hours(48);

/// How often all hours are listed that are not sealed.
const WIDE_EACH: Duration = Duration::from_hours(1);

/// Hours whose packs are in memory at once.
const HOURS_AT_ONCE: usize = 48;

/// Which hours a round lists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them.
    Everything,
    /// Those that are not sealed.
    From(String),
    /// The newest ones.
    Newest(String),
}

impl Scope {
    /// What to list now. The first round of a compactor, and of a run, looks further than those after it.
    pub(super) fn of(base: Option<&Manifest>, all: bool, listed_all_ns: Option<i64>, now_ns: i64) -> Self {
        let Some(base) = base.filter(|_| !all) else { return Self::Everything };
        let is_recent = listed_all_ns.is_some_and(|then| now_ns.saturating_sub(then) < nanoseconds(WIDE_EACH));
        if is_recent {
            // Of two newest hours; clocks that are ahead may have made others.
            return Self::Newest(before(now_ns, WIDE_EACH));
        }
        Self::From(base.sealed_before_hour.clone())
    }

    /// Whether all hours are listed that are not sealed.
    pub(super) fn is_wide(&self) -> bool {
        !matches!(self, Self::Newest(_))
    }

    /// The hours to list of those that are there, in groups that fit into memory. Hours come in order, and packs without
    /// an hour with the last of them.
    pub(super) fn hours(&self, mut there: Vec<String>) -> Vec<Vec<String>> {
        let first = match self {
            Self::Everything => "",
            Self::From(first) | Self::Newest(first) => first,
        };
        there.retain(|hour| is_hour(hour) && (hour == NO_HOUR || hour.as_str() >= first));
        there.sort_by_key(|hour| (hour == NO_HOUR, hour.clone()));
        there.chunks(HOURS_AT_ONCE).map(<[String]>::to_vec).collect()
    }

    /// The hour before which everything is sealed now, if that is news and anything was listed to know it. Hours in
    /// which packs wait for others stay open.
    pub(super) fn sealed(&self, base: &Manifest, pending_hour: Option<&str>, now_ns: i64) -> Option<String> {
        let sealed = before(now_ns, SEALED_AFTER);
        let sealed = pending_hour.map_or(sealed.clone(), |pending| sealed.min(pending.to_owned()));
        let is_far = base.sealed_before_hour < before(now_ns, SEALED_AFTER * 2);
        (self.is_wide() && is_far && sealed > base.sealed_before_hour).then_some(sealed)
    }
}

/// The hour that was so long ago.
pub(crate) fn before(now_ns: i64, ago: Duration) -> String {
    hour_at(now_ns.saturating_sub(nanoseconds(ago))).unwrap_or_else(|| "1970-01-01T00".to_owned())
}

/// Whether a folder of packs is an hour.
pub(crate) fn is_hour(name: &str) -> bool {
    stepscope_store::pack::is_hour(name)
}
