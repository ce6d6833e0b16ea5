//! Sends the packs of a spool to their places.
//!
//! A pack leaves the spool only after its place has it. Any number of processes may upload one spool at the same time:
//! each locks the pack that it sends. Where locks do not work a pack is sent twice, which costs a request and no more.

mod pass;
mod report;
mod send;

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stepscope_objects::{Bucket, Settings};
use stepscope_store::marker;
use twox_hash::XxHash3_64;

use crate::error::GatherError;
use crate::spool::{self, PendingPack, PlaceFolder, Spool, try_lock};

use pass::{Job, Pass};
pub use report::{PlaceReport, UploadProgress, UploadReport, UploadWatch};
use send::{Others, Sent};

/// How long to wait for another process that sends the same pack, before it is sent twice.
const OTHERS_PATIENCE: Duration = Duration::from_mins(3);

/// Time between two looks whether another process has sent a pack.
const OTHERS_EACH: Duration = Duration::from_millis(50);

/// Uploads a spool. Asks each place once what it is, so one should do for a whole process.
#[derive(Debug)]
pub struct Uploader {
    spool: Spool,
    settings: Settings,
    spread: Duration,
    /// Places that were found to be stores, by their folder in the spool.
    buckets: BTreeMap<PathBuf, Bucket>,
}

/// How long uploads in the background go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time between two attempts.
    pub every: Duration,
    /// No attempt is made once every pack has waited longer than this.
    pub total: Duration,
}

impl Default for Patience {
    /// Each 10 minutes for a day.
    fn default() -> Self {
        Self { every: Duration::from_mins(10), total: Duration::from_hours(24) }
    }
}

impl Uploader {
    /// Uploads a spool, reaching its places with these settings.
    #[must_use]
    pub fn new(spool: &Spool, settings: Settings) -> Self {
        Self { spool: spool.clone(), settings, spread: Duration::ZERO, buckets: BTreeMap::new() }
    }

    /// Sends a pack no earlier than a part of `spread` after it was written. Its rank decides which part, so that a
    /// thousand ranks that finish at once do not upload at once.
    #[must_use]
    pub fn with_spread(self, spread: Duration) -> Self {
        Self { spread, ..self }
    }

    /// Sends every pack that is in the spool now. Returns when each is uploaded, by this process or by another one, or is
    /// left. What a place refuses is in the report; an error is about the spool itself.
    pub fn upload(&mut self, watch: UploadWatch<'_>) -> Result<UploadReport, GatherError> {
        self.spool.sweep();
        let folders = PlaceFolder::all(self.spool.root())?;
        let mut jobs = Vec::new();
        for (place, folder) in folders.iter().enumerate() {
            jobs.extend(folder.packs()?.into_iter().map(|pack| Job { place, wait: self.wait(&pack), pack }));
        }
        jobs.sort_by_key(|job| job.wait);
        let mut pass = Pass::new(folders, &jobs, watch);
        self.send_all(&jobs, &mut pass);
        Ok(pass.into_report())
    }

    /// Uploads until the spool is empty or [`Patience`] ends. One process per machine does this at a time: `None` if
    /// another one does, which then also sends what this one kept.
    pub fn upload_until(
        &mut self,
        patience: Patience,
        watch: UploadWatch<'_>,
    ) -> Result<Option<UploadReport>, GatherError> {
        let mut report: Option<UploadReport> = None;
        while let Some(lock) = try_lock(self.spool.root(), "uploader")? {
            let whole = report.get_or_insert_default();
            whole.add(self.upload(watch)?);
            while whole.left() > 0 {
                let is_worth_it = self.youngest()?.is_some_and(|age| age <= patience.total);
                let progress = UploadProgress { packs: whole.left(), ..UploadProgress::default() };
                if whole.is_canceled || !is_worth_it {
                    return Ok(report);
                }
                if !pass::pause(patience.every, &|| watch(progress)) {
                    whole.is_canceled = true;
                    return Ok(report);
                }
                whole.add(self.upload(watch)?);
            }
            // Whoever kept a pack while the lock was ours relies on this process.
            drop(lock);
            if self.youngest()?.is_none() {
                break;
            }
        }
        Ok(report)
    }

    fn send_all(&mut self, jobs: &[Job], pass: &mut Pass<'_>) {
        let mut busy = Vec::new();
        for job in jobs {
            if !pass.wait_for(job) {
                return;
            }
            if self.send(job, Others::Respected, pass) == Some(Sent::Busy) {
                busy.push(job);
            }
        }
        let deadline = Instant::now() + OTHERS_PATIENCE;
        for job in busy {
            while self.send(job, Others::Respected, pass) == Some(Sent::Busy) {
                if !pass::pause(OTHERS_EACH, &|| pass.ask()) {
                    pass.cancel();
                    return;
                }
                if Instant::now() > deadline {
                    self.send(job, Others::Ignored, pass);
                    break;
                }
            }
        }
    }

    /// Sends one pack, and notes what became of it; `None` if it was not sent.
    fn send(&mut self, job: &Job, others: Others, pass: &mut Pass<'_>) -> Option<Sent> {
        if pass.is_over(job) {
            return None;
        }
        let folder = pass.folder(job).clone();
        let outcome = self
            .bucket(&folder)
            .and_then(|bucket| send::send(&bucket, &folder, &job.pack, others, &|done| pass.ask_at(done)));
        let sent = outcome.as_ref().ok().copied();
        pass.note(job, outcome);
        sent
    }

    /// The bucket of a place, after a look at what it is.
    fn bucket(&mut self, folder: &PlaceFolder) -> Result<Bucket, GatherError> {
        let known = self.buckets.get(folder.path());
        let place = known.map_or_else(|| folder.place(), |bucket| Ok(bucket.place().clone()))?;
        // Made anew below the point where a disk is not mounted, it would be hidden when the disk comes back.
        if let Some(path) = place.folder().filter(|path| !path.is_dir()) {
            return Err(GatherError::NoFolder { path: path.to_owned() });
        }
        if let Some(bucket) = known {
            return Ok(bucket.clone());
        }
        let bucket = Bucket::open_with(&place, &self.settings)?;
        marker::ensure(&bucket)?;
        self.buckets.insert(folder.path().to_owned(), bucket.clone());
        Ok(bucket)
    }

    /// How long a pack is to wait yet.
    fn wait(&self, pack: &PendingPack) -> Duration {
        delay(pack.name.id.rank, self.spread).saturating_sub(spool::age(pack))
    }

    /// How long the youngest pack has waited; `None` if there is no pack.
    fn youngest(&self) -> Result<Option<Duration>, GatherError> {
        let mut youngest: Option<Duration> = None;
        for folder in PlaceFolder::all(self.spool.root())? {
            for age in folder.packs()?.iter().map(spool::age) {
                youngest = Some(youngest.map_or(age, |other| other.min(age)));
            }
        }
        Ok(youngest)
    }
}

/// When a rank uploads, within `spread`.
fn delay(rank: u32, spread: Duration) -> Duration {
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(&rank.to_le_bytes());
    let milliseconds = u64::try_from(spread.as_millis()).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(hasher.finish() % milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_spread_evenly_and_each_always_alike() {
        let spread = Duration::from_mins(1);
        let mut by_second = [0_u32; 60];
        for rank in 0..16_384 {
            by_second[delay(rank, spread).as_secs() as usize] += 1;
        }
        // 273 on average.
        assert!(by_second.iter().all(|count| (200..350).contains(count)), "{by_second:?}");
        assert_eq!(delay(7, spread), delay(7, spread));
        assert_eq!(delay(7, Duration::ZERO), Duration::ZERO);
    }
}
