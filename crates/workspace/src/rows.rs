//! The rows of a query, handed out as they are made: an answer may be larger than memory.

use std::ops::Deref;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use stepscope_engine::{CancelFlag, Pick, QueryCursor, QueryOptions, QueryResult};
use stepscope_model::{LeftOut, ReportTable};
use stepscope_runs::{RunError, table_of};

use crate::workspace::Workspace;

/// Rows of a table that are made at one time.
const PIECE_ROWS: usize = 1_024;

/// The rows of a query. Whoever keeps the workspace while they are asked for gives a reference, whoever does not an
/// `Arc`.
pub struct Rows<W> {
    workspace: W,
    statement: String,
    options: QueryOptions,
    cursor: QueryCursor,
}

impl<W: Deref<Target = Workspace>> Rows<W> {
    /// Begins a query.
    pub fn of(
        workspace: W,
        statement: &str,
        pick: Pick,
        max_rows: Option<usize>,
        cancel: &CancelFlag,
    ) -> Result<Self, RunError> {
        let options = QueryOptions { max_rows, pick, ..workspace.run.query_options(cancel) };
        let cursor = workspace.run.engine().begin(statement, &options)?;
        Ok(Self { workspace, statement: statement.to_owned(), options, cursor })
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.cursor.schema()
    }

    /// Whether the row limit left out any row; known behind the last one.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.cursor.truncated()
    }

    /// What the row limit left out, known behind the last row. Counting is left out where it takes too much.
    #[must_use]
    pub fn left_out(&self, shown: u64) -> LeftOut {
        if !self.cursor.truncated() {
            return LeftOut::Nothing;
        }
        match self.workspace.run.engine().count_rows(&self.statement, &self.options) {
            Ok(Some(all)) if all > shown => LeftOut::Rows(all - shown),
            _ => LeftOut::Uncounted,
        }
    }

    /// A batch as pieces of a table, in order.
    pub fn tables<'a>(&'a self, batch: &'a RecordBatch) -> impl Iterator<Item = Result<ReportTable, RunError>> + 'a {
        let pieces = (0..batch.num_rows().max(1)).step_by(PIECE_ROWS);
        pieces.map(|from| self.table(batch.slice(from, PIECE_ROWS.min(batch.num_rows() - from))))
    }

    /// The columns without rows.
    pub fn empty_table(&self) -> Result<ReportTable, RunError> {
        self.table(RecordBatch::new_empty(self.schema().clone()))
    }

    fn table(&self, batch: RecordBatch) -> Result<ReportTable, RunError> {
        let (schema, batches) = (self.schema().clone(), vec![batch]);
        table_of(&QueryResult { schema, batches, rows_left_out: Some(0), truncated: false })
    }
}

impl<W: Deref<Target = Workspace>> Iterator for Rows<W> {
    type Item = Result<RecordBatch, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.cursor.next_batch(self.workspace.run.engine());
        next.map_err(RunError::from).transpose()
    }
}

impl<W> std::fmt::Debug for Rows<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rows").field("statement", &self.statement).finish_non_exhaustive()
    }
}
