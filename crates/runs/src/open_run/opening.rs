//! How a run comes to be open: from traces, through the cache or a temporary store, or from a store of the user's own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use stepscope_engine::Engine;
use stepscope_ingest::{Ingested, Outcome, Progress};
use stepscope_model::derived_tables::CRITICAL_PATH;
use stepscope_model::{SkippedFile, SourceRecord, skipped_sentences};
use stepscope_objects::Place;
use stepscope_store::owned::{self, OwnedFolder};
use stepscope_store::{AnyStore, Catalog, Store, StoreError};

use super::{Held, OpenRun};
use crate::cache::{Cache, CachePlace, CachedStore, Filling, Inputs, Published, Setup};
use crate::critical_path::CriticalPaths;
use crate::error::{CACHE_FULL, RunError, STORE_FULL, TEMPORARY_FULL};
use crate::into_bucket::{self, TEMPORARY_PREFIX};
use crate::protected::refuse_folder;
use crate::run_choice::RunChoice;
use crate::run_input::RunInput;
use crate::settings::Settings;
use crate::step_models::StepModels;
use crate::stored::{find_store, is_missing};
use crate::watching::watch_of;

/// Ingests traces and folders into the store of the settings.
pub fn ingest(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Outcome, RunError> {
    let root = settings.store.as_deref().ok_or(RunError::NoStore)?;
    let outcome = ingest_into_store(paths, root, settings, progress)?;
    let records = || outcome.sources.iter().map(|source| &source.record);
    tell_apart(records(), progress);
    tell_damage(records(), progress);
    tell_skipped(&outcome.skipped, progress);
    Ok(outcome)
}

impl OpenRun {
    /// Opens a store, a run of a store, or traces; traces are ingested first unless the user's cache has them.
    pub fn open(paths: &[PathBuf], settings: &Settings, progress: &dyn Progress) -> Result<Self, RunError> {
        Self::open_from(paths, settings, &Cache::from_environment, progress)
    }

    /// Like [`Self::open`], with a cache of one's own.
    pub fn open_with(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        Self::open_from(paths, settings, &|| Ok(cache.clone()), progress)
    }

    fn open_from(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &dyn Fn() -> Result<Cache, RunError>,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        let run = if settings.run == RunChoice::All { RunChoice::Only } else { settings.run.clone() };
        let settings = Settings { run, ..settings.clone() };
        let opened = Self::open_anything(paths, &settings, cache, progress)?.pop();
        let run = opened.ok_or_else(|| RunError::Shape("no run was opened".to_owned()))?;
        tell_damage(run.sources(), progress);
        tell_skipped(&run.skipped, progress);
        Ok(run)
    }

    /// Opens what [`find_runs`](crate::find_runs) found: one run, or several where the traces of a folder are of several
    /// jobs.
    pub fn open_found(input: &RunInput, settings: &Settings, progress: &dyn Progress) -> Result<Vec<Self>, RunError> {
        let choice = if settings.run == RunChoice::Only { RunChoice::All } else { settings.run.clone() };
        let settings = Settings { flat_folders: true, run: choice, ..settings.clone() };
        let runs = Self::open_anything(&input.paths, &settings, &Cache::from_environment, progress)?;
        for run in &runs {
            tell_damage(run.sources(), progress);
        }
        Ok(runs)
    }

    fn open_anything(
        paths: &[PathBuf],
        settings: &Settings,
        cache: &dyn Fn() -> Result<Cache, RunError>,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, RunError> {
        if let Some(missing) = paths.iter().find(|path| is_missing(path)) {
            return Err(RunError::NotFound { path: missing.clone() });
        }
        for path in paths {
            let Some((store, run)) = find_store(path)? else { continue };
            if let [_, _, ..] = paths {
                return Err(RunError::StoreAmongTraces { path: store.place().to_string().into() });
            }
            return Self::open_runs(&store, run.map(|run| vec![run]), settings, Held::Nothing, progress);
        }
        if let Some(root) = &settings.store {
            let runs = run_names(&ingest_into_store(paths, root, settings, progress)?.sources);
            return Self::open_runs(
                &AnyStore::open(&Place::of_path(root).map_err(StoreError::from)?)?,
                Some(runs),
                settings,
                Held::Nothing,
                progress,
            );
        }
        match inputs(paths, settings)? {
            Some(inputs) if !settings.no_cache => {
                let opened = cache().and_then(|cache| Self::open_cached(paths, &inputs, settings, &cache, progress));
                match opened {
                    Err(error) if error.is_about_cache() => {
                        tell_uncached(&error, progress);
                        Self::open_temporary(paths, Some(&inputs), settings, progress)
                    }
                    opened => opened,
                }
            }
            inputs => Self::open_temporary(paths, inputs.as_ref(), settings, progress),
        }
    }

    /// Ingests into a folder that goes away with the run.
    fn open_temporary(
        paths: &[PathBuf],
        inputs: Option<&Inputs>,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, RunError> {
        let parent = std::env::temp_dir();
        owned::sweep(&parent, TEMPORARY_PREFIX);
        let fail = |source| RunError::Cache { path: parent.clone(), source }.at_place(&parent, TEMPORARY_FULL);
        let folder = OwnedFolder::create(&parent, TEMPORARY_PREFIX).map_err(fail)?;
        let ingested = fill(paths, folder.path(), settings, progress);
        ingested.map_err(|error| error.at_place(&parent, TEMPORARY_FULL))?;
        if let Some(inputs) = inputs {
            tell_change(paths, inputs, settings, progress)?;
        }
        let store = AnyStore::open_folder(folder.path())?;
        Self::open_runs(&store, None, settings, Held::Temporary { _folder: folder }, progress)
    }

    /// Opens the store that the cache has for the traces, or fills it.
    fn open_cached(
        paths: &[PathBuf],
        inputs: &Inputs,
        settings: &Settings,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, RunError> {
        cache.check_owner()?;
        let setup = Setup::of(settings);
        let filling = match cache.place(inputs, &setup, progress)? {
            CachePlace::ToFill(filling) => filling,
            CachePlace::Ready(store) => match Self::open_kept(store, settings, progress) {
                // A strict user shall hear what is broken, and where, from the trace itself.
                Ok(runs) if settings.strict && runs.iter().any(Self::is_damaged) => {
                    return Self::open_temporary(paths, Some(inputs), settings, progress);
                }
                Err(error) if error.is_broken_store() => {
                    progress.notice("the cache holds a damaged store of this trace; reading the trace again");
                    cache.discard(inputs, &setup)?;
                    match cache.place(inputs, &setup, progress)? {
                        CachePlace::ToFill(filling) => filling,
                        // Somebody has the damaged store open, so it could not be removed.
                        CachePlace::Ready(_) => return Self::open_temporary(paths, Some(inputs), settings, progress),
                    }
                }
                result => return result,
            },
        };
        let outcome = fill(paths, filling.path(), settings, progress)
            .map_err(|error| error.at_place(cache.root(), CACHE_FULL))?;
        if tell_change(paths, inputs, settings, progress)? || outcome.is_transient {
            return Self::open_unkept(filling.detach()?, settings, progress);
        }
        let sources: Vec<&SourceRecord> = outcome.sources.iter().map(|source| &source.record).collect();
        match filling.publish(&sources)? {
            Published::Kept(store) => Self::open_kept(store, settings, progress),
            Published::Unkept(filling) => Self::open_unkept(filling, settings, progress),
        }
    }

    fn open_kept(store: CachedStore, settings: &Settings, progress: &dyn Progress) -> Result<Vec<Self>, RunError> {
        let opened = AnyStore::open_folder(store.root())?;
        Self::open_runs(&opened, None, settings, Held::Cached { store }, progress)
    }

    fn open_unkept(filling: Filling, settings: &Settings, progress: &dyn Progress) -> Result<Vec<Self>, RunError> {
        let store = AnyStore::open_folder(filling.path())?;
        Self::open_runs(&store, None, settings, Held::Unkept { _filling: filling }, progress)
    }

    /// Opens the runs that are meant, of these or of all that the store has.
    fn open_runs(
        store: &AnyStore,
        runs: Option<Vec<String>>,
        settings: &Settings,
        held: Held,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, RunError> {
        let runs = runs.map_or_else(|| store.runs(), Ok)?;
        let held = Arc::new(held);
        let watch = watch_of(store.place(), progress);
        let runs = settings.run.of(runs, store)?.into_iter();
        runs.map(|run| Self::open_one(store.catalog(&run, settings.scope(), &watch)?, settings, &held, progress))
            .collect()
    }

    fn open_one(
        catalog: Catalog,
        settings: &Settings,
        held: &Arc<Held>,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        if let Some(left_out) = catalog.left_out().filter(|_| settings.window.is_none()) {
            let (open, windows) = (left_out.open, left_out.windows.len() + 1);
            progress.notice(&format!("window {open} is open, the newest of {windows}; choose another with --window N"));
        }
        let mut sources = Arc::clone(catalog.sources());
        let mut skipped = catalog.skipped().to_vec();
        if let Held::Cached { store } = &**held {
            let mut renamed = sources.to_vec();
            let paths = renamed.iter_mut().map(|source| &mut source.path);
            paths.chain(skipped.iter_mut().map(|file| &mut file.path)).for_each(|path| store.rename(path));
            sources = renamed.into();
        }
        let engine = Engine::open(&catalog, &settings.for_engine())?;
        let step_models = Arc::new(StepModels::new(settings.memory_limit_bytes, settings.memory_limit_bytes()));
        let paths = CriticalPaths {
            catalog: catalog.clone(),
            sources: Arc::clone(&sources),
            step_models: Arc::clone(&step_models),
        };
        let ids = sources.iter().map(|source| source.id).collect();
        engine.derive(&CRITICAL_PATH, ids, Arc::new(move |id| paths.rows(id)))?;
        Ok(Self {
            catalog,
            sources,
            skipped,
            engine,
            lenient_engine: OnceLock::new(),
            settings: settings.clone(),
            step_models,
            _held: Arc::clone(held),
        })
    }

    fn is_damaged(&self) -> bool {
        self.sources.iter().any(|source| source.damage_notice().is_some())
            || self.skipped.iter().any(|file| file.is_unreadable)
    }
}

/// Ingests into a store, which is made if it is not there.
fn fill(paths: &[PathBuf], root: &Path, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, RunError> {
    let store = Store::create(root)?;
    Ok(stepscope_ingest::ingest(paths, &store, &settings.for_ingest(), progress)?)
}

/// Ingests into a store of the user.
fn ingest_into_store(
    paths: &[PathBuf],
    root: &Path,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let place = Place::of_path(root).map_err(StoreError::from)?;
    if place.folder().is_none() {
        return into_bucket::ingest(paths, &place, settings, progress);
    }
    refuse_folder(root, paths)?;
    let before = inputs(paths, settings).ok().flatten();
    let ingested = fill(paths, root, settings, progress).map_err(|error| error.at_place(root, STORE_FULL))?;
    if let Some(before) = before {
        tell_change(paths, &before, settings, progress)?;
    }
    Ok(ingested)
}

/// The files behind the paths; `None` if they cannot be read twice.
fn inputs(paths: &[PathBuf], settings: &Settings) -> Result<Option<Inputs>, RunError> {
    if paths.iter().any(|path| path.as_os_str() == "-" || Place::is_address(path)) {
        return Ok(None);
    }
    let fail = |source| {
        let path = paths.first().cloned().unwrap_or_default();
        RunError::Ingest(stepscope_ingest::IngestError::Open { path, source })
    };
    Inputs::look(paths, settings.flat_folders).map_err(fail)
}

/// Whether a file is not what it was when reading began: then what was read is neither the old file nor the new one.
/// A strict user is refused.
fn tell_change(
    paths: &[PathBuf],
    before: &Inputs,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<bool, RunError> {
    let after = inputs(paths, settings).ok().flatten();
    let changed = match &after {
        Some(after) => before.difference(after),
        None => paths.first().cloned(),
    };
    let Some(path) = changed else { return Ok(false) };
    if settings.strict {
        return Err(RunError::Changed { path });
    }
    let path = path.display();
    progress.notice(&format!(
        "{path}: the file changed while it was read; the job may still be writing it, so the answer is not kept"
    ));
    Ok(true)
}

/// Says why nothing is kept of a trace: it is read again the next time.
fn tell_uncached(error: &RunError, progress: &dyn Progress) {
    let place = error.location().map_or_else(String::new, |place| format!(": {place}"));
    let why = error.why_uncached();
    progress.notice(&format!("using a temporary store, the cache cannot be used: {why}{place}"));
}

/// Says what is broken, also when it was found out long ago: a cached answer is no better than a fresh one.
fn tell_damage<'a>(sources: impl IntoIterator<Item = &'a SourceRecord>, progress: &dyn Progress) {
    const TOLD: usize = 4;
    let notices: Vec<String> = sources.into_iter().filter_map(SourceRecord::damage_notice).collect();
    for notice in notices.iter().take(TOLD) {
        progress.notice(notice);
    }
    if notices.len() > TOLD {
        progress.notice(&format!("{} more traces are broken; `stepscope health` lists them all", notices.len() - TOLD));
    }
}

/// Says why files that lie together are several runs.
fn tell_apart<'a>(sources: impl Iterator<Item = &'a SourceRecord>, progress: &dyn Progress) {
    const TOLD: usize = 4;
    let apart: Vec<(&str, &str)> =
        sources.filter_map(|source| Some((source.path.as_str(), source.apart_because.as_deref()?))).collect();
    for (path, reason) in apart.iter().take(TOLD) {
        progress.notice(&format!("{path} is a separate run: {reason}"));
    }
    if apart.len() > TOLD {
        progress.notice(&format!("{} more files are separate runs", apart.len() - TOLD));
    }
}

/// Says what lies beside the traces and was not read.
fn tell_skipped(files: &[SkippedFile], progress: &dyn Progress) {
    for sentence in skipped_sentences(files) {
        progress.notice(&sentence);
    }
}

fn run_names(ingested: &[Ingested]) -> Vec<String> {
    let mut names: Vec<String> = ingested.iter().map(|source| source.record.run.clone()).collect();
    names.sort();
    names.dedup();
    names
}
