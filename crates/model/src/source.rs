//! What a store says about one source: a trace file that became (run, rank, window).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Content, Kind, Note, RowCounts, StepSource};

/// Which recording a row came from, inside a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId {
    /// Rank of the process that recorded it.
    pub rank: u32,
    /// Which of the rank's recordings, from 0.
    pub window: u32,
}

/// Where the rank of a source came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankFrom {
    /// The trace's own header.
    Header,
    /// The file name.
    FileName,
    /// The order of the files.
    Order,
}

impl RankFrom {
    /// The word in JSON and tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::FileName => "file_name",
            Self::Order => "order",
        }
    }
}

/// A device that the trace's header describes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Number of the device; null when it is not an integer.
    pub id: Option<i64>,
    /// Name; null when the header has none, empty when it says so.
    pub name: Option<String>,
    /// Major compute capability, on NVIDIA.
    pub compute_major: Option<i64>,
    /// Multiprocessors.
    pub multiprocessors: Option<i64>,
    /// Memory in bytes.
    pub memory_bytes: Option<i64>,
    /// Operations a second at most, where the recording says it.
    #[serde(default)]
    pub peak_flops_per_s: Option<f64>,
    /// Bytes a second to and from its memory at most, where the recording says it.
    #[serde(default)]
    pub peak_bytes_per_s: Option<f64>,
}

/// Everything about a source that is not in a table. Written last, so that a source without a record does not exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Version of the tables.
    pub schema_version: u32,
    /// Version of the rules that derived the columns.
    pub derivation_version: u32,
    /// Version of Stepscope that wrote it.
    pub stepscope: String,
    /// Run it belongs to.
    pub run: String,
    /// Rank and window.
    #[serde(flatten)]
    pub id: SourceId,
    /// Where the rank came from.
    pub rank_from: RankFrom,
    /// File it was read from, as given; `-` is standard input.
    pub path: String,
    /// Hash of the bytes as stored (xxh3, 128 bits, hexadecimal).
    pub digest: String,
    /// Format of the file.
    pub format: String,
    /// What the elements of the file are.
    pub content: Content,
    /// Bytes of the file.
    pub bytes_in: u64,
    /// Bytes after inflating.
    pub bytes_plain: u64,
    /// Bytes of the tables that were written.
    pub bytes_out: u64,
    /// Elements of the event list.
    pub events_in: u64,
    /// Rows of each table.
    pub rows: RowCounts,
    /// For tables that are spread over folders by what is in a row: the folders that have rows of this source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partitions: BTreeMap<String, Vec<u32>>,
    /// Elements that have no row of their own, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Everything that was not right, by code, lost or not.
    pub warnings: BTreeMap<String, u64>,
    /// Notes about the container and the document: `gzip_truncated`, `invalid_utf8`, `json_truncated`, `bare_array`…
    pub notes: Vec<Note>,
    /// Number of events by "phase|category".
    pub events_by_phase_and_category: BTreeMap<String, u64>,
    /// `schemaVersion` of the header, as recorded.
    pub trace_schema_version: serde_json::Value,
    /// `baseTimeNanoseconds` of the header; 0 when it has none.
    pub base_time_ns: i64,
    /// Rank in the header, as recorded.
    pub header_rank: serde_json::Value,
    /// World size in the header, as recorded.
    pub header_world_size: serde_json::Value,
    /// What else the header says about how it was recorded: flags of the profiler, versions, the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, serde_json::Value>,
    /// Devices in the header; null when it has no list of them.
    pub devices: Option<Vec<Device>>,
    /// 1,000 when every time is a whole microsecond, else 1.
    pub clock_resolution_ns: i64,
    /// Start of the first duration event.
    pub first_event_ns: Option<i64>,
    /// End of the last duration event.
    pub last_event_ns: Option<i64>,
    /// Where the steps come from.
    pub step_source: StepSource,
    /// Process that ran the host side, as the system numbers it; null when the trace has none.
    #[serde(default)]
    pub process_id: Option<i64>,
    /// What tells the run from others of the same script; null when the trace does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why it is in another run than the files beside it; null when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_because: Option<String>,
}

impl SourceRecord {
    /// Elements of the input that were lost, not absorbed.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.dropped.iter().filter(|(code, _)| crate::warning::is_loss(code)).map(|(_, count)| count).sum()
    }

    /// What the user should know before trusting a figure of this source; `None` when it is whole.
    #[must_use]
    pub fn damage_notice(&self) -> Option<String> {
        let lost = self.lost_events();
        let damage = crate::warning::damage(&self.notes, lost, self.element())?;
        let (kept, element) = (self.events_in - lost, self.element());
        Some(format!("{}: {damage}; {kept} complete {element}s were kept (--strict refuses)", self.path))
    }

    /// Whether it is a profile of functions: sums without times of day.
    #[must_use]
    pub fn is_profile(&self) -> bool {
        self.content == Content::FunctionTotals
    }

    /// What an element of the input is called.
    #[must_use]
    pub fn element(&self) -> &'static str {
        self.content.element()
    }

    /// Whether it is a snapshot of an allocator, which has memory and nothing else.
    #[must_use]
    pub fn is_memory_snapshot(&self) -> bool {
        self.format == "memory_snapshot"
    }

    /// Whether its snapshot has the state of the allocator to the end.
    #[must_use]
    pub fn has_allocator_state(&self) -> bool {
        self.is_memory_snapshot() && self.header.get("snapshot_state").is_some_and(|state| state == "whole")
    }

    /// Whether XLA or TensorFlow recorded it.
    #[must_use]
    pub fn is_xplane(&self) -> bool {
        self.format == "xplane"
    }

    /// Whether it has steps to add up, but was read without the sums (`--without rollups`).
    #[must_use]
    pub fn are_sums_left_out(&self) -> bool {
        self.rows.of(&crate::tables::STEPS) > 0 && self.rows.of(&crate::tables::STEP_BREAKDOWN) == 0
    }

    /// Spans of devices that no analysis reads: how many, and their categories.
    #[must_use]
    pub fn unanalyzed_device_events(&self) -> (u64, Vec<&str>) {
        let counts =
            self.events_by_phase_and_category.iter().filter_map(|(key, count)| Some((key.split_once('|')?, count)));
        let mut categories: Vec<(&str, u64)> = counts
            .filter(|((phase, category), _)| *phase == "X" && Kind::is_unanalyzed_device(category))
            .map(|((_, category), count)| (category, *count))
            .collect();
        categories.sort_by_key(|&(category, count)| (std::cmp::Reverse(count), category));
        let count = categories.iter().map(|(_, count)| count).sum();
        (count, categories.into_iter().map(|(category, _)| category).collect())
    }

    /// Rows that stand for elements of the input.
    #[must_use]
    pub fn event_rows(&self) -> u64 {
        crate::tables::EVENT_TABLES.iter().map(|table| self.rows.of(table)).sum()
    }
}
