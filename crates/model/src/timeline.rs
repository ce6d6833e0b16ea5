//! What a timeline shows of one recording. Times count from the first event of the recording.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Cell;
use crate::unit::Unit;

/// The frame of a timeline: how long it is, its steps and its tracks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Timeline {
    /// Start of the recording: 0.
    pub start_ns: i64,
    /// End of the recording.
    pub end_ns: i64,
    /// Where a ruler has its zero: the start of the first step, else of the first event.
    pub zero_ns: i64,
    /// Steps, in order.
    pub steps: Vec<TimelineStep>,
    /// Threads, streams and lanes, in the order of the trace.
    pub tracks: Vec<TimelineTrack>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineStep {
    /// Position of the step in the trace, from 0.
    pub step: u32,
    /// Its number: the one that the recording gives it, else its place.
    pub number: i64,
    /// Name of its mark.
    pub name: String,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Whether its device work was recorded to the end.
    pub complete: bool,
}

/// One thread, stream or lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineTrack {
    /// Number of the track in its recording.
    pub track: i64,
    /// thread, stream or async.
    pub kind: String,
    /// Name of the process or device.
    pub process: String,
    /// Name of the thread or stream.
    pub name: String,
    /// Device of a stream.
    pub device: Option<i64>,
    /// Number of a stream.
    pub stream: Option<i64>,
    /// Spans on it.
    pub spans: i64,
    /// Lanes that its spans need.
    pub depth: i64,
    /// Start of its first event.
    pub first_ns: Option<i64>,
    /// End of its last event.
    pub last_ns: Option<i64>,
}

/// The curves of a recording in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineCurves {
    /// Memory, queues of launches, then counters of the trace.
    pub curves: Vec<TimelineCurve>,
    /// Counters that are not among them, because there are too many.
    pub counters_left_out: usize,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimelineCurve {
    /// memory, queue or counter.
    pub kind: String,
    /// What people call it.
    pub name: String,
    /// What it is measured at, such as gpu0 or stream 7; empty when there is nothing to tell apart.
    pub place: String,
    /// Device that it belongs to.
    pub device: Option<i64>,
    /// Unit of its values.
    pub unit: Unit,
    /// Its highest value in the whole recording, so that an axis stays as it is.
    pub most: f64,
    /// Changes: time and value, which holds until the next.
    pub points: Vec<(i64, f64)>,
}

/// The columns of a span that are not null, by name.
pub type SpanRow = BTreeMap<String, Cell>;

/// A span with everything around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SpanDetails {
    /// The span.
    #[cfg_attr(test, ts(type = "SpanRow"))]
    pub span: SpanRow,
    /// The call that launched it.
    #[cfg_attr(test, ts(type = "SpanRow | null"))]
    pub launch: Option<SpanRow>,
    /// The operator it belongs to.
    #[cfg_attr(test, ts(type = "SpanRow | null"))]
    pub operator: Option<SpanRow>,
    /// The device events that it launched.
    #[cfg_attr(test, ts(type = "Array<SpanRow>"))]
    pub kernels: Vec<SpanRow>,
    /// The forward operator of a backward one.
    #[cfg_attr(test, ts(type = "SpanRow | null"))]
    pub forward: Option<SpanRow>,
    /// Python frames around it or around its launch, outermost first.
    pub stack: Vec<String>,
    /// All spans of this name and kind in the recording.
    pub same_name: SameName,
}

/// What the spans of one name have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SameName {
    /// How many there are.
    pub count: i64,
    /// Sum of their lengths.
    pub total_ns: i64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Search {
    /// How many spans there are in all.
    pub count: i64,
    /// How many start in each of equal parts of the recording.
    pub density: Vec<u32>,
}

/// A span that a search found, and its place among all of them by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SearchStep {
    /// How many spans there are in all.
    pub count: i64,
    /// Place of this one, from 1; 0 when there is none.
    pub place: i64,
    /// The span.
    pub found: Option<SearchMatch>,
}

/// A span that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SearchMatch {
    /// Number of the span in its recording.
    pub span_id: i64,
    /// Track it lies on.
    pub track: i64,
    /// Lane of the track.
    pub depth: i64,
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
}

/// Where in a stretch of time the spans lie that a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SearchMarks {
    /// Lanes that have some of them.
    pub lanes: Vec<LaneMarks>,
}

/// The marks of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LaneMarks {
    /// Track.
    pub track: i64,
    /// Lane of the track.
    pub depth: i64,
    /// Start and end of each mark, by time; spans that no pixel separates are one mark.
    pub ranges: Vec<(i64, i64)>,
}

/// Names that hold a text, by what they name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NameSearch {
    /// Groups that have some, in the order of the pages.
    pub groups: Vec<NameGroup>,
}

/// Names of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NameGroup {
    /// operators, kernels, modules, transfers, collectives, regions, frames, calls or others.
    pub group: String,
    /// How many names there are in all.
    pub count: i64,
    /// The first of them: those that begin with the text, then those that take most time.
    pub names: Vec<FoundName>,
}

/// A name, and what the spans of it have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundName {
    /// Name as recorded.
    pub name: String,
    /// How many spans have it.
    pub count: i64,
    /// Sum of their lengths.
    pub total_ns: i64,
    /// The longest of them.
    pub longest_span_id: i64,
}

/// The instance of a finding that takes most time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WorstInstance {
    /// Rank of its recording.
    pub rank: u32,
    /// Window of its recording.
    pub window: u32,
    /// The event; null where it is a stretch of time, such as one without work.
    pub span_id: Option<i64>,
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
}
