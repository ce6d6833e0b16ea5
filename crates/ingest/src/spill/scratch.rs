//! The memory that one ingest may use, and files for what does not fit.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;

use crate::error::IngestError;

/// Memory that is not counted, at most.
const UNCOUNTED_BYTES: u64 = 192 << 20;

/// Memory and disk that the parts of one ingest share.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    limit_bytes: usize,
    used_bytes: AtomicUsize,
}

impl Scratch {
    /// `folder` takes what does not fit. A part of the limit is for what is not counted: buffers of the reader and of
    /// the Parquet writers.
    pub(crate) fn new(folder: &Path, memory_limit_bytes: u64) -> Arc<Self> {
        let limit_bytes = (memory_limit_bytes - (memory_limit_bytes / 4).min(UNCOUNTED_BYTES)) as usize;
        Arc::new(Self { folder: folder.to_owned(), limit_bytes, used_bytes: AtomicUsize::new(0) })
    }

    /// All the memory there is to share.
    pub(crate) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Whether more is in use than there should be.
    pub(crate) fn is_full(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.limit_bytes
    }

    /// A file that is gone as soon as it is closed, however the process ends.
    pub(crate) fn file(&self) -> Result<File, IngestError> {
        tempfile::tempfile_in(&self.folder).map_err(|source| self.failed(source))
    }

    /// What to say when such a file cannot be written or read.
    pub(crate) fn failed(&self, source: io::Error) -> IngestError {
        IngestError::Spill { folder: self.folder.clone(), source }
    }

    /// The row of JSON in `bytes`, which were put aside before.
    pub(crate) fn read_row<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, IngestError> {
        serde_json::from_slice(bytes)
            .map_err(|source| IngestError::UnreadableRow { folder: self.folder.clone(), source })
    }
}

/// Memory that something holds, as counted in a `Scratch`.
#[derive(Debug)]
pub(crate) struct Held {
    scratch: Arc<Scratch>,
    bytes: usize,
}

/// Growth below this is not counted at once.
const STEP_BYTES: usize = 64 << 10;

impl Held {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { scratch: Arc::clone(scratch), bytes: 0 }
    }

    /// Where it is counted.
    pub(crate) fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    /// Counts that it grew; gives whether this made a difference that is worth a look at the limit.
    #[inline]
    pub(crate) fn grew_to(&mut self, bytes: usize) -> bool {
        if bytes < self.bytes + STEP_BYTES {
            return false;
        }
        self.set(bytes);
        true
    }

    /// Counts what is held now.
    pub(crate) fn set(&mut self, bytes: usize) {
        self.scratch.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.scratch.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}
