//! What the answers about an amplified trace must be: those about its source, times the number of copies.
//!
//! `expected.json` holds the answers about the sources themselves, which the tests of the project compare with oracles.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::fingerprint::Fingerprint;

const EXPECTED: &str = include_str!("../expected.json");

/// Tables whose rows are as many as the copies. `tracks` and `health` are not: copies share their threads and streams.
const SCALING_TABLES: [&str; 5] = ["spans", "flows", "counters", "memory_events", "steps"];

/// Columns that copies fill otherwise: sequence numbers repeat from copy to copy, so forward operators are found once.
const OTHERWISE: [&str; 1] = ["forward_id"];

/// Answers about the sources, by name.
pub(crate) struct Expected {
    sources: BTreeMap<String, Fingerprint>,
}

impl Expected {
    /// Those that were written down.
    pub(crate) fn load() -> Result<Self> {
        Ok(Self { sources: serde_json::from_str(EXPECTED).context("bench/expected.json")? })
    }

    /// What is wrong with the answers about that many copies of a source; nothing when all is as it must be.
    pub(crate) fn problems(&self, source: &str, copies: u32, found: &Fingerprint) -> Vec<String> {
        let Some(single) = self.sources.get(source) else {
            return vec![format!("bench/expected.json knows nothing about {source}")];
        };
        let copies = i64::from(copies);
        let mut wrong = Vec::new();
        let mut check = |what: String, found: i64, expected: i64| {
            if found != expected {
                wrong.push(format!("{what}: {found} instead of {expected}"));
            }
        };
        // Metadata is there once, whatever the number of copies; every other element of the list is copied.
        let metadata = single.dropped.get("metadata").copied().unwrap_or(0) as i64;
        let events = metadata + copies * (single.events_in as i64 - metadata);
        check("events_in".to_owned(), found.events_in as i64, events);
        for (reason, count) in &single.dropped {
            let factor = if reason == "metadata" { 1 } else { copies };
            check(format!("dropped as {reason}"), get(&found.dropped, reason) as i64, factor * *count as i64);
        }
        for table in SCALING_TABLES {
            check(format!("rows of {table}"), get(&found.rows, table) as i64, copies * get(&single.rows, table) as i64);
        }
        for (kind, count) in &single.spans_by_kind {
            check(format!("spans of kind {kind}"), get(&found.spans_by_kind, kind) as i64, copies * *count as i64);
        }
        check("sum of dur_ns".to_owned(), found.dur_ns, copies * single.dur_ns);
        check("sum of self_ns".to_owned(), found.self_ns, copies * single.self_ns);
        for (link, sum) in &single.device_dur_ns_by_link {
            let found = found.device_dur_ns_by_link.get(link).copied().unwrap_or(0);
            check(format!("device time by {link}"), found, copies * sum);
        }
        for (column, count) in single.spans_with.iter().filter(|(column, _)| !OTHERWISE.contains(&column.as_str())) {
            check(format!("spans with {column}"), get(&found.spans_with, column) as i64, copies * *count as i64);
        }
        wrong
    }
}

fn get(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

/// What two readings of one trace disagree about.
pub(crate) fn differences(one: &Fingerprint, other: &Fingerprint) -> Vec<String> {
    let mut found = Vec::new();
    for (column, hash) in &one.hashes {
        if other.hashes.get(column) != Some(hash) {
            found.push(format!("{column} differs"));
        }
    }
    let without_hashes = |fingerprint: &Fingerprint| Fingerprint { hashes: BTreeMap::new(), ..fingerprint.clone() };
    if without_hashes(one) != without_hashes(other) {
        found.push("counts or sums differ".to_owned());
    }
    found
}
