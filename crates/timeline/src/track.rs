//! The spans of one track in a stretch of time, or what a screen can show of them.

use arrow::record_batch::RecordBatch;
use stepscope_engine::CancelFlag;
use stepscope_model::SourceRecord;
use stepscope_model::tables::{SPANS, TILES};
use stepscope_runs::RunError;
use stepscope_store::Key;

use super::answer::Answer;
use super::shape::Shape;
use super::{Timelines, condition, zero_of};

/// Rows of an answer at most.
const MOST_ROWS: usize = 20_000;
/// Pixels that a bucket takes; spans that are half as long again stay apart.
const BUCKET_PIXELS: i64 = 3;

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

impl Timelines {
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
        let source = self.run.source(rank, window)?;
        let shape = self.shapes(source, cancel)?.of(range.track);
        let zero = zero_of(source);
        // Nothing lies outside the recording, however far a screen shows.
        let end = source.last_event_ns.map_or(0, |last| last - zero);
        let shown_ns = (range.to_ns.min(end) - range.from_ns.max(0)).max(1);
        let bucket_ns = (i128::from(shown_ns) * i128::from(BUCKET_PIXELS) / i128::from(range.width.max(1))) as i64;
        let asked = Asked { source, range, shape: &shape, zero };
        let Some(finest) = shape.levels.first().copied() else {
            return self.track_without_levels(&asked, shown_ns, cancel);
        };
        // Fine enough for the screen and no finer; where many lanes make it too much, the next.
        let fine_enough = shape.levels.iter().rposition(|level| width_ns(*level) <= bucket_ns);
        let tiles = self.first_that_fits(&asked, &shape.levels[fine_enough.unwrap_or(0)..], cancel)?;
        if fine_enough.is_some() || tiles.spans() > MOST_ROWS as i64 {
            return tiles.by_lane();
        }
        // Spans that are shorter than a bucket begin shortly before the range, and the longer ones are alone in the
        // finest level, so that nothing has to be read from the start of the track.
        let near = range.from_ns.saturating_sub(width_ns(finest));
        let spans = self.spans_of(&asked, Some(near), cancel)?;
        tiles.starting_before(near)?.followed_by(&spans)?.by_lane()
    }

    /// The rows of the first level that has few enough of them, else of the last.
    fn first_that_fits(&self, asked: &Asked<'_>, levels: &[i64], cancel: &CancelFlag) -> Result<Answer, RunError> {
        let mut levels = levels.iter().peekable();
        loop {
            let level = levels.next().copied().unwrap_or_default();
            let answer = self.tiles_of(asked, level, cancel)?;
            if answer.rows() <= MOST_ROWS || levels.peek().is_none() {
                return Ok(answer);
            }
        }
    }

    /// The rows of a level, or more of them than an answer may have.
    fn tiles_of(&self, asked: &Asked<'_>, level: i64, cancel: &CancelFlag) -> Result<Answer, RunError> {
        let keys = vec![
            asked.track(),
            ("level", level..=level),
            ("start_ns", i64::MIN..=asked.last()),
            ("end_ns", asked.first()..=i64::MAX),
        ];
        let mut rows = Answer::none()?;
        self.read(asked.source, &TILES, (&Answer::TILES, keys), cancel, &mut |batch| {
            rows = rows.followed_by(&Answer::of_tiles(&batch, asked.zero)?)?;
            Ok(rows.rows() <= MOST_ROWS)
        })?;
        Ok(rows)
    }

    /// The spans themselves, those that start before `near` left out; or more of them than an answer may have.
    fn spans_of(&self, asked: &Asked<'_>, near: Option<i64>, cancel: &CancelFlag) -> Result<Answer, RunError> {
        let near = near.map_or(i64::MIN, |near| asked.time(near));
        let keys = vec![asked.track(), ("start_ns", near..=asked.last())];
        let mut rows = Answer::none()?;
        self.read(asked.source, &SPANS, (&Answer::SPANS, keys), cancel, &mut |batch| {
            let spans = Answer::of_spans(&batch, asked.shape, asked.zero)?.ending_from(asked.range.from_ns)?;
            rows = rows.followed_by(&spans)?;
            Ok(rows.rows() <= MOST_ROWS)
        })?;
        Ok(rows)
    }

    /// The same for a track that has no levels of detail: few spans, more lanes than a screen, or none were wanted.
    fn track_without_levels(
        &self,
        asked: &Asked<'_>,
        shown_ns: i64,
        cancel: &CancelFlag,
    ) -> Result<RecordBatch, RunError> {
        let spans = self.spans_of(asked, None, cancel)?;
        if spans.rows() <= MOST_ROWS {
            return spans.by_lane();
        }
        let most = MOST_ROWS as i64 / 2 / asked.shape.lanes().max(1);
        let buckets = (i64::from(asked.range.width) / BUCKET_PIXELS).min(most);
        let bucket_ns = shown_ns / buckets.max(1) + 1;
        let mut merged = self.run.ask(&asked.merged(bucket_ns, bucket_ns / 2 * 3), cancel)?;
        if merged.num_rows() > MOST_ROWS {
            // Spans of one lane overlap, so that even the long ones are too many.
            merged = self.run.ask(&asked.merged(bucket_ns, i64::MAX), cancel)?;
        }
        Answer::of_query(&merged)?.by_lane()
    }
}

/// How wide the buckets of a level are.
fn width_ns(level: i64) -> i64 {
    1 << (2 * level)
}

/// What is asked for. Rows come in the order of the tables: by start.
struct Asked<'a> {
    source: &'a SourceRecord,
    range: TrackRange,
    shape: &'a Shape,
    zero: i64,
}

impl Asked<'_> {
    fn track(&self) -> Key {
        ("track_id", self.range.track..=self.range.track)
    }

    /// The first time of the range as the tables have it.
    fn first(&self) -> i64 {
        self.time(self.range.from_ns)
    }

    /// The last time of the range.
    fn last(&self) -> i64 {
        self.time(self.range.to_ns) - 1
    }

    /// Spans shorter than `long_ns` that start in the same bucket of a lane as one row.
    fn merged(&self, bucket_ns: i64, long_ns: i64) -> String {
        let Self { shape, zero, range: TrackRange { track, .. }, .. } = self;
        let (source, from, last) = (condition(self.source), self.first(), self.last());
        let lane = shape.lane_sql();
        format!(
            "WITH asked AS (
               SELECT {lane} AS depth, start_ns - {zero} AS start_ns, end_ns - {zero} AS end_ns, dur_ns, class,
                      coalesce(name, '') AS name, span_id, (start_ns - {zero}) / {bucket_ns} AS bucket,
                      CASE WHEN dur_ns >= {long_ns} THEN span_id ELSE -1 END AS alone
               FROM timeline_spans
               WHERE {source} AND track_id = {track} AND start_ns <= {last} AND end_ns >= {from}
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
             FROM by_class GROUP BY depth, alone, bucket"
        )
    }

    /// A time of the range as the tables have it.
    fn time(&self, ns: i64) -> i64 {
        self.zero.saturating_add(ns)
    }
}
