//! Copies and fills by name (metrics, section 12).

use regex::Regex;
use serde_json::Value as Json;
use stepscope_model::null_reason::{NOT_IN_NAME, ZERO_DURATION, argument_not_recorded};
use stepscope_runs::{Frame, RunError};

use super::{Measuring, distribution};

/// `Memcpy <kind> (<source> -> <target>)` or `Memset (<target>)`.
const NAME_PATTERN: &str = r"^Mem(?:cpy|set)\s*(\w+)?\s*(?:\((.*?)(?:\s*->\s*(.*))?\))?$";

/// What is asked about copies besides their durations.
pub(crate) const SUMS: &str = "
    first_value(kind ORDER BY position) AS kind,
    sum(size_bytes) AS bytes,
    count(*) - count(size_bytes) AS bytes_missing,
    sum(dur_ns) FILTER (WHERE size_bytes IS NOT NULL) AS bytes_ns,
    sum(size_bytes) FILTER (WHERE size_bytes <> 0 AND memory_bandwidth_gb_per_s <> 0) AS recorded_bytes,
    sum(size_bytes / memory_bandwidth_gb_per_s)
      FILTER (WHERE size_bytes <> 0 AND memory_bandwidth_gb_per_s <> 0) AS recorded_ns";

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let copies = measuring.query(&format!(
        "SELECT name, {SUMS}, {} FROM device_events WHERE {{source}} AND kind IN ('memcpy', 'memset')
         GROUP BY name ORDER BY dur_total DESC, name",
        distribution::columns("dur", "dur_ns", "true")
    ))?;
    let names = copies.text("name")?;
    let mut rows = Vec::with_capacity(copies.rows());
    let all_moved = Moved::of_rows(&copies)?;
    for (row, (figures, moved)) in distribution::figures(&copies, "dur")?.into_iter().zip(all_moved).enumerate() {
        let mut figures = figures.unwrap_or_default();
        if moved.bytes.is_none() {
            measuring.missing(&format!("copies[{row}].bytes"), argument_not_recorded("bytes"));
        }
        if moved.gb_per_s.is_none() {
            let reason = moved.bytes.map_or_else(|| argument_not_recorded("bytes"), |_| ZERO_DURATION.to_owned());
            measuring.missing(&format!("copies[{row}].bandwidth_gb_per_s"), reason);
        }
        if moved.recorded_gb_per_s.is_none() {
            let reason = argument_not_recorded("memory bandwidth (GB/s)");
            measuring.missing(&format!("copies[{row}].bandwidth_recorded_gb_per_s"), reason);
        }
        for (member, part) in
            [("kind", &moved.name.kind), ("source", &moved.name.source), ("target", &moved.name.target)]
        {
            if part.is_none() {
                measuring.missing(&format!("copies[{row}].{member}"), NOT_IN_NAME);
            }
        }
        for (member, value) in [
            ("name", Json::from(names[row].clone())),
            ("kind", Json::from(moved.name.kind)),
            ("source", Json::from(moved.name.source)),
            ("target", Json::from(moved.name.target)),
            ("bytes", Json::from(moved.bytes)),
            ("bytes_missing", Json::from(moved.bytes_missing)),
            ("bandwidth_gb_per_s", Json::from(moved.gb_per_s)),
            ("bandwidth_recorded_gb_per_s", Json::from(moved.recorded_gb_per_s)),
        ] {
            figures.insert(member.to_owned(), value);
        }
        rows.push(Json::Object(figures));
    }
    Ok(Json::Array(rows))
}

/// What copies of one name moved, and how fast.
pub(crate) struct Moved {
    pub name: NameParts,
    pub bytes: Option<i64>,
    pub bytes_missing: i64,
    /// Time of the copies whose bytes are known.
    pub bytes_ns: Option<i64>,
    pub gb_per_s: Option<f64>,
    /// By the bandwidth that the profiler wrote, which does not suffer from a coarse clock.
    pub recorded_gb_per_s: Option<f64>,
}

impl Moved {
    /// For each row of an answer that has `name` and `SUMS`.
    pub(crate) fn of_rows(copies: &Frame) -> Result<Vec<Self>, RunError> {
        let (names, kinds) = (copies.text("name")?, copies.text("kind")?);
        let (bytes, missing) = (copies.i64("bytes")?, copies.required_i64("bytes_missing")?);
        let (times, recorded_bytes) = (copies.i64("bytes_ns")?, copies.i64("recorded_bytes")?);
        let recorded_times = copies.f64("recorded_ns")?;
        let pattern = Regex::new(NAME_PATTERN).map_err(|error| RunError::Shape(error.to_string()))?;
        let moved = |(row, name): (usize, Option<String>)| {
            let mut name = NameParts::of(&pattern, name.as_deref().unwrap_or_default());
            name.kind = name.kind.or_else(|| (kinds[row].as_deref() == Some("memset")).then(|| "set".to_owned()));
            let rate = bytes[row].zip(times[row].filter(|time| *time > 0));
            let recorded = recorded_bytes[row].zip(recorded_times[row]);
            Self {
                name,
                bytes: bytes[row],
                bytes_missing: missing[row],
                bytes_ns: times[row],
                gb_per_s: rate.map(|(bytes, time)| bytes as f64 / time as f64),
                recorded_gb_per_s: recorded.map(|(bytes, time)| bytes as f64 / time),
            }
        };
        Ok(names.into_iter().enumerate().map(moved).collect())
    }
}

/// What the name of a copy says about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NameParts {
    pub kind: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
}

impl NameParts {
    /// Whether it leaves or reaches memory that the host may move, which cannot be copied while kernels run.
    pub(crate) fn is_pageable(&self) -> bool {
        [&self.source, &self.target].into_iter().flatten().any(|place| place.starts_with("Pageable"))
    }

    fn of(pattern: &Regex, name: &str) -> Self {
        let Some(found) = pattern.captures(name) else { return Self::default() };
        let part = |group: usize| found.get(group).map(|part| part.as_str().to_owned()).filter(|part| !part.is_empty());
        match (part(2), part(3)) {
            (source, Some(target)) => Self { kind: part(1), source, target: Some(target) },
            (target, None) => Self { kind: part(1), source: None, target },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        #[track_caller]
        fn check(name: &str, want: [Option<&str>; 3]) {
            let [kind, source, target] = want.map(|part| part.map(str::to_owned));
            assert_eq!(
                NameParts::of(&Regex::new(NAME_PATTERN).unwrap(), name),
                NameParts { kind, source, target },
                "{name}"
            );
        }
        check("Memcpy HtoD (Pageable -> Device)", [Some("HtoD"), Some("Pageable"), Some("Device")]);
        check("Memcpy DtoD", [Some("DtoD"), None, None]);
        check("Memset (Device)", [None, None, Some("Device")]);
        check("Memset", [None, None, None]);
        check("Memcpy PtoP (Device 0 -> Device 1)", [Some("PtoP"), Some("Device 0"), Some("Device 1")]);
        check("CopyHostToDevice", [None, None, None]);
        check("Memcpy HtoD (Host -> Device) again", [None, None, None]);
    }
}
