//! Tells how far deriving and writing are, and looks now and then whether to stop.

use crate::error::IngestError;
use crate::runs::Progress;

/// Rows between two looks.
const ROWS_PER_LOOK: u64 = 1 << 14;

/// Watches the rows of one file.
pub(crate) struct Watch<'a> {
    progress: &'a dyn Progress,
    file: &'a str,
    done: u64,
    total: u64,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: &'a dyn Progress, file: &'a str, total: u64) -> Self {
        Self { progress, file, done: 0, total }
    }

    /// One more row.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<(), IngestError> {
        self.done += 1;
        if self.done.is_multiple_of(ROWS_PER_LOOK) { self.look() } else { Ok(()) }
    }

    #[cold]
    fn look(&self) -> Result<(), IngestError> {
        self.progress.deriving(self.file, self.done, self.total);
        if self.progress.canceled() { Err(IngestError::Canceled) } else { Ok(()) }
    }
}
