//! One attempt to send everything that is in a spool.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use stepscope_objects::ObjectError;

use super::report::{PlaceReport, UploadProgress, UploadReport, UploadWatch};
use super::send::Sent;
use crate::error::GatherError;
use crate::spool::{PendingPack, PlaceFolder};

/// Time between two looks at the watch.
const LOOK_EACH: Duration = Duration::from_millis(200);

/// A pack on its way.
pub(super) struct Job {
    /// Which of the places.
    pub(super) place: usize,
    pub(super) pack: PendingPack,
    /// When it may be sent, from the beginning of the attempt.
    pub(super) wait: Duration,
}

/// The state of an attempt.
pub(super) struct Pass<'a> {
    begin: Instant,
    watch: UploadWatch<'a>,
    progress: UploadProgress,
    places: Vec<OnePlace>,
    is_canceled: bool,
}

/// The state of one place.
struct OnePlace {
    folder: PlaceFolder,
    report: PlaceReport,
    /// Whether it refused in a way that it would repeat for each pack.
    is_over: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn new(folders: Vec<PlaceFolder>, jobs: &[Job], watch: UploadWatch<'a>) -> Self {
        let of_folder = |(number, folder): (usize, PlaceFolder)| {
            let left = jobs.iter().filter(|job| job.place == number).count() as u64;
            let unnamed = |_| folder.path().display().to_string();
            let place = folder.place().map_or_else(unnamed, |place| place.to_string());
            OnePlace { report: PlaceReport { place, left, ..PlaceReport::default() }, folder, is_over: false }
        };
        let bytes = jobs.iter().map(|job| job.pack.size_bytes).sum();
        let progress = UploadProgress { packs: jobs.len() as u64, bytes, ..UploadProgress::default() };
        let places = folders.into_iter().enumerate().map(of_folder).collect();
        Self { begin: Instant::now(), watch, progress, places, is_canceled: false }
    }

    /// Waits until a pack may be sent; false when the attempt is canceled.
    pub(super) fn wait_for(&mut self, job: &Job) -> bool {
        let wait = job.wait.saturating_sub(self.begin.elapsed());
        self.is_canceled = self.is_canceled || !pause(wait, &|| self.ask());
        !self.is_canceled
    }

    /// Asks the watch.
    pub(super) fn ask(&self) -> ControlFlow<()> {
        (self.watch)(self.progress)
    }

    /// Asks the watch in the middle of a pack.
    pub(super) fn ask_at(&self, bytes_done: u64) -> ControlFlow<()> {
        (self.watch)(UploadProgress { bytes_done: self.progress.bytes_done + bytes_done, ..self.progress })
    }

    pub(super) fn cancel(&mut self) {
        self.is_canceled = true;
    }

    /// Whether it makes no sense to send a pack.
    pub(super) fn is_over(&self, job: &Job) -> bool {
        self.is_canceled || self.places[job.place].is_over
    }

    pub(super) fn folder(&self, job: &Job) -> &PlaceFolder {
        &self.places[job.place].folder
    }

    /// Notes what became of a pack.
    pub(super) fn note(&mut self, job: &Job, outcome: Result<Sent, GatherError>) {
        let OnePlace { report, is_over, .. } = &mut self.places[job.place];
        match outcome {
            Ok(Sent::Busy) => return,
            Ok(Sent::Uploaded) => {
                report.uploaded += 1;
                report.bytes += job.pack.size_bytes;
            }
            Ok(Sent::Found) => report.found += 1,
            Ok(Sent::ByOthers) => report.by_others += 1,
            Err(GatherError::Object(error)) if error.is_canceled() => {
                self.is_canceled = true;
                return;
            }
            Err(error) => {
                *is_over |= !is_about_one_pack(&error);
                report.error.get_or_insert(error);
                return;
            }
        }
        report.left -= 1;
        self.progress.packs_done += 1;
        self.progress.bytes_done += job.pack.size_bytes;
    }

    pub(super) fn into_report(self) -> UploadReport {
        let places = self.places.into_iter().map(|place| place.report);
        let has_packs = |place: &PlaceReport| place.uploaded + place.found + place.by_others + place.left > 0;
        UploadReport { places: places.filter(has_packs).collect(), is_canceled: self.is_canceled }
    }
}

/// Waits, and asks `watch` meanwhile, at least once; false when that ends it.
pub(super) fn pause(length: Duration, watch: &dyn Fn() -> ControlFlow<()>) -> bool {
    let end = Instant::now() + length;
    loop {
        if watch().is_break() {
            return false;
        }
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return true;
        }
        thread::sleep(rest.min(LOOK_EACH));
    }
}

/// Whether the other packs of a place are worth an attempt.
fn is_about_one_pack(error: &GatherError) -> bool {
    matches!(error, GatherError::Io { .. } | GatherError::Object(ObjectError::Taken { .. }))
}
