//! Models of what waited for what in a recording. They are kept while they fit into memory: to build one takes far longer
//! than to ask it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use stepscope_model::{SourceId, SourceRecord};
use stepscope_replay::read::{self, ReadError, Settings};
use stepscope_replay::{JobModel, StepModel, WINDOW_STEPS};
use stepscope_store::Catalog;

use crate::error::RunError;

/// The model of a window of steps, and what memory left out of it.
#[derive(Debug)]
pub struct WindowModel {
    /// The model.
    pub model: StepModel,
    /// Steps that the window would have had with more memory.
    pub steps_left_out: usize,
    /// Whether typical lags come from every device event, not from those of the window alone.
    pub has_all_events: bool,
}

/// A model, or the null reason why there is none.
pub type Modeled = Result<Arc<WindowModel>, &'static str>;

/// The model of the same window of several ranks, and what memory left out of it.
#[derive(Debug)]
pub struct JobWindow {
    /// The model.
    pub model: JobModel,
    /// Steps that the window would have had with more memory.
    pub steps_left_out: usize,
}

/// The models of a run that fit into memory.
pub(crate) struct StepModels {
    memory_limit_bytes: u64,
    /// The least recently used first.
    kept: Mutex<Vec<Kept>>,
    /// Taken while a model is built: one at a time, so that the limit holds.
    building: Mutex<()>,
}

/// A recording, the most steps of its window, and the step that it ends with unless that is the usual one.
type Key = (SourceId, usize, Option<usize>);

struct Kept {
    key: Key,
    bytes: u64,
    modeled: Modeled,
}

/// What was read, or the null reason why nothing was.
fn known<T>(taken: Result<T, ReadError>) -> Result<Result<T, &'static str>, RunError> {
    match taken {
        Ok(taken) => Ok(Ok(taken)),
        Err(ReadError::Null(reason)) => Ok(Err(reason)),
        Err(ReadError::Store(error)) => Err(error.into()),
        Err(error @ ReadError::Column { .. }) => Err(RunError::Shape(error.to_string())),
    }
}

/// A model and the bytes that it takes.
fn build(taken: Result<read::Taken, ReadError>) -> Result<(Modeled, u64), RunError> {
    let taken = match known(taken)? {
        Ok(taken) => taken,
        Err(reason) => return Ok((Err(reason), 0)),
    };
    let (bytes, steps_left_out, has_all_events) = (taken.model_bytes(), taken.steps_left_out, taken.has_all_events);
    let model = StepModel::build(taken.recording);
    Ok((model.map(|model| Arc::new(WindowModel { model, steps_left_out, has_all_events })), bytes))
}

impl StepModels {
    /// Keeps up to the memory that the user set; else what a query may take, but not above the usual limit of a model.
    pub(crate) fn new(set_bytes: Option<u64>, query_bytes: u64) -> Self {
        let usual_bytes = query_bytes.min(Settings::default().memory_limit_bytes);
        let memory_limit_bytes = set_bytes.unwrap_or(usual_bytes);
        Self { memory_limit_bytes, kept: Mutex::default(), building: Mutex::default() }
    }

    /// The model of a recording's usual window (A1), or of the one that ends with the last of the asked steps if the
    /// usual one does not reach it; longer than usual if more steps are asked for. They are asked for by their places.
    pub(crate) fn of(
        &self,
        catalog: &Catalog,
        source: &SourceRecord,
        asked: Option<&Range<usize>>,
    ) -> Result<Modeled, RunError> {
        let steps = asked.map_or(0, Range::len).max(WINDOW_STEPS);
        let modeled = |last_step: Option<usize>| {
            self.get((source.id, steps, last_step), || {
                let settings = Settings { steps, last_step, memory_limit_bytes: self.memory_limit_bytes };
                build(read::read(catalog, source, &settings))
            })
        };
        let usual = modeled(None)?;
        let last = asked.and_then(|asked| asked.end.checked_sub(1));
        match (&usual, last) {
            (Ok(window), Some(last)) if !window.model.recording().window.steps.contains(&last) => modeled(Some(last)),
            _ => Ok(usual),
        }
    }

    /// The model of several ranks, which is not kept; or the null reason why there is none.
    pub(crate) fn of_job(
        &self,
        catalog: &Catalog,
        sources: &[SourceRecord],
    ) -> Result<Result<JobWindow, &'static str>, RunError> {
        let _one_at_a_time = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = Settings { memory_limit_bytes: self.memory_limit_bytes, ..Settings::default() };
        let taken = known(read::read_job(catalog, sources, &settings))?;
        Ok(taken.and_then(|taken| {
            let model = JobModel::build(taken.recordings)?;
            Ok(JobWindow { model, steps_left_out: taken.steps_left_out })
        }))
    }

    /// The model that is kept, else the one that is built now.
    fn get(&self, key: Key, build: impl FnOnce() -> Result<(Modeled, u64), RunError>) -> Result<Modeled, RunError> {
        if let Some(modeled) = self.look(key) {
            return Ok(modeled);
        }
        let _one_at_a_time = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have built it meanwhile.
        if let Some(modeled) = self.look(key) {
            return Ok(modeled);
        }
        let (modeled, bytes) = build()?;
        self.keep(Kept { key, bytes, modeled: modeled.clone() });
        Ok(modeled)
    }

    fn look(&self, key: Key) -> Option<Modeled> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|kept| kept.key == key)?;
        let found = kept.remove(place);
        let modeled = found.modeled.clone();
        kept.push(found);
        Some(modeled)
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(new);
        let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
        // The newest stays, whatever its size.
        while bytes > self.memory_limit_bytes && kept.len() > 1 {
            bytes -= kept.remove(0).bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for models of 40 bytes by the letters of their ranks; the ones that had to be built.
    fn built(limit: u64, asked: &str) -> String {
        let models = StepModels::new(Some(limit), 0);
        let mut built = String::new();
        for rank in asked.chars() {
            let key = (SourceId { rank: u32::from(rank), window: 0 }, WINDOW_STEPS, None);
            let modeled = models.get(key, || {
                built.push(rank);
                Ok((Err("no complete step"), 40))
            });
            assert_eq!(modeled.unwrap().unwrap_err(), "no complete step");
        }
        built
    }

    #[test]
    fn memory_that_is_set_is_the_limit() {
        let limit = |set: Option<u64>, query: u64| StepModels::new(set, query).memory_limit_bytes;
        assert_eq!((limit(Some(5 << 30), 7 << 30), limit(Some(10), 7 << 30)), (5 << 30, 10));
        assert_eq!((limit(None, 7 << 30), limit(None, 10)), (1 << 30, 10));
    }

    #[test]
    fn models_are_kept_while_they_fit() {
        assert_eq!(built(100, "aabba"), "ab");
        // The one that was used longest ago gives way.
        assert_eq!(built(100, "abacab"), "abcb");
        // One is always kept.
        assert_eq!(built(10, "aabba"), "aba");
    }
}
