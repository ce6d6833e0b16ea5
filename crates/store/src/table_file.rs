//! The file of one table: rows are gathered in row groups, whose columns are encoded side by side.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use crate::encoding::ROW_GROUP_ROWS;

/// Bytes of a row group at most, before they are encoded: long texts would fill the memory before the rows are full.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Rows of a batch below which a second thread costs more than it saves.
const ROWS_WORTH_A_THREAD: usize = 4096;

/// Threads that encode at most; there are not many more columns with values.
const MAX_THREADS: usize = 8;

/// The file of one table.
pub(crate) struct TableFile {
    writer: SerializedFileWriter<File>,
    columns: ArrowRowGroupWriterFactory,
    group: Option<RowGroup>,
    /// Rows so far.
    pub(crate) rows: u64,
}

impl TableFile {
    pub(crate) fn new(writer: ArrowWriter<File>) -> Result<Self, ParquetError> {
        let (writer, columns) = writer.into_serialized_writer()?;
        Ok(Self { writer, columns, group: None, rows: 0 })
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let mut from = 0;
        while from < batch.num_rows() {
            if self.group.is_none() {
                let number = self.writer.flushed_row_groups().len();
                self.group = Some(RowGroup::new(self.columns.create_column_writers(number)?));
            }
            let Some(group) = &mut self.group else { break };
            let count = (batch.num_rows() - from).min(ROW_GROUP_ROWS - group.rows);
            group.write(&batch.slice(from, count))?;
            from += count;
            if group.rows == ROW_GROUP_ROWS || group.bytes >= ROW_GROUP_BYTES {
                self.end_group()?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Bytes of the row groups that are written.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<File, ParquetError> {
        self.end_group()?;
        // `into_inner` would make a text of what the file system says.
        self.writer.finish()?;
        Ok(self.writer.inner_mut().try_clone()?)
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let mut place = self.writer.next_row_group()?;
        for chunk in group.finish()? {
            chunk.append_to_row_group(&mut place)?;
        }
        place.close().map(drop)
    }
}

impl std::fmt::Debug for TableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFile").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The columns of one row group.
struct RowGroup {
    columns: Vec<Mutex<Option<ArrowColumnWriter>>>,
    /// Rows so far.
    rows: usize,
    /// Bytes that came in so far, before they were encoded.
    bytes: usize,
}

impl RowGroup {
    fn new(columns: Vec<ArrowColumnWriter>) -> Self {
        Self { columns: columns.into_iter().map(|column| Mutex::new(Some(column))).collect(), rows: 0, bytes: 0 }
    }

    /// Appends rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.rows += batch.num_rows();
        self.bytes += batch.columns().iter().map(|array| array.get_buffer_memory_size()).sum::<usize>();
        let schema = batch.schema_ref();
        for_each(self.columns.len(), batch.num_rows(), |index| {
            let leaves = compute_leaves(schema.field(index), batch.column(index))?;
            let mut column = self.columns[index].lock().unwrap_or_else(PoisonError::into_inner);
            leaves.iter().try_for_each(|leaf| column.as_mut().map_or(Ok(()), |column| column.write(leaf)))
        })
    }

    /// The encoded columns.
    fn finish(self) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let chunks: Vec<Mutex<Option<ArrowColumnChunk>>> = self.columns.iter().map(|_| Mutex::default()).collect();
        for_each(self.columns.len(), self.rows, |index| {
            let column = self.columns[index].lock().unwrap_or_else(PoisonError::into_inner).take();
            let chunk = column.map(ArrowColumnWriter::close).transpose()?;
            *chunks[index].lock().unwrap_or_else(PoisonError::into_inner) = chunk;
            Ok(())
        })?;
        Ok(chunks.into_iter().filter_map(|chunk| chunk.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
    }
}

/// Does `task` for each column, on several threads if there are enough rows. Gives the first error that was met.
fn for_each(
    columns: usize,
    rows: usize,
    task: impl Fn(usize) -> Result<(), ParquetError> + Sync,
) -> Result<(), ParquetError> {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = if rows < ROWS_WORTH_A_THREAD { 1 } else { available.min(MAX_THREADS) };
    let next = AtomicUsize::new(0);
    let work = || loop {
        match next.fetch_add(1, Ordering::Relaxed) {
            index if index < columns => task(index)?,
            _ => return Ok(()),
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        others.into_iter().fold(own, |outcome, other| {
            outcome.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}
