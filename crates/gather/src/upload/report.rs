//! What became of the packs of a spool.

use std::ops::ControlFlow;

use crate::error::GatherError;

/// Gets the progress of an upload on the caller's thread, several times per second. `Break` ends the upload.
pub type UploadWatch<'a> = &'a dyn Fn(UploadProgress) -> ControlFlow<()>;

/// How far an upload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UploadProgress {
    /// Packs that are done.
    pub packs_done: u64,
    /// Packs that were found in the spool.
    pub packs: u64,
    /// Bytes that are done.
    pub bytes_done: u64,
    /// Bytes that were found in the spool.
    pub bytes: u64,
}

/// What became of the packs of a spool, by place.
#[derive(Debug, Default)]
pub struct UploadReport {
    /// Places with at least one pack.
    pub places: Vec<PlaceReport>,
    /// Whether the watch ended it.
    pub is_canceled: bool,
}

/// What became of the packs of one place. Together these are all packs that were in the spool.
#[derive(Debug, Default)]
pub struct PlaceReport {
    /// The place; the folder in the spool if that does not say it.
    pub place: String,
    /// Packs that this process uploaded.
    pub uploaded: u64,
    /// Packs that were there before, or that an attempt stored whose answer was lost.
    pub found: u64,
    /// Packs that another process uploaded meanwhile.
    pub by_others: u64,
    /// Packs that are still in the spool.
    pub left: u64,
    /// Bytes of the packs that were uploaded.
    pub bytes: u64,
    /// The first reason why packs are left; `None` also if an upload was canceled.
    pub error: Option<GatherError>,
}

impl UploadReport {
    /// Packs that this process uploaded.
    #[must_use]
    pub fn uploaded(&self) -> u64 {
        self.places.iter().map(|place| place.uploaded).sum()
    }

    /// Packs that were there before.
    #[must_use]
    pub fn found(&self) -> u64 {
        self.places.iter().map(|place| place.found).sum()
    }

    /// Packs that another process uploaded.
    #[must_use]
    pub fn by_others(&self) -> u64 {
        self.places.iter().map(|place| place.by_others).sum()
    }

    /// Packs that are still in the spool.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.places.iter().map(|place| place.left).sum()
    }

    /// Bytes that were uploaded.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.places.iter().map(|place| place.bytes).sum()
    }

    /// Adds what a later attempt came to. What is left, and why, is what it says.
    pub(super) fn add(&mut self, later: Self) {
        for place in &mut self.places {
            place.left = 0;
            place.error = None;
        }
        for more in later.places {
            match self.places.iter_mut().find(|place| place.place == more.place) {
                Some(place) => {
                    place.uploaded += more.uploaded;
                    place.found += more.found;
                    place.by_others += more.by_others;
                    place.bytes += more.bytes;
                    place.left = more.left;
                    place.error = more.error;
                }
                None => self.places.push(more),
            }
        }
        self.is_canceled |= later.is_canceled;
    }
}
