//! How the tracks of a recording are drawn: the lanes that their spans need, and the levels of detail that they have.
//!
//! Spans nest within their family only, so the families of a track stand below one another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stepscope_engine::CancelFlag;
use stepscope_model::{Kind, SourceId, SourceRecord};
use stepscope_runs::{Frame, RunError};

use super::{Timelines, condition};

/// The columns of `tracks` with the lanes of each family, in the order of their lanes.
const LANE_COLUMNS: [&str; Kind::LANE_GROUPS] =
    ["lanes_python", "lanes_mark", "lanes_work", "lanes_other", "lanes_wait"];

/// The shape of one track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    lanes: [i64; LANE_COLUMNS.len()],
    /// Its levels in `tiles`, the finest first; none if it has few spans.
    pub(crate) levels: Vec<i64>,
}

impl Shape {
    /// How many lanes there are.
    pub(crate) fn lanes(&self) -> i64 {
        self.lanes.iter().sum()
    }

    /// The lane of a row of `timeline_spans`, in SQL.
    pub(crate) fn lane_sql(&self) -> String {
        let first = |group: usize| self.lanes.iter().take(group).sum::<i64>();
        let cases: Vec<_> = (0..Kind::LANE_GROUPS).map(|group| format!("WHEN {group} THEN {}", first(group))).collect();
        format!("CASE lane_group {} END + depth", cases.join(" "))
    }

    /// The lane of a span that `depth` others of its family enclose.
    pub(crate) fn lane(&self, kind: Kind, depth: i64) -> i64 {
        self.lanes.iter().take(kind.lane_group()).sum::<i64>() + depth
    }
}

/// The kind of a row of `spans`.
pub(crate) fn kind_of(text: Option<&str>) -> Kind {
    text.and_then(Kind::of_text).unwrap_or(Kind::Other)
}

/// The shapes of a recording's tracks.
#[derive(Debug, Default)]
pub(crate) struct Shapes(BTreeMap<i64, Shape>);

impl Shapes {
    /// The shape of a track.
    pub(crate) fn of(&self, track: i64) -> Shape {
        self.0.get(&track).cloned().unwrap_or_default()
    }

    /// The lane of a span of a track that `depth` others of its family enclose.
    pub(crate) fn lane(&self, track: i64, kind: Kind, depth: i64) -> i64 {
        self.0.get(&track).map_or(depth, |shape| shape.lane(kind, depth))
    }
}

/// The shapes of recordings that were asked for before.
#[derive(Debug, Default)]
pub(crate) struct ShapeCache(Mutex<BTreeMap<SourceId, Arc<Shapes>>>);

impl Timelines {
    /// The shapes of a recording's tracks.
    pub(crate) fn shapes(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Arc<Shapes>, RunError> {
        let known = || self.shapes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shapes) = known().get(&source.id) {
            return Ok(Arc::clone(shapes));
        }
        let mut shapes = Shapes::default();
        let source_is = condition(source);
        let sql = format!("SELECT track_id, {} FROM tracks WHERE {source_is}", LANE_COLUMNS.join(", "));
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        let tracks = frame.required_i64("track_id")?;
        for (group, column) in LANE_COLUMNS.into_iter().enumerate() {
            for (track, lanes) in tracks.iter().zip(frame.required_i64(column)?) {
                shapes.0.entry(*track).or_default().lanes[group] = lanes;
            }
        }
        let sql = format!("SELECT DISTINCT track_id, level FROM tiles WHERE {source_is} ORDER BY track_id, level");
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        for (track, level) in frame.required_i64("track_id")?.into_iter().zip(frame.required_i64("level")?) {
            shapes.0.entry(track).or_default().levels.push(level);
        }
        let shapes = Arc::new(shapes);
        known().insert(source.id, Arc::clone(&shapes));
        Ok(shapes)
    }
}
