//! The same window of several ranks.

use stepscope_model::SourceRecord;
use stepscope_store::Catalog;

use super::columns::Tables;
use super::{EVENT_BYTES, ReadError, SPAN_BYTES, Settings, Taken, collectives, read};
use crate::reason;
use crate::recording::Recording;

/// What was read of several ranks.
#[derive(Clone, Debug)]
pub struct TakenJob {
    /// The recordings, in the order of their sources.
    pub recordings: Vec<Recording>,
    /// Steps that the window would have had with more memory.
    pub steps_left_out: usize,
    /// Whether every device event of every rank was taken.
    pub has_all_events: bool,
}

/// Reads one recording of each rank, one after the other. They share the memory equally, and the rank that has room for
/// the fewest steps says how many all take. There is nothing to look at if even one step of all does not fit.
pub fn read_job(catalog: &Catalog, sources: &[SourceRecord], settings: &Settings) -> Result<TakenJob, ReadError> {
    let limit_bytes = settings.memory_limit_bytes;
    let mut settings = Settings { memory_limit_bytes: limit_bytes / sources.len().max(1) as u64, ..*settings };
    let mut taken: Vec<Option<Taken>> = vec![None; sources.len()];
    let mut steps_left_out = 0;
    // A rank that has less room than those before it makes them be read again, with fewer steps than they had.
    while taken.iter().any(Option::is_none) {
        for (place, source) in sources.iter().enumerate() {
            if taken[place].is_some() {
                continue;
            }
            let one = read_rank(catalog, source, &settings)?;
            if one.steps_left_out > 0 {
                steps_left_out += one.steps_left_out;
                settings.steps = one.recording.window.steps.len();
                for longer in &mut taken {
                    longer.take_if(|taken| taken.recording.window.steps.len() > settings.steps);
                }
            }
            taken[place] = Some(one);
            if taken.iter().flatten().map(|taken| bytes(&taken.recording)).sum::<u64>() > limit_bytes {
                return Err(ReadError::Null(reason::MEMORY_LIMIT));
            }
        }
    }
    let has_all_events = taken.iter().flatten().all(|taken| taken.has_all_events);
    let recordings = taken.into_iter().flatten().map(|taken| taken.recording).collect();
    Ok(TakenJob { recordings, steps_left_out, has_all_events })
}

fn read_rank(catalog: &Catalog, source: &SourceRecord, settings: &Settings) -> Result<Taken, ReadError> {
    let mut taken = read(catalog, source, settings)?;
    collectives::read(&Tables { catalog, source }, taken.has_all_events, &mut taken.recording)?;
    Ok(taken)
}

/// Bytes that a recording and its part of a graph take, about.
fn bytes(recording: &Recording) -> u64 {
    recording.spans.len() as u64 * SPAN_BYTES + recording.events.len() as u64 * EVENT_BYTES
}
