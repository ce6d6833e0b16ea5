//! The spans whose name holds a text: how many there are, which comes next, and where the others lie.
//!
//! The names are read once for a search; what was found is kept, so that a step from match to match reads nothing.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use stepscope_engine::CancelFlag;
use stepscope_model::tables::SPANS;
use stepscope_model::{Search, SearchMarks, SearchMatch, SearchStep, SourceId, SourceRecord};
use stepscope_runs::{Frame, RunError};

use super::match_index::{Found, MatchIndex, Way};
use super::shape::{Shapes, kind_of};
use super::{Timelines, zero_of};

/// Matches of a search that are kept: 32 MB.
const MOST_KEPT: usize = 1_000_000;
/// Searches that are kept: one that is walked through, and the name of a selected span.
const MOST_SEARCHES: usize = 3;
const COLUMNS: [&str; 7] = ["span_id", "track_id", "kind", "depth", "start_ns", "dur_ns", "name"];

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchFor {
    /// Names that hold a text, in upper or lower case.
    Text(String),
    /// Spans of exactly this name and kind.
    Name {
        /// The name as recorded.
        name: String,
        /// The kind, as `spans` has it.
        kind: String,
    },
}

/// Where a step from match to match begins.
#[derive(Clone, Copy, Debug)]
pub struct SearchFrom {
    /// A time from the first event.
    pub time_ns: i64,
    /// The match that starts then and that the step leaves.
    pub span_id: Option<i64>,
    /// Whether the step goes back in time.
    pub is_backward: bool,
}

type Kept = ((SourceId, SearchFor), Arc<Mutex<MatchIndex>>);

/// What was searched for before; the last search is the last.
#[derive(Debug, Default)]
pub(crate) struct SearchCache(Mutex<Vec<Kept>>);

impl Timelines {
    /// Counts the spans that are searched for, in all and in `width` equal parts of the recording.
    pub fn search(
        &self,
        (rank, window): (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        width: u32,
        cancel: &CancelFlag,
    ) -> Result<Search, RunError> {
        let source = self.run.source(rank, window)?;
        let index = self.matches(source, wanted, cancel)?;
        let index = index.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Search { count: index.count(), density: index.density(width as usize) })
    }

    /// The match after or before a place; behind the last comes the first.
    pub fn search_step(
        &self,
        (rank, window): (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        from: SearchFrom,
        cancel: &CancelFlag,
    ) -> Result<SearchStep, RunError> {
        let source = self.run.source(rank, window)?;
        let index = self.matches(source, wanted, cancel)?;
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        let way = if from.is_backward { Way::Backward } else { Way::Forward };
        let read = &mut |times| self.part(source, wanted, times, cancel);
        let found = index.step(way, (from.time_ns, from.span_id), read)?;
        Ok(SearchStep {
            count: index.count(),
            place: found.map_or(0, |(place, _)| place),
            found: found.map(|(_, found)| SearchMatch {
                span_id: found.span_id,
                track: found.track.into(),
                depth: found.lane.into(),
                start_ns: found.start_ns,
                dur_ns: found.dur_ns,
            }),
        })
    }

    /// Where the matches lie in a stretch of time that has `width` pixels.
    pub fn search_marks(
        &self,
        (rank, window): (Option<u32>, Option<u32>),
        wanted: &SearchFor,
        (times, width): (Range<i64>, u32),
        cancel: &CancelFlag,
    ) -> Result<SearchMarks, RunError> {
        let source = self.run.source(rank, window)?;
        let index = self.matches(source, wanted, cancel)?;
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        let read = &mut |times| self.part(source, wanted, times, cancel);
        Ok(SearchMarks { lanes: index.marks(times, width, read)? })
    }

    /// The matches that start in a stretch of time.
    fn part(
        &self,
        source: &SourceRecord,
        wanted: &SearchFor,
        times: Range<i64>,
        cancel: &CancelFlag,
    ) -> Result<Vec<Found>, RunError> {
        let mut part = Vec::new();
        self.scan(source, wanted, Some(times), cancel, &mut |found| part.push(found))?;
        Ok(part)
    }

    fn matches(
        &self,
        source: &SourceRecord,
        wanted: &SearchFor,
        cancel: &CancelFlag,
    ) -> Result<Arc<Mutex<MatchIndex>>, RunError> {
        let kept = || self.searches.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |((id, known), _): &Kept| *id == source.id && known == wanted;
        if let Some((_, index)) = kept().iter().find(|kept| is_it(kept)) {
            return Ok(Arc::clone(index));
        }
        let end = source.last_event_ns.map_or(0, |last| last - zero_of(source));
        let mut index = MatchIndex::new(end, MOST_KEPT);
        self.scan(source, wanted, None, cancel, &mut |found| index.add(found))?;
        index.sort();
        let index = Arc::new(Mutex::new(index));
        let mut kept = kept();
        kept.retain(|kept| !is_it(kept));
        if kept.len() == MOST_SEARCHES {
            kept.remove(0);
        }
        kept.push(((source.id, wanted.clone()), Arc::clone(&index)));
        Ok(index)
    }

    /// Hands every match to `take`, or those that start in a stretch of time.
    fn scan(
        &self,
        source: &SourceRecord,
        wanted: &SearchFor,
        times: Option<Range<i64>>,
        cancel: &CancelFlag,
        take: &mut dyn FnMut(Found),
    ) -> Result<(), RunError> {
        let (zero, shapes) = (zero_of(source), self.shapes(source, cancel)?);
        let last = |times: &Range<i64>| times.end.saturating_add(zero).saturating_sub(1);
        let keys = times.map(|times| ("start_ns", times.start.saturating_add(zero)..=last(&times)));
        let mut names = Names::new(wanted);
        self.read(source, &SPANS, (&COLUMNS, keys.into_iter().collect()), cancel, &mut |batch| {
            let batch = names.matching(&batch)?;
            take_all(batch, &shapes, zero, take)?;
            Ok(true)
        })
    }
}

fn take_all(batch: RecordBatch, shapes: &Shapes, zero: i64, take: &mut dyn FnMut(Found)) -> Result<(), RunError> {
    if batch.num_rows() == 0 {
        return Ok(());
    }
    let frame = Frame::of_batch(batch);
    let (ids, tracks) = (frame.required_i64("span_id")?, frame.required_i64("track_id")?);
    let (kinds, depths) = (frame.text("kind")?, frame.required_i64("depth")?);
    let (starts, lengths) = (frame.required_i64("start_ns")?, frame.required_i64("dur_ns")?);
    for row in 0..frame.rows() {
        take(Found {
            start_ns: starts[row] - zero,
            dur_ns: lengths[row],
            span_id: ids[row],
            track: tracks[row] as i32,
            lane: shapes.lane(tracks[row], kind_of(kinds[row].as_deref()), depths[row]) as i32,
        });
    }
    Ok(())
}

/// Decides about names once each: rows repeat them.
struct Names<'a> {
    wanted: &'a SearchFor,
    /// The text in lower case.
    text: String,
    /// The names of the batch before, and what was decided about them.
    known: Option<ArrayRef>,
    verdicts: Vec<Option<bool>>,
}

impl<'a> Names<'a> {
    fn new(wanted: &'a SearchFor) -> Self {
        let text = match wanted {
            SearchFor::Text(text) => text.to_lowercase(),
            SearchFor::Name { .. } => String::new(),
        };
        Self { wanted, text, known: None, verdicts: Vec::new() }
    }

    /// The rows of a batch that are searched for.
    fn matching(&mut self, batch: &RecordBatch) -> Result<RecordBatch, RunError> {
        let names = texts(batch, "name")?;
        let is_same = self.known.as_ref().is_some_and(|known| known.to_data().ptr_eq(&names.values().to_data()));
        if !is_same {
            self.known = Some(Arc::clone(names.values()));
            self.verdicts = vec![None; names.values().len()];
        }
        let values = names.values().as_string::<i32>();
        let kinds = texts(batch, "kind")?;
        let kind_values = kinds.values().as_string::<i32>();
        let kept = (0..batch.num_rows()).map(|row| {
            let Some(key) = names.key(row) else { return Some(false) };
            let is_named = *self.verdicts[key].get_or_insert_with(|| match self.wanted {
                SearchFor::Text(_) => values.value(key).to_lowercase().contains(&self.text),
                SearchFor::Name { name, .. } => values.value(key) == name,
            });
            let is_kind = || match self.wanted {
                SearchFor::Text(_) => true,
                SearchFor::Name { kind, .. } => kinds.key(row).is_some_and(|key| kind_values.value(key) == kind),
            };
            Some(is_named && is_kind())
        });
        let kept: BooleanArray = kept.collect();
        filter_record_batch(batch, &kept).map_err(|error| RunError::Shape(error.to_string()))
    }
}

/// A column of texts, each of which is there once.
pub(super) fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a DictionaryArray<Int32Type>, RunError> {
    let column = batch.column_by_name(name).and_then(|column| column.as_dictionary_opt::<Int32Type>());
    column.ok_or_else(|| RunError::Shape(format!("{name} is not a column of strings")))
}
