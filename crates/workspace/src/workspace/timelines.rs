//! The timelines of the run.

use std::ops::Range;

use arrow::record_batch::RecordBatch;
use stepscope_engine::CancelFlag;
use stepscope_model::{
    NameSearch, Search, SearchMarks, SearchStep, SourceId, SpanDetails, Timeline, TimelineCurves, TimelinePicture,
    WorstInstance,
};
use stepscope_runs::RunError;
use stepscope_timeline::{CurveRange, FindingScope, PathRange, SearchFor, SearchFrom, Stretch, TrackRange};

use super::Workspace;

impl Workspace {
    /// The outline of a recording's timeline: how long it is, its steps and its tracks.
    pub fn timeline(&self, rank: Option<u32>, window: Option<u32>, cancel: &CancelFlag) -> Result<Timeline, RunError> {
        self.timelines.outline(rank, window, cancel)
    }

    /// The spans of a track as columns: `depth`, `start_ns`, `dur_ns`, `busy_ns`, `count`, `class`, `name`, `span_id`.
    ///
    /// Where there are more spans than pixels, the short ones of a lane that lie close together are one row: with their
    /// number, the time that they take, the class that takes most of it, and the longest of them.
    pub fn track(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: TrackRange,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, RunError> {
        self.timelines.track(rank, window, range, cancel)
    }

    /// The pieces of the critical paths as one lane, with the columns of [`Self::track`]; without a path no rows.
    pub fn path(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: PathRange,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, RunError> {
        self.timelines.path(rank, window, range, cancel)
    }

    /// The curves of a recording. Where more changes than a screen can show, of each pixel stay the first, the lowest,
    /// the highest and the last value, which draw the same.
    pub fn curves(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: CurveRange,
        cancel: &CancelFlag,
    ) -> Result<TimelineCurves, RunError> {
        self.timelines.curves(rank, window, range, cancel)
    }

    /// A span with everything around it; `None` when the recording has no span of that number.
    pub fn span(&self, id: SourceId, span_id: i64, cancel: &CancelFlag) -> Result<Option<SpanDetails>, RunError> {
        self.timelines.span(id, span_id, cancel)
    }

    /// Counts the spans that are searched for, in all and in `width` equal parts of the recording.
    pub fn search(
        &self,
        source: (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        width: u32,
        cancel: &CancelFlag,
    ) -> Result<Search, RunError> {
        self.timelines.search(source, wanted, width, cancel)
    }

    /// The match after or before a place; behind the last comes the first.
    pub fn search_step(
        &self,
        source: (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        from: SearchFrom,
        cancel: &CancelFlag,
    ) -> Result<SearchStep, RunError> {
        self.timelines.search_step(source, wanted, from, cancel)
    }

    /// Where the matches lie in a stretch of time that has `width` pixels.
    pub fn search_marks(
        &self,
        source: (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        stretch: (Range<i64>, u32),
        cancel: &CancelFlag,
    ) -> Result<SearchMarks, RunError> {
        self.timelines.search_marks(source, wanted, stretch, cancel)
    }

    /// The names that hold a text in upper or lower case: of each group their number, and the `most` likely ones.
    pub fn names(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        text: &str,
        most: usize,
        cancel: &CancelFlag,
    ) -> Result<NameSearch, RunError> {
        self.timelines.names(rank, window, text, most, cancel)
    }

    /// A still picture of a stretch of a recording: what so many columns can show of it.
    pub fn picture(&self, id: SourceId, stretch: Stretch, cancel: &CancelFlag) -> Result<TimelinePicture, RunError> {
        self.timelines.picture(id, stretch, cancel)
    }

    /// The worst instance of what a rule finds; `None` if there is no place to point at, or no such rule.
    pub fn worst_instance(
        &self,
        rule: &str,
        scope: FindingScope,
        cancel: &CancelFlag,
    ) -> Result<Option<WorstInstance>, RunError> {
        self.timelines.worst_instance(rule, scope, cancel)
    }
}
