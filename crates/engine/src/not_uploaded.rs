//! Rows that were recorded and are not in the store, because they were not uploaded or expired: a query about them is refused rather than answered with fewer rows.

use stepscope_model::{SourceId, Table};
use stepscope_store::Catalog;

/// Recordings of which a store has sums alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table} has no rows of {}: the store has only sums", recordings(*count, *first))]
pub struct NotUploaded {
    /// The table.
    pub table: &'static str,
    /// How many recordings.
    pub count: usize,
    /// One of them.
    pub first: SourceId,
    /// A recording whose rows are there.
    pub other: Option<SourceId>,
}

impl NotUploaded {
    /// What is missing of a table for these recordings.
    pub(crate) fn of(catalog: &Catalog, table: &'static Table, ids: &[SourceId]) -> Option<Self> {
        let missing = catalog.without_rows(table, ids);
        let first = *missing.first()?;
        let other = catalog.sources().iter().map(|source| source.id).find(|id| catalog.has_events(*id));
        Some(Self { table: table.name, count: missing.len(), first, other })
    }

    /// What to do.
    pub(crate) fn hint(&self) -> String {
        let upload = "ingest the trace with `--depth full`";
        match self.other {
            Some(SourceId { rank, window }) => {
                format!("choose one that has its events, such as rank {rank}, window {window}, or {upload}")
            }
            None => upload.to_owned(),
        }
    }
}

fn recordings(count: usize, first: SourceId) -> String {
    let SourceId { rank, window } = first;
    match count {
        1 => format!("rank {rank}, window {window}"),
        count => format!("{count} recordings, such as rank {rank}, window {window}"),
    }
}
