//! Keeps runs of a store in order: merges their packs into blocks, deletes what is old, checks, exports.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use stepscope_gather::{
    CompactError, CompactOptions, Compaction, Compactor, ExpireOptions, Expiry, Export, Progress as Compacting,
    Verification,
};
use stepscope_ingest::Progress;
use stepscope_objects::Bucket;
use stepscope_store::{Store, StoreError, manifest};

use crate::error::RunError;
use crate::settings::Settings;
use crate::stored::find_store;
use crate::watching::watch_of;

/// How often a wait looks whether the user ended it.
const TICK: Duration = Duration::from_millis(100);

/// Runs of a store that lies in packs.
pub struct PackedRuns {
    bucket: Bucket,
    names: Vec<String>,
    /// Whether the run that was named is nowhere to be seen.
    is_missing: bool,
}

impl PackedRuns {
    /// The run at a path, or those of the store at a path that the settings mean.
    pub fn find(path: &Path, settings: &Settings) -> Result<Self, RunError> {
        let Some((store, run)) = find_store(path)? else {
            return Err(StoreError::NotAStore { path: path.to_owned() }.into());
        };
        let packed = store.packed_runs()?;
        let is_missing = run.as_ref().is_some_and(|run| !packed.contains(run));
        let names = match run {
            Some(run) => vec![run],
            None => settings.run.of(packed, &store)?,
        };
        Ok(Self { bucket: store.bucket().clone(), names, is_missing })
    }

    /// Merges packs into blocks, with each run's outcome.
    pub fn compact(
        &self,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<(String, Compaction)>, RunError> {
        self.each(|run| {
            // Of a small run also what was recorded long ago and uploaded now is merged.
            let newest = manifest::read_newest(&self.bucket, run)?;
            let all = options.all || newest.is_none_or(|newest| newest.is_of_small_run());
            let options = CompactOptions { all, ..options.clone() };
            self.watched(progress, |watch| Compactor::new(&self.bucket, run, &options)?.round(watch))
        })
    }

    /// Merges packs into blocks again and again, until the user ends it; also those of runs that come later. An object
    /// store that does not answer is asked again in the next round.
    pub fn compact_every(
        path: &Path,
        settings: &Settings,
        pause: Duration,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        let mut runs = Self::find(path, settings)?;
        let mut compactors = BTreeMap::new();
        loop {
            let begin = Instant::now();
            runs.compact_again(&mut compactors, options, progress)?;
            while begin.elapsed() < pause {
                if progress.canceled() {
                    return Err(CompactError::Canceled.into());
                }
                thread::sleep(TICK.min(pause));
            }
            match Self::find(path, settings) {
                Ok(found) => runs = found,
                Err(error) => next_round(&path.display().to_string(), error, progress)?,
            }
        }
    }

    /// One round of every run. Its compactor is kept, because it remembers what it has read.
    fn compact_again(
        &self,
        compactors: &mut BTreeMap<String, Compactor>,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        for run in &self.names {
            let mut round = || {
                let compactor = match compactors.entry(run.clone()) {
                    Entry::Occupied(compactor) => compactor.into_mut(),
                    Entry::Vacant(place) => place.insert(Compactor::new(&self.bucket, run, options)?),
                };
                self.watched(progress, |watch| compactor.round(watch))
            };
            match round() {
                Ok(done) if done.added > 0 => {
                    let (merged, blocks) = (done.merged, done.added);
                    progress.notice(&format!("{run}: merged recordings {merged}, blocks {blocks}"));
                }
                Ok(_) => {}
                Err(error) => next_round(run, error, progress)?,
            }
        }
        Ok(())
    }

    /// Makes manifest and blocks again from packs.
    pub fn rebuild(
        &self,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<(String, Compaction)>, RunError> {
        // It writes a manifest whatever it finds.
        self.refuse_missing()?;
        self.each(|run| self.watched(progress, |watch| stepscope_gather::rebuild(&self.bucket, run, options, watch)))
    }

    /// Deletes what is too old, or says what it would delete.
    pub fn expire(&self, options: &ExpireOptions, progress: &dyn Progress) -> Result<Vec<(String, Expiry)>, RunError> {
        let watch = watch_of(self.bucket.place(), progress);
        self.each(|run| Ok(stepscope_gather::expire(&self.bucket, run, options, &watch)?))
    }

    /// Reads every byte and compares it with what is said about it.
    pub fn verify(&self, progress: &dyn Progress) -> Result<Vec<(String, Verification)>, RunError> {
        let watch = watch_of(self.bucket.place(), progress);
        self.each(|run| Ok(stepscope_gather::verify(&self.bucket, run, &watch)?))
    }

    /// Writes the recordings into a store in a folder.
    pub fn export(&self, folder: &Path, progress: &dyn Progress) -> Result<Vec<(String, Export)>, RunError> {
        let store = Store::create(folder)?;
        let watch = watch_of(self.bucket.place(), progress);
        self.each(|run| Ok(stepscope_gather::export(&self.bucket, run, &store, &watch)?))
    }

    fn each<T>(&self, task: impl Fn(&str) -> Result<T, RunError>) -> Result<Vec<(String, T)>, RunError> {
        let outcomes: Result<_, RunError> = self.names.iter().map(|run| Ok((run.clone(), task(run)?))).collect();
        // What is wrong with the object store itself is said first.
        let outcomes = outcomes?;
        self.refuse_missing()?;
        Ok(outcomes)
    }

    fn refuse_missing(&self) -> Result<(), RunError> {
        if self.is_missing { Err(CompactError::NoPacks { run: self.names.join(", ") }.into()) } else { Ok(()) }
    }

    /// Shows how far a compaction is. What it says of a block is a count, not bytes, so it is said in words.
    fn watched<T>(
        &self,
        progress: &dyn Progress,
        task: impl FnOnce(stepscope_gather::OnProgress<'_>) -> Result<T, CompactError>,
    ) -> Result<T, RunError> {
        let place = self.bucket.place().to_string();
        let shown = RefCell::new(place.clone());
        let watch = |at: &Compacting| {
            if let Compacting::Merged { window, sources, of } = at {
                *shown.borrow_mut() = format!("{place}: window {window}, {sources} of {of} recordings");
            }
            progress.update(&shown.borrow(), 0, None);
            if progress.canceled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        Ok(task(&watch)?)
    }
}

/// Says what the next round tries again; an error that will not go away ends it.
fn next_round(what: &str, error: RunError, progress: &dyn Progress) -> Result<(), RunError> {
    if !error.is_temporary() {
        return Err(error);
    }
    progress.notice(&format!("{what}: {error}; it is tried again in the next round"));
    Ok(())
}
