//! A still picture of a stretch of a recording: what a given number of columns can show of its tracks.

use crate::timeline::{TimelineStep, TimelineTrack};

/// A stretch of a recording, ready to be drawn. Times count from the first event of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelinePicture {
    /// Start of the stretch.
    pub from_ns: i64,
    /// End of the stretch.
    pub to_ns: i64,
    /// Where a ruler has its zero: the start of the first step, else of the first event.
    pub zero_ns: i64,
    /// Columns that it was made for.
    pub columns: u32,
    /// Steps that touch the stretch, in order.
    pub steps: Vec<TimelineStep>,
    /// Threads first, then streams; the busiest of each process and device first.
    pub tracks: Vec<PictureTrack>,
    /// Tracks with events in the stretch that there was no room for.
    pub left_out: usize,
}

/// One track of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureTrack {
    /// The thread, stream or lane.
    pub track: TimelineTrack,
    /// Lanes that are drawn.
    pub lanes: i64,
    /// Lanes that there was no room for.
    pub hidden_lanes: i64,
    /// Its spans by lane and start. Those too short for a column of their own are one where they lie close together.
    pub spans: Vec<PictureSpan>,
}

/// A span, or several short ones that lie close together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureSpan {
    /// Lane of the track, from 0.
    pub lane: i64,
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// How much of the length spans take.
    pub busy_ns: i64,
    /// Number of spans.
    pub count: i64,
    /// One of the classes of time, `python` or `annotation`; of several spans the one that takes most.
    pub class: String,
    /// Name as recorded; of several spans the name of the longest.
    pub name: String,
}
