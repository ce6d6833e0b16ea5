//! Builds the rows of one table and hands them to the store in batches.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow::array::{
    ArrayRef, BooleanBuilder, DictionaryArray, Float64Builder, Int32Array, Int32Builder, Int64Builder, StringArray,
};
use arrow::datatypes::{Int32Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use hashbrown::HashMap;
use stepscope_model::{ColumnType, Table};
use stepscope_store::{StoreError, TableWriter};

use crate::error::IngestError;
use crate::strings::{Strings, TextId};

/// Rows in one batch.
const BATCH_ROWS: usize = 65_536;

/// Takes the values of a table row by row, column by column, in the order of the table's columns.
pub(crate) struct Rows<'a> {
    encoder: Encoder,
    strings: &'a Strings,
    columns: Vec<ColumnValues>,
    next: usize,
    count: usize,
}

/// Where batches become Parquet: at once, or for a long table on a thread of its own while the next rows are built.
enum Encoder {
    Here(TableWriter),
    Thread {
        schema: SchemaRef,
        batches: SyncSender<RecordBatch>,
        thread: JoinHandle<Result<(), StoreError>>,
    },
    /// Only while it moves.
    Gone,
}

/// Batches that may wait for the encoder.
const BATCHES_AHEAD: usize = 2;

enum ColumnValues {
    I32(Int32Builder),
    I64(Int64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Text(TextValues),
}

/// A text column of one batch: keys into the texts that the batch uses.
#[derive(Default)]
struct TextValues {
    keys: Vec<Option<i32>>,
    key_of_id: HashMap<TextId, i32>,
    /// The few words that are not texts of the source, with their keys; the last one used first.
    words: Vec<(String, i32)>,
    texts: Vec<String>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(table: &'static Table, writer: TableWriter, strings: &'a Strings) -> Self {
        let columns = table.columns().map(|column| ColumnValues::new(column.column_type)).collect();
        Self { encoder: Encoder::Here(writer), strings, columns, next: 0, count: 0 }
    }

    pub(crate) fn i32(&mut self, value: impl Into<Option<i32>>) -> &mut Self {
        if let ColumnValues::I32(column) = self.column() {
            column.append_option(value.into());
        }
        self
    }

    pub(crate) fn i64(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        if let ColumnValues::I64(column) = self.column() {
            column.append_option(value.into());
        }
        self
    }

    pub(crate) fn f64(&mut self, value: impl Into<Option<f64>>) -> &mut Self {
        if let ColumnValues::F64(column) = self.column() {
            column.append_option(value.into());
        }
        self
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        if let ColumnValues::Bool(column) = self.column() {
            column.append_value(value);
        }
        self
    }

    /// A text of the source.
    pub(crate) fn text(&mut self, id: impl Into<Option<TextId>>) -> &mut Self {
        let (id, strings) = (id.into(), self.strings);
        if let ColumnValues::Text(column) = self.column() {
            column.append_id(id, strings);
        }
        self
    }

    /// A text that is not one of the source's.
    pub(crate) fn word<'w>(&mut self, word: impl Into<Option<&'w str>>) -> &mut Self {
        let word = word.into();
        if let ColumnValues::Text(column) = self.column() {
            column.append_word(word);
        }
        self
    }

    /// Nothing, whatever the type of the column.
    pub(crate) fn null(&mut self) -> &mut Self {
        match self.column() {
            ColumnValues::I32(column) => column.append_null(),
            ColumnValues::I64(column) => column.append_null(),
            ColumnValues::F64(column) => column.append_null(),
            ColumnValues::Bool(column) => column.append_null(),
            ColumnValues::Text(column) => column.keys.push(None),
        }
        self
    }

    /// Ends a row; writes a batch when one is full.
    pub(crate) fn end_row(&mut self) -> Result<(), IngestError> {
        debug_assert_eq!(self.next, self.columns.len(), "a row needs a value for every column");
        self.next = 0;
        self.count += 1;
        if self.count < BATCH_ROWS {
            return Ok(());
        }
        self.flush()?;
        self.encoder.move_to_thread();
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), IngestError> {
        self.flush()?;
        self.encoder.finish()
    }

    fn column(&mut self) -> &mut ColumnValues {
        self.next += 1;
        &mut self.columns[self.next - 1]
    }

    fn flush(&mut self) -> Result<(), IngestError> {
        if self.count == 0 {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(ColumnValues::take).collect::<Result<Vec<_>, _>>()?;
        self.count = 0;
        self.encoder.write(arrays)
    }
}

impl Encoder {
    fn write(&mut self, arrays: Vec<ArrayRef>) -> Result<(), IngestError> {
        match self {
            Self::Here(writer) => {
                let schema = Arc::clone(writer.schema());
                writer.write(&RecordBatch::try_new(schema, arrays)?)?;
            }
            Self::Thread { schema, batches, .. } => {
                let batch = RecordBatch::try_new(Arc::clone(schema), arrays)?;
                // A thread that is gone has failed; `finish` says why.
                let _ = batches.send(batch);
            }
            Self::Gone => {}
        }
        Ok(())
    }

    fn move_to_thread(&mut self) {
        let Self::Here(_) = self else { return };
        let Self::Here(mut writer) = std::mem::replace(self, Self::Gone) else { return };
        let schema = Arc::clone(writer.schema());
        let (batches, receiver) = sync_channel::<RecordBatch>(BATCHES_AHEAD);
        let thread = thread::spawn(move || {
            for batch in receiver {
                writer.write(&batch)?;
            }
            writer.finish().map(drop)
        });
        *self = Self::Thread { schema, batches, thread };
    }

    fn finish(self) -> Result<(), IngestError> {
        match self {
            Self::Here(writer) => writer.finish().map(drop)?,
            Self::Thread { batches, thread, .. } => {
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

impl ColumnValues {
    fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::I32 => Self::I32(Int32Builder::new()),
            ColumnType::I64 => Self::I64(Int64Builder::new()),
            ColumnType::F64 => Self::F64(Float64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Text => Self::Text(TextValues::default()),
        }
    }

    fn take(&mut self) -> Result<ArrayRef, IngestError> {
        Ok(match self {
            Self::I32(column) => Arc::new(column.finish()),
            Self::I64(column) => Arc::new(column.finish()),
            Self::F64(column) => Arc::new(column.finish()),
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(std::mem::take(column).into_array()?),
        })
    }
}

impl TextValues {
    fn append_id(&mut self, id: Option<TextId>, strings: &Strings) {
        let key = id.map(|id| {
            *self.key_of_id.entry(id).or_insert_with(|| {
                self.texts.push(strings.text(id).to_owned());
                (self.texts.len() - 1) as i32
            })
        });
        self.keys.push(key);
    }

    fn append_word(&mut self, word: Option<&str>) {
        let key = word.map(|word| {
            if let Some(index) = self.words.iter().position(|(known, _)| known == word) {
                self.words.swap(0, index);
                return self.words[0].1;
            }
            let key = self.texts.len() as i32;
            self.texts.push(word.to_owned());
            self.words.push((word.to_owned(), key));
            key
        });
        self.keys.push(key);
    }

    fn into_array(self) -> Result<DictionaryArray<Int32Type>, IngestError> {
        let values = StringArray::from_iter_values(self.texts);
        Ok(DictionaryArray::try_new(Int32Array::from(self.keys), Arc::new(values))?)
    }
}
