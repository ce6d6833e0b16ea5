//! Where batches become Parquet: at once, or for a long table on a thread of its own while the next rows are built.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow::record_batch::RecordBatch;

use crate::error::StoreError;
use crate::table_writer::TableWriter;

/// Batches that may wait for the encoder.
const BATCHES_AHEAD: usize = 2;

#[derive(Debug)]
pub(super) enum Encoder {
    Here(TableWriter),
    Thread {
        batches: SyncSender<RecordBatch>,
        thread: JoinHandle<Result<(), StoreError>>,
    },
    /// Only while it moves.
    Gone,
}

impl Encoder {
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), StoreError> {
        match self {
            Self::Here(writer) => writer.write(&batch)?,
            // A thread that is gone has failed; `finish` says why.
            Self::Thread { batches, .. } => drop(batches.send(batch)),
            Self::Gone => {}
        }
        Ok(())
    }

    pub(super) fn move_to_thread(&mut self) {
        let Self::Here(_) = self else { return };
        let Self::Here(mut writer) = std::mem::replace(self, Self::Gone) else { return };
        let (batches, receiver) = sync_channel::<RecordBatch>(BATCHES_AHEAD);
        let thread = thread::spawn(move || {
            for batch in receiver {
                writer.write(&batch)?;
            }
            writer.finish().map(drop)
        });
        *self = Self::Thread { batches, thread };
    }

    pub(super) fn finish(self) -> Result<(), StoreError> {
        match self {
            Self::Here(writer) => writer.finish().map(drop)?,
            Self::Thread { batches, thread } => {
                drop(batches);
                match thread.join() {
                    Ok(outcome) => outcome?,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Self::Gone => {}
        }
        Ok(())
    }
}
