//! Units of numbers, and the names that carry them.

use serde::Serialize;

/// What a number counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Time or duration in nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes that were moved, counted in thousands as the vendors of links do.
    MovedBytes,
    /// A share from 0 to 1.
    Ratio,
    /// Bytes per nanosecond, which is 10^9 bytes per second.
    #[serde(rename = "gb_per_s")]
    GigabytesPerSecond,
    /// Floating-point operations.
    Flops,
    /// Floating-point operations a second.
    #[serde(rename = "flops_per_s")]
    FlopsPerSecond,
    /// Nothing: the digits are a name, so they are never grouped, rounded or summed.
    Id,
}

/// Names of sizes that do not end in their unit.
const BYTES_NAMES: [&str; 4] = ["bytes", "bytes_in", "bytes_plain", "bytes_out"];

/// Columns that hold the number of something, not how many.
static ID_NAMES: [&str; 11] =
    ["rank", "window", "step", "id", "pid", "tid", "device", "stream", "bucket", "position", "line"];

impl Unit {
    /// What a name in JSON or SQL ends in to carry it.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Nanoseconds => "_ns",
            Self::Bytes | Self::MovedBytes => "_bytes",
            Self::Ratio => "_ratio",
            Self::GigabytesPerSecond => "_gb_per_s",
            Self::FlopsPerSecond => "_flops_per_s",
            Self::Flops => "_flops",
            Self::Plain | Self::Id => "",
        }
    }

    /// The unit that a name in JSON or SQL carries.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        if name.ends_with("_ns") {
            Self::Nanoseconds
        } else if name.ends_with("_bytes") || BYTES_NAMES.contains(&name) {
            Self::Bytes
        } else if name.ends_with("_ratio") {
            Self::Ratio
        } else if name.ends_with("_gb_per_s") {
            Self::GigabytesPerSecond
        } else if name.ends_with("_flops_per_s") {
            Self::FlopsPerSecond
        } else if name.ends_with("_flops") {
            Self::Flops
        } else if name.ends_with("_id") || ID_NAMES.contains(&name) {
            Self::Id
        } else {
            Self::Plain
        }
    }
}
