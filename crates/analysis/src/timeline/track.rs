//! The spans of one track in a stretch of time, or what a screen can show of them.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use stepscope_engine::{CancelFlag, QueryResult};
use stepscope_model::SourceRecord;

use super::{condition, zero_of};
use crate::error::AnalysisError;
use crate::frame::Frame;
use crate::workspace::Workspace;

/// Rows of an answer at most.
const MOST_ROWS: i64 = 20_000;
/// Pixels that a bucket takes; spans that are half as long again stay apart.
const BUCKET_PIXELS: i64 = 2;

/// Which part of which track.
#[derive(Clone, Copy, Debug)]
pub struct TrackRange {
    /// Number of the track.
    pub track: i64,
    /// What ends before this time is left out.
    pub from_ns: i64,
    /// What starts at this time or later is left out.
    pub to_ns: i64,
    /// Pixels that there are for it.
    pub width: u32,
}

impl Workspace {
    /// The spans of a track as columns: `depth`, `start_ns`, `dur_ns`, `busy_ns`, `count`, `class`, `name`, `span_id`.
    ///
    /// If there are more than an answer may have, the short ones of a lane that lie close together are one row: with
    /// their number, the time that they take, the class that takes most of it, and the longest of them.
    pub fn track(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: TrackRange,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, AnalysisError> {
        let source = self.source(rank, window)?;
        let lanes = self.lanes(source, cancel)?;
        let spans = Spans { condition: within(source, range), lane: lanes.sql(range.track), zero: zero_of(source) };
        let count = Frame::new(self.ask(&spans.count(), cancel)?).required_i64("count")?;
        if count.first().is_some_and(|count| *count <= MOST_ROWS) {
            return columns(&self.ask(&spans.exact(), cancel)?);
        }
        let buckets = (i64::from(range.width) / BUCKET_PIXELS).min(MOST_ROWS / 2 / lanes.count(range.track).max(1));
        // Nothing lies outside the recording, however far a screen shows.
        let end = source.last_event_ns.map_or(0, |last| last - zero_of(source));
        let shown_ns = (range.to_ns.min(end) - range.from_ns.max(0)).max(1);
        let bucket_ns = shown_ns / buckets.max(1) + 1;
        let merged = self.ask(&spans.merged(bucket_ns, bucket_ns / 2 * 3), cancel)?;
        if merged.num_rows() as i64 <= MOST_ROWS {
            return columns(&merged);
        }
        // Spans of one lane overlap, so that even the long ones are too many.
        columns(&self.ask(&spans.merged(bucket_ns, i64::MAX), cancel)?)
    }
}

/// The spans that touch a stretch of time, in SQL.
struct Spans {
    condition: String,
    lane: String,
    zero: i64,
}

impl Spans {
    fn count(&self) -> String {
        format!("SELECT count(*) AS count FROM timeline_spans WHERE {}", self.condition)
    }

    fn exact(&self) -> String {
        let Self { condition, lane, zero } = self;
        format!(
            "SELECT {lane} AS depth, start_ns - {zero} AS start_ns, dur_ns, dur_ns AS busy_ns, 1 AS count, class,
                    coalesce(name, '') AS name, span_id
             FROM timeline_spans WHERE {condition} ORDER BY depth, start_ns, span_id"
        )
    }

    /// Spans shorter than `long_ns` that start in the same bucket of a lane are one row.
    fn merged(&self, bucket_ns: i64, long_ns: i64) -> String {
        let Self { condition, lane, zero } = self;
        format!(
            "WITH asked AS (
               SELECT {lane} AS depth, start_ns - {zero} AS start_ns, end_ns - {zero} AS end_ns, dur_ns, class,
                      coalesce(name, '') AS name, span_id,
                      CASE WHEN dur_ns >= {long_ns} THEN span_id ELSE -1 END AS alone,
                      (start_ns - {zero}) / {bucket_ns} AS bucket
               FROM timeline_spans WHERE {condition}
             ), by_class AS (
               SELECT depth, alone, bucket, class, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
                      sum(dur_ns) AS busy_ns, count(*) AS count, max(dur_ns) AS longest_ns,
                      first_value(name ORDER BY dur_ns DESC, span_id) AS name,
                      first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id
               FROM asked GROUP BY depth, alone, bucket, class
             )
             SELECT depth, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS dur_ns,
                    least(sum(busy_ns), max(end_ns) - min(start_ns)) AS busy_ns, sum(count) AS count,
                    first_value(class ORDER BY busy_ns DESC, class) AS class,
                    first_value(name ORDER BY longest_ns DESC, span_id) AS name,
                    first_value(span_id ORDER BY longest_ns DESC, span_id) AS span_id
             FROM by_class GROUP BY depth, alone, bucket ORDER BY depth, start_ns, span_id"
        )
    }
}

fn within(source: &SourceRecord, range: TrackRange) -> String {
    let zero = zero_of(source);
    let (from, to) = (zero.saturating_add(range.from_ns), zero.saturating_add(range.to_ns));
    format!("{} AND track_id = {} AND start_ns < {to} AND end_ns >= {from}", condition(source), range.track)
}

/// The answer as one batch; few different texts repeat, so they are written once.
fn columns(result: &QueryResult) -> Result<RecordBatch, AnalysisError> {
    let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let types = [
        ("depth", DataType::Int32),
        ("start_ns", DataType::Int64),
        ("dur_ns", DataType::Int64),
        ("busy_ns", DataType::Int64),
        ("count", DataType::Int64),
        ("class", text.clone()),
        ("name", text),
        ("span_id", DataType::Int64),
    ];
    let shape = |error: ArrowError| AnalysisError::Shape(error.to_string());
    let batch = concat_batches(&result.schema, &result.batches).map_err(shape)?;
    let column = |(name, data_type): &(&str, DataType)| -> Result<ArrayRef, AnalysisError> {
        let column = batch.column_by_name(name).ok_or_else(|| AnalysisError::Shape(format!("no column {name}")))?;
        cast(column, data_type).map_err(shape)
    };
    let arrays = types.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<Field> = types.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(shape)
}
