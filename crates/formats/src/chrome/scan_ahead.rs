//! Scans on a thread of its own: while the sink takes one batch on the caller's thread, the next ones are filled.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::batch::{Batch, Outlet};
use crate::error::FormatError;
use crate::sink::TraceSink;

/// Batches that may be under way to the sink.
const BATCHES_AHEAD: usize = 4;

/// A batch with more text than this, as of a very long event, is under way alone.
const LARGE_BYTES: usize = 4 << 20;

/// Gives what `scan` finds to `sink`. When the sink asks to stop, so does the scanning.
pub(super) fn scan_ahead<T: Send>(
    sink: &mut dyn TraceSink,
    scan: impl FnOnce(&mut dyn Outlet) -> Result<T, FormatError> + Send,
) -> Result<T, FormatError> {
    let (full, full_receiver) = channel();
    let (empty_sender, empty) = channel();
    thread::scope(|scope| {
        let scanning = scope.spawn(move || scan(&mut Ahead { full, empty, under_way: 0 }));
        let delivered = deliver_all(full_receiver, empty_sender, sink);
        match scanning.join() {
            Ok(outcome) => delivered.and(outcome),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// The near end. It owns the channels, so that they close when the sink stops or panics, and the scanning ends with
/// them.
fn deliver_all(full: Receiver<Batch>, empty: Sender<Batch>, sink: &mut dyn TraceSink) -> Result<(), FormatError> {
    for mut batch in full {
        batch.deliver(sink)?;
        if batch.text.len() > LARGE_BYTES {
            batch = Batch::default();
        }
        batch.clear();
        // The thread may be gone already, and then it needs no batches.
        let _ = empty.send(batch);
    }
    drop(empty);
    Ok(())
}

/// The far end.
struct Ahead {
    full: Sender<Batch>,
    /// Batches come back and are used again: touching fresh memory is slow.
    empty: Receiver<Batch>,
    under_way: usize,
}

impl Outlet for Ahead {
    fn pass(&mut self, batch: Batch) -> Result<Batch, FormatError> {
        let most = if batch.text.len() > LARGE_BYTES { 0 } else { BATCHES_AHEAD };
        self.full.send(batch).map_err(|_| FormatError::Stopped)?;
        self.under_way += 1;
        let mut next = self.empty.try_recv().ok();
        self.under_way -= usize::from(next.is_some());
        while self.under_way > most {
            next = Some(self.empty.recv().map_err(|_| FormatError::Stopped)?);
            self.under_way -= 1;
        }
        Ok(next.unwrap_or_default())
    }
}
