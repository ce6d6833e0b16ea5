//! Traces on their way into a store in a bucket: read into a temporary store, kept as packs in the spool, and uploaded
//! from there. The traces may be deleted as soon as they are in the spool.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stepscope_gather::{Patience, PlaceReport, Spool, SpoolState, UploadProgress, Uploader};
use stepscope_ingest::{Options, Outcome, Progress, Windows};
use stepscope_model::SourceRecord;
use stepscope_objects::{Place, Settings as ObjectSettings};
use stepscope_store::owned::{self, OwnedFolder};
use stepscope_store::{Store, StoreError};

use crate::error::{RunError, TEMPORARY_FULL};
use crate::settings::Settings;

/// How the folders of temporary stores begin.
pub(crate) const TEMPORARY_PREFIX: &str = "stepscope-temporary-";

/// The ranks of a job finish at the same time. In the background each uploads at its own moment of a minute.
const SPREAD: Duration = Duration::from_mins(1);

/// Ingests traces into a store in a bucket.
pub(crate) fn ingest(
    paths: &[PathBuf],
    place: &Place,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let spool = Spool::from_environment()?;
    let goes_on = || if progress.canceled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let turn = settings.background.then(|| spool.turn(&goes_on)).transpose()?;
    let parent = std::env::temp_dir();
    owned::sweep(&parent, TEMPORARY_PREFIX);
    let fail = |source| RunError::Cache { path: parent.clone(), source }.at_place(&parent, TEMPORARY_FULL);
    let folder = OwnedFolder::create(&parent, TEMPORARY_PREFIX).map_err(fail)?;
    let store = Store::create(folder.path())?;
    // Other hosts write to the same run, so that nothing but the recording itself can number it.
    let options = Options { windows: Windows::ByContent, ..settings.for_ingest() };
    let outcome = stepscope_ingest::ingest(paths, &store, &options, progress)
        .map_err(|error| RunError::from(error).at_place(&parent, TEMPORARY_FULL))?;
    let records: Vec<&SourceRecord> = outcome.sources.iter().map(|source| &source.record).collect();
    keep(&spool, &store, &records, settings, place)?;
    drop((folder, turn));
    upload(&spool, place, settings, progress)?;
    Ok(outcome)
}

/// Uploads every source of a store in the folder form, as it is numbered there.
pub fn upload_store(folder: &Path, settings: &Settings, progress: &dyn Progress) -> Result<PlaceReport, RunError> {
    let root = settings.store.as_deref().ok_or(RunError::NoStore)?;
    let place = Place::of_path(root).map_err(StoreError::from)?;
    let (store, spool) = (Store::open(folder)?, Spool::from_environment()?);
    if let Some(folder) = place.folder() {
        stepscope_store::disk::create_folders(folder)?;
    }
    for run in store.runs()? {
        let records = store.sources(&run)?;
        keep(&spool, &store, &records.iter().collect::<Vec<_>>(), settings, &place)?;
    }
    upload(&spool, &place, settings, progress)
}

/// Uploads what waits in the spool.
pub fn upload_spool(settings: &Settings, progress: &dyn Progress) -> Result<Vec<PlaceReport>, RunError> {
    send(&Spool::from_environment()?, "the spool", settings, progress)
}

/// What waits in the spool.
pub fn spool_state() -> Result<(PathBuf, SpoolState), RunError> {
    let spool = Spool::from_environment()?;
    Ok((spool.root().to_owned(), spool.state()?))
}

fn keep(
    spool: &Spool,
    store: &Store,
    records: &[&SourceRecord],
    settings: &Settings,
    place: &Place,
) -> Result<(), RunError> {
    for record in records {
        spool.keep(store, record, settings.depth, place)?;
    }
    Ok(())
}

/// Sends what is in the spool. Packs of another place that cannot be sent are no failure of this one.
fn upload(spool: &Spool, place: &Place, settings: &Settings, progress: &dyn Progress) -> Result<PlaceReport, RunError> {
    let name = place.to_string();
    let mut own = PlaceReport { place: name.clone(), ..PlaceReport::default() };
    for report in send(spool, &name, settings, progress)? {
        if report.place == name {
            own = report;
        } else if report.left > 0 {
            let (left, place) = (recordings(report.left), &report.place);
            progress.notice(&format!("{left} for {place} could not be uploaded and stay in the spool"));
        }
    }
    if own.left > 0 {
        return Err(RunError::NotUploaded { left: own.left, place: own.place, source: own.error.map(Box::new) });
    }
    progress.notice(&sentence(&own));
    Ok(own)
}

/// Sends every pack of the spool; one report per place. There is none if another process of this machine uploads in the
/// background: it sends the packs of this one too.
fn send(
    spool: &Spool,
    shown: &str,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Vec<PlaceReport>, RunError> {
    let watch = |done: UploadProgress| {
        progress.update(shown, done.bytes_done, Some(done.bytes));
        if progress.canceled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let uploader = Uploader::new(spool, ObjectSettings::from_env());
    let report = if settings.background {
        { uploader }.with_spread(SPREAD).upload_until(Patience::default(), &watch)?
    } else {
        Some({ uploader }.upload(&watch)?)
    };
    Ok(report.map(|report| report.places).unwrap_or_default())
}

/// What became of the packs.
fn sentence(report: &PlaceReport) -> String {
    let uploaded = recordings(report.uploaded + report.by_others);
    let found = match report.found {
        0 => String::new(),
        found => format!(", {} already there", recordings(found)),
    };
    format!("uploaded {uploaded} to {}{found}", report.place)
}

fn recordings(count: u64) -> String {
    if count == 1 { "1 recording".to_owned() } else { format!("{count} recordings") }
}
