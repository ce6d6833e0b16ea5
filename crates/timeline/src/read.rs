//! Reads what a timeline shows of a track from the tables themselves: it is asked for while somebody moves about, and to
//! plan a query takes longer than to read the rows.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::record_batch::RecordBatch;
use stepscope_engine::{CancelFlag, EngineError};
use stepscope_model::{SourceId, SourceRecord, Table};
use stepscope_runs::RunError;
use stepscope_store::{Key, TableReader};

use super::Timelines;

/// Tables that stay open: those of the recordings that are looked at, not of all ranks.
const MOST_OPEN: usize = 16;

type Opened = ((SourceId, &'static str), Arc<TableReader>);

/// Tables that are open; the one that was opened last is the last.
#[derive(Debug, Default)]
pub(crate) struct ReaderCache(Mutex<Vec<Opened>>);

impl Timelines {
    /// Hands the rows of a source in a table to `take`, batch by batch, until that has enough and returns false.
    pub(super) fn read(
        &self,
        source: &SourceRecord,
        table: &'static Table,
        (columns, keys): (&[&'static str], Vec<Key>),
        cancel: &CancelFlag,
        take: &mut dyn FnMut(RecordBatch) -> Result<bool, RunError>,
    ) -> Result<(), RunError> {
        let Some(reader) = self.reader(source, table)? else { return Ok(()) };
        for batch in reader.rows(columns, keys)? {
            if cancel.is_canceled() {
                return Err(EngineError::Canceled.into());
            }
            if !take(batch?)? {
                break;
            }
        }
        Ok(())
    }

    fn reader(&self, source: &SourceRecord, table: &'static Table) -> Result<Option<Arc<TableReader>>, RunError> {
        let open = || self.readers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (source.id, table.name);
        if let Some((_, reader)) = open().iter().find(|(known, _)| *known == key) {
            return Ok(Some(Arc::clone(reader)));
        }
        let Some(reader) = self.run.catalog().reader(source.id, table)?.map(Arc::new) else {
            return Ok(None);
        };
        let mut open = open();
        if open.len() == MOST_OPEN {
            open.remove(0);
        }
        open.push((key, Arc::clone(&reader)));
        Ok(Some(reader))
    }
}
