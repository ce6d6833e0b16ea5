//! Which lanes the spans of a track are drawn in.
//!
//! Spans nest within their family only, so the families of a track stand below one another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use stepscope_engine::CancelFlag;
use stepscope_model::{SourceId, SourceRecord};

use super::condition;
use crate::error::AnalysisError;
use crate::frame::Frame;
use crate::workspace::Workspace;

/// Values of `lane_group` in the view `timeline_spans`.
const GROUPS: usize = 5;

/// The lanes of a recording's tracks.
#[derive(Debug, Default)]
pub(crate) struct Lanes(BTreeMap<i64, [i64; GROUPS]>);

impl Lanes {
    /// How many lanes a track has.
    pub(crate) fn count(&self, track: i64) -> i64 {
        self.0.get(&track).map_or(0, |groups| groups.iter().sum())
    }

    /// The lane of a row of `timeline_spans`, in SQL.
    pub(crate) fn sql(&self, track: i64) -> String {
        let groups = self.0.get(&track).copied().unwrap_or_default();
        let mut below = 0;
        let mut cases = String::new();
        for (group, lanes) in groups.into_iter().enumerate() {
            let _ = write!(cases, " WHEN {group} THEN {below}");
            below += lanes;
        }
        format!("CASE lane_group{cases} END + depth")
    }

    /// The first lane of a group.
    pub(crate) fn first(&self, track: i64, group: i64) -> i64 {
        self.0.get(&track).map_or(0, |groups| groups.iter().take(group as usize).sum())
    }
}

/// The lanes of recordings that were asked for before: to know them takes a walk over all spans.
#[derive(Debug, Default)]
pub(crate) struct LaneCache(Mutex<BTreeMap<SourceId, Arc<Lanes>>>);

impl Workspace {
    /// The lanes of a recording.
    pub(crate) fn lanes(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Arc<Lanes>, AnalysisError> {
        let known = || self.lane_cache().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lanes) = known().get(&source.id) {
            return Ok(Arc::clone(lanes));
        }
        let sql = format!(
            "SELECT track_id, lane_group, max(depth) + 1 AS lanes FROM timeline_spans WHERE {}
             GROUP BY track_id, lane_group",
            condition(source)
        );
        let frame = Frame::new(self.ask(&sql, cancel)?);
        let (tracks, groups) = (frame.required_i64("track_id")?, frame.required_i64("lane_group")?);
        let counts = frame.required_i64("lanes")?;
        let mut lanes = Lanes::default();
        for row in 0..frame.rows() {
            lanes.0.entry(tracks[row]).or_default()[groups[row] as usize] = counts[row];
        }
        let lanes = Arc::new(lanes);
        known().insert(source.id, Arc::clone(&lanes));
        Ok(lanes)
    }
}
