//! Writes the rows of a table cell by cell. What does not fit its column is an error of its row, never a null.

mod columns;
mod encoder;
mod sparse;
mod texts;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, new_null_array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use stepscope_model::tables::SOURCE_COLUMNS;
use stepscope_model::{ColumnType, SourceId, Table};

use crate::error::StoreError;
use crate::table_writer::TableWriter;
use columns::{Cell, ColumnValues};
use encoder::Encoder;
use texts::TextValues;

/// Rows in one batch, and bytes of its texts at most.
const BATCH_ROWS: usize = 32_768;
const BATCH_TEXT_BYTES: usize = 8 << 20;

/// Takes the values of a table row by row. Every row begins with its source, which is known; the cells of the other
/// columns come in the order of the table. `texts` is whatever its user finds the texts of cells in.
#[derive(Debug)]
pub struct RowWriter<T> {
    table: &'static Table,
    encoder: Encoder,
    id: SourceId,
    schema: SchemaRef,
    columns: Vec<ColumnValues>,
    next: usize,
    /// The current row in its batch.
    row: usize,
    text_bytes: usize,
    /// Nulls for columns that a batch has no value of, one array a type.
    nulls: Vec<ArrayRef>,
    /// What is wrong with the first row that does not fit its table.
    misfit: Option<String>,
    texts: T,
}

impl<T> RowWriter<T> {
    pub(crate) fn new(table: &'static Table, writer: TableWriter, id: SourceId, texts: T) -> Self {
        let schema = Arc::clone(writer.schema());
        let columns = table.columns().skip(SOURCE_COLUMNS.len()).map(|column| ColumnValues::new(column.column_type));
        Self {
            table,
            columns: columns.collect(),
            encoder: Encoder::Here(writer),
            id,
            schema,
            next: 0,
            row: 0,
            text_bytes: 0,
            nulls: Vec::new(),
            misfit: None,
            texts,
        }
    }

    /// Where its user finds the texts of cells.
    #[inline]
    pub fn texts(&self) -> &T {
        &self.texts
    }

    /// A cell of an `int32` column.
    #[inline]
    pub fn i32(&mut self, value: impl Into<Option<i32>>) -> &mut Self {
        self.put(value.into())
    }

    /// A cell of an `int64` column.
    #[inline]
    pub fn i64(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        self.put(value.into())
    }

    /// A cell of a `float64` column.
    #[inline]
    pub fn f64(&mut self, value: impl Into<Option<f64>>) -> &mut Self {
        self.put(value.into())
    }

    /// A cell of a `bool` column.
    #[inline]
    pub fn bool(&mut self, value: impl Into<Option<bool>>) -> &mut Self {
        self.put(value.into())
    }

    /// A cell of a text column.
    #[inline]
    pub fn text<'t>(&mut self, text: impl Into<Option<&'t str>>) -> &mut Self {
        let text = text.into();
        self.put_text(|row, column| text.map_or(0, |text| column.put(row, text)))
    }

    /// The same for a text that has a number, which other rows share: `text` is asked for once a batch.
    #[inline]
    pub fn numbered_text<'t>(&mut self, number: u32, text: impl FnOnce() -> &'t str) -> &mut Self {
        self.put_text(|row, column| column.put_numbered(row, number, text))
    }

    /// The same for one of a few words.
    #[inline]
    pub fn word(&mut self, word: impl Into<Option<&'static str>>) -> &mut Self {
        let word = word.into();
        self.put_text(|row, column| word.map_or(0, |word| column.put_word(row, word)))
    }

    /// Nothing, whatever the type of the column.
    pub fn null(&mut self) -> &mut Self {
        self.skip(1)
    }

    /// Nothing in some columns.
    pub fn skip(&mut self, columns: usize) -> &mut Self {
        self.next += columns;
        self
    }

    /// Puts one cell into a column that is `ahead` of the current one.
    #[inline]
    pub fn ahead(&mut self, ahead: usize, put: impl FnOnce(&mut Self)) {
        let next = self.next;
        self.next += ahead;
        put(self);
        self.next = next;
    }

    /// Ends a row; writes a batch when one is full.
    #[inline]
    pub fn end_row(&mut self) -> Result<(), StoreError> {
        if self.next != self.columns.len() || self.misfit.is_some() {
            return Err(self.refused());
        }
        self.next = 0;
        self.row += 1;
        if self.row < BATCH_ROWS && self.text_bytes < BATCH_TEXT_BYTES {
            return Ok(());
        }
        self.flush()?;
        self.encoder.move_to_thread();
        Ok(())
    }

    /// Writes what is left and ends the table.
    pub fn finish(mut self) -> Result<(), StoreError> {
        if self.next != 0 || self.misfit.is_some() {
            return Err(self.refused());
        }
        self.flush()?;
        self.encoder.finish()
    }

    #[inline]
    fn put<C: Cell>(&mut self, value: Option<C>) -> &mut Self {
        let row = self.row;
        match self.column().and_then(C::values) {
            Some(column) => {
                if let Some(value) = value {
                    column.put(row, value);
                }
            }
            None => self.refuse(C::TYPE),
        }
        self
    }

    /// `put` gives the bytes that the texts of the batch grew by.
    #[inline]
    fn put_text(&mut self, put: impl FnOnce(usize, &mut TextValues) -> usize) -> &mut Self {
        let row = self.row;
        match self.column() {
            Some(ColumnValues::Text(column)) => self.text_bytes += put(row, column),
            _ => self.refuse(ColumnType::Text),
        }
        self
    }

    #[inline]
    fn column(&mut self) -> Option<&mut ColumnValues> {
        let index = self.next;
        self.next += 1;
        self.columns.get_mut(index)
    }

    /// Notes that the last cell does not fit.
    #[cold]
    fn refuse(&mut self, given: ColumnType) {
        let column = self.table.columns().nth(SOURCE_COLUMNS.len() + self.next - 1);
        self.misfit.get_or_insert_with(|| match column {
            Some(column) => {
                format!("a cell of {} is {} instead of {}", column.name, given.as_text(), column.column_type.as_text())
            }
            None => "a row has more cells than columns".to_owned(),
        });
    }

    #[cold]
    fn refused(&self) -> StoreError {
        let short = || format!("a row has {} cells instead of {}", self.next, self.columns.len());
        StoreError::WrongColumns { table: self.table.name, reason: self.misfit.clone().unwrap_or_else(short) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.row == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.row);
        self.text_bytes = 0;
        let source = [self.id.rank, self.id.window];
        let mut arrays: Vec<ArrayRef> =
            source.iter().map(|&part| Arc::new(Int32Array::from_value(part as i32, rows)) as ArrayRef).collect();
        let misfit = |error: arrow::error::ArrowError| StoreError::WrongColumns {
            table: self.table.name,
            reason: error.to_string(),
        };
        for (field, column) in self.schema.fields().iter().skip(source.len()).zip(&mut self.columns) {
            arrays.push(match column.take(rows).map_err(misfit)? {
                Some(array) => array,
                None => nulls(&mut self.nulls, field.data_type(), rows),
            });
        }
        self.encoder.write(RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(misfit)?)
    }
}

/// An array of nulls; most columns of a batch have no value, and touching memory for each would take a while.
fn nulls(known: &mut Vec<ArrayRef>, data_type: &DataType, rows: usize) -> ArrayRef {
    if let Some(array) = known.iter().find(|array| array.data_type() == data_type && array.len() >= rows) {
        return array.slice(0, rows);
    }
    let array = new_null_array(data_type, rows);
    known.push(Arc::clone(&array));
    array
}
