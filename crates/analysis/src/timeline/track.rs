//! The spans of one track in a stretch of time, or what a screen can show of them.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use stepscope_engine::{CancelFlag, QueryResult};

use super::shape::Shape;
use super::{condition, zero_of};
use crate::error::AnalysisError;
use crate::workspace::Workspace;

/// Rows of an answer at most.
const MOST_ROWS: usize = 20_000;
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
    /// Where there are more spans than pixels, the short ones of a lane that lie close together are one row: with their
    /// number, the time that they take, the class that takes most of it, and the longest of them.
    pub fn track(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: TrackRange,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, AnalysisError> {
        let source = self.source(rank, window)?;
        let shape = self.shapes(source, cancel)?.of(range.track);
        let zero = zero_of(source);
        // Nothing lies outside the recording, however far a screen shows.
        let end = source.last_event_ns.map_or(0, |last| last - zero);
        let shown_ns = (range.to_ns.min(end) - range.from_ns.max(0)).max(1);
        let bucket_ns = (i128::from(shown_ns) * i128::from(BUCKET_PIXELS) / i128::from(range.width.max(1))) as i64;
        let asked = Asked { source: condition(source), range, shape: &shape, zero };
        let mut answer;
        // Fine enough for the screen and no finer; where many lanes make it too much, the next.
        let fine_enough = shape.levels.iter().rposition(|level| width_ns(*level) <= bucket_ns);
        for level in fine_enough.map_or(&[][..], |first| &shape.levels[first..]) {
            answer = self.ask(&asked.tiles(*level), cancel)?;
            if answer.num_rows() <= MOST_ROWS {
                return columns(&answer);
            }
        }
        answer = self.ask(&asked.exact(), cancel)?;
        if answer.num_rows() > MOST_ROWS {
            let buckets = (i64::from(range.width) / BUCKET_PIXELS).min(MOST_ROWS as i64 / 2 / shape.lanes().max(1));
            let bucket_ns = shown_ns / buckets.max(1) + 1;
            answer = self.ask(&asked.merged(bucket_ns, bucket_ns / 2 * 3), cancel)?;
            if answer.num_rows() > MOST_ROWS {
                // Spans of one lane overlap, so that even the long ones are too many.
                answer = self.ask(&asked.merged(bucket_ns, i64::MAX), cancel)?;
            }
        }
        columns(&answer)
    }
}

/// Lane by lane.
const IN_ORDER: &str = "ORDER BY depth, start_ns, span_id";

/// The rows of a query in order; of too many only as many as show that they are.
fn one_too_many(query: &str) -> String {
    format!("SELECT * FROM ({query} LIMIT {}) {IN_ORDER}", MOST_ROWS + 1)
}

/// How wide the buckets of a level are.
fn width_ns(level: i64) -> i64 {
    1 << (2 * level)
}

/// What is asked for, in SQL.
struct Asked<'a> {
    /// The condition on rank and window.
    source: String,
    range: TrackRange,
    shape: &'a Shape,
    zero: i64,
}

impl Asked<'_> {
    /// The rows of a level; one more than an answer may have.
    fn tiles(&self, level: i64) -> String {
        one_too_many(&self.rows_of_level(level, ""))
    }

    fn rows_of_level(&self, level: i64, more: &str) -> String {
        let Self { source, zero, range: TrackRange { track, .. }, .. } = self;
        let (from, to) = self.bounds();
        format!(
            "SELECT lane AS depth, start_ns - {zero} AS start_ns, end_ns - start_ns AS dur_ns, busy_ns, count, class,
                    coalesce(name, '') AS name, span_id
             FROM tiles
             WHERE {source} AND track_id = {track} AND level = {level} AND start_ns < {to} AND end_ns >= {from} {more}"
        )
    }

    /// The spans themselves. Those that are shorter than a bucket of the finest level begin shortly before the range;
    /// the others are found in that level, so that nothing has to be read from the start of the track.
    fn spans(&self) -> String {
        let Self { source, shape, zero, range: TrackRange { track, .. } } = self;
        let (from, to) = self.bounds();
        let lane = shape.lane_sql();
        let within = |more: &str| {
            format!(
                "SELECT {lane} AS depth, start_ns - {zero} AS start_ns, dur_ns, dur_ns AS busy_ns, 1 AS count, class,
                        coalesce(name, '') AS name, span_id
                 FROM timeline_spans
                 WHERE {source} AND track_id = {track} AND start_ns < {to} AND end_ns >= {from} {more}"
            )
        };
        match shape.levels.first() {
            None => within(""),
            Some(finest) => {
                let near = from.saturating_sub(width_ns(*finest));
                let far = self.rows_of_level(*finest, &format!("AND start_ns < {near}"));
                format!("{} UNION ALL {far}", within(&format!("AND start_ns >= {near}")))
            }
        }
    }

    /// One row a span; one more than an answer may have.
    fn exact(&self) -> String {
        one_too_many(&self.spans())
    }

    /// Spans shorter than `long_ns` that start in the same bucket of a lane are one row.
    fn merged(&self, bucket_ns: i64, long_ns: i64) -> String {
        let spans = self.spans();
        format!(
            "WITH asked AS (
               SELECT *, start_ns + dur_ns AS end_ns, start_ns / {bucket_ns} AS bucket,
                      CASE WHEN dur_ns >= {long_ns} THEN span_id ELSE -1 END AS alone
               FROM ({spans})
             ), by_class AS (
               SELECT depth, alone, bucket, class, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
                      sum(busy_ns) AS busy_ns, sum(count) AS count, max(dur_ns) AS longest_ns,
                      first_value(name ORDER BY dur_ns DESC, span_id) AS name,
                      first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id
               FROM asked GROUP BY depth, alone, bucket, class
             )
             SELECT depth, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS dur_ns,
                    least(sum(busy_ns), max(end_ns) - min(start_ns)) AS busy_ns, sum(count) AS count,
                    first_value(class ORDER BY busy_ns DESC, class) AS class,
                    first_value(name ORDER BY longest_ns DESC, span_id) AS name,
                    first_value(span_id ORDER BY longest_ns DESC, span_id) AS span_id
             FROM by_class GROUP BY depth, alone, bucket {IN_ORDER}"
        )
    }

    /// Start and end of the range as the tables have them.
    fn bounds(&self) -> (i64, i64) {
        (self.zero.saturating_add(self.range.from_ns), self.zero.saturating_add(self.range.to_ns))
    }
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
