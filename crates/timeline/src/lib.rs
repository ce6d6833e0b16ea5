//! What a timeline shows of one recording: its outline, the spans of a track, the critical path, its curves, one span with
//! everything around it, what a search finds, and a still picture.
//!
//! Times count from the first event of the recording, as `--from` and `--to` do, and a `depth` is the lane of a track:
//! spans of different families overlap, so each family has lanes of its own.

mod answer;
mod counters;
mod match_index;
mod names;
mod outline;
mod path;
mod picture;
mod read;
mod search;
mod shape;
mod span;
mod track;
mod worst;

use std::sync::Arc;

use stepscope_model::SourceRecord;
use stepscope_runs::OpenRun;

use self::counters::CurveCache;
pub use self::counters::CurveRange;
use self::names::NameCache;
pub use self::path::PathRange;
pub use self::picture::Stretch;
use self::read::ReaderCache;
use self::search::SearchCache;
pub use self::search::{SearchFor, SearchFrom};
use self::shape::ShapeCache;
pub use self::track::TrackRange;
pub use self::worst::FindingScope;

/// The timelines of a run's recordings, with what was worked out for them before.
pub struct Timelines {
    /// Lanes of timelines that were worked out before.
    shapes: ShapeCache,
    /// Tables that are read.
    readers: ReaderCache,
    /// Curves of the timeline that was looked at last.
    curves: CurveCache,
    /// Spans that searches found.
    searches: SearchCache,
    /// Names of the recording that was searched last.
    names: NameCache,
    run: Arc<OpenRun>,
}

impl Timelines {
    /// Of a run, with nothing worked out yet.
    #[must_use]
    pub fn of(run: Arc<OpenRun>) -> Self {
        Self {
            shapes: ShapeCache::default(),
            readers: ReaderCache::default(),
            curves: CurveCache::default(),
            searches: SearchCache::default(),
            names: NameCache::default(),
            run,
        }
    }
}

/// The time that is 0 in answers.
fn zero_of(source: &SourceRecord) -> i64 {
    source.first_event_ns.unwrap_or(0)
}

/// The condition on rank and window.
fn condition(source: &SourceRecord) -> String {
    format!("rank = {} AND \"window\" = {}", source.id.rank, source.id.window)
}
