//! The spans whose name holds a text.

use stepscope_engine::CancelFlag;
use stepscope_model::{Search, SearchMatch};

use super::shape::kind_of;
use super::{condition, zero_of};
use crate::error::AnalysisError;
use crate::frame::Frame;
use crate::workspace::Workspace;

impl Workspace {
    /// Looks for a text in the names of spans, whatever its case. Counts all, and gives the first ones by time.
    pub fn search(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        text: &str,
        limit: usize,
        cancel: &CancelFlag,
    ) -> Result<Search, AnalysisError> {
        let source = self.source(rank, window)?;
        if text.is_empty() {
            return Ok(Search::default());
        }
        let quoted = text.to_lowercase().replace('\'', "''");
        let condition = format!("{} AND strpos(lower(name), '{quoted}') > 0", condition(source));
        let count = self.ask(&format!("SELECT count(*) AS count FROM spans WHERE {condition}"), cancel)?;
        let count = Frame::new(count).required_i64("count")?.first().copied().unwrap_or(0);
        let sql = format!(
            "SELECT span_id, track_id, kind, depth, start_ns, dur_ns, name FROM spans
             WHERE {condition} ORDER BY start_ns, span_id LIMIT {limit}"
        );
        let frame = Frame::new(self.ask(&sql, cancel)?);
        let (ids, tracks) = (frame.required_i64("span_id")?, frame.required_i64("track_id")?);
        let (kinds, depths) = (frame.text("kind")?, frame.required_i64("depth")?);
        let (starts, lengths) = (frame.required_i64("start_ns")?, frame.required_i64("dur_ns")?);
        let names = frame.text("name")?;
        let shapes = self.shapes(source, cancel)?;
        let found = |row: usize| SearchMatch {
            span_id: ids[row],
            track: tracks[row],
            depth: shapes.of(tracks[row]).lane(kind_of(kinds[row].as_deref()), depths[row]),
            start_ns: starts[row] - zero_of(source),
            dur_ns: lengths[row],
            name: names[row].clone().unwrap_or_default(),
        };
        Ok(Search { count, matches: (0..frame.rows()).map(found).collect() })
    }
}
