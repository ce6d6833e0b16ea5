//! Builds the rows of one table and hands them to the store in batches.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow::array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray, StringArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType, Float64Type, Int32Type, Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use hashbrown::HashMap;
use stepscope_model::tables::SOURCE_COLUMNS;
use stepscope_model::{ColumnType, SourceId, Table};
use stepscope_store::{StoreError, TableWriter};

use crate::error::IngestError;
use crate::spill::strings::{Strings, Text, TextId};

/// Rows in one batch, and bytes of its texts at most.
const BATCH_ROWS: usize = 32_768;
const BATCH_TEXT_BYTES: usize = 8 << 20;

/// Takes the values of a table row by row. Every row begins with its source; the other columns come in the order of the
/// table, and one that is passed over is null.
pub(crate) struct Rows<'a> {
    encoder: Encoder,
    id: SourceId,
    strings: &'a Strings,
    schema: SchemaRef,
    columns: Vec<ColumnValues>,
    next: usize,
    /// The current row in its batch.
    row: usize,
    text_bytes: usize,
    /// Nulls for columns that a batch has no value of, one array a type.
    nulls: Vec<ArrayRef>,
}

/// Where batches become Parquet: at once, or for a long table on a thread of its own while the next rows are built.
enum Encoder {
    Here(TableWriter),
    Thread {
        batches: SyncSender<RecordBatch>,
        thread: JoinHandle<Result<(), StoreError>>,
    },
    /// Only while it moves.
    Gone,
}

/// Batches that may wait for the encoder.
const BATCHES_AHEAD: usize = 2;

enum ColumnValues {
    I32(Sparse<i32>),
    I64(Sparse<i64>),
    F64(Sparse<f64>),
    Bool(Sparse<bool>),
    Text(TextValues),
}

/// Values of a column of one batch. Nulls cost nothing until a value follows them.
#[derive(Default)]
struct Sparse<T> {
    values: Vec<T>,
    /// Which values are there; as long as this is empty, all of them are.
    valid: Vec<bool>,
}

/// A text column of one batch: keys into the texts that the batch uses.
#[derive(Default)]
struct TextValues {
    keys: Sparse<i32>,
    /// The text of the row before: it is often the same.
    last: Option<(TextId, i32)>,
    key_of_id: HashMap<TextId, i32>,
    /// The few words that are not texts of the source, with their keys; the last one used first.
    words: Vec<(&'static str, i32)>,
    texts: Texts,
}

/// Texts one behind the other.
#[derive(Default)]
struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(table: &'static Table, writer: TableWriter, id: SourceId, strings: &'a Strings) -> Self {
        let schema = Arc::clone(writer.schema());
        let columns = table.columns().skip(SOURCE_COLUMNS.len()).map(|column| ColumnValues::new(column.column_type));
        let columns = columns.collect();
        Self {
            encoder: Encoder::Here(writer),
            id,
            strings,
            schema,
            columns,
            next: 0,
            row: 0,
            text_bytes: 0,
            nulls: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn i32(&mut self, value: impl Into<Option<i32>>) -> &mut Self {
        let row = self.row;
        if let (Some(value), ColumnValues::I32(column)) = (value.into(), self.column()) {
            column.put(row, value);
        }
        self
    }

    #[inline]
    pub(crate) fn i64(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        let row = self.row;
        if let (Some(value), ColumnValues::I64(column)) = (value.into(), self.column()) {
            column.put(row, value);
        }
        self
    }

    #[inline]
    pub(crate) fn f64(&mut self, value: impl Into<Option<f64>>) -> &mut Self {
        let row = self.row;
        if let (Some(value), ColumnValues::F64(column)) = (value.into(), self.column()) {
            column.put(row, value);
        }
        self
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        let row = self.row;
        if let ColumnValues::Bool(column) = self.column() {
            column.put(row, value);
        }
        self
    }

    /// A text of the source; `behind` are the texts behind its record.
    #[inline]
    pub(crate) fn text(&mut self, text: impl Into<Option<Text>>, behind: &[u8]) -> &mut Self {
        let (row, strings) = (self.row, self.strings);
        let added = match (text.into(), self.column()) {
            (Some(text), ColumnValues::Text(column)) => column.put(row, text, behind, strings),
            _ => 0,
        };
        self.text_bytes += added;
        self
    }

    /// A text that has a number.
    pub(crate) fn text_id(&mut self, id: Option<TextId>) -> &mut Self {
        self.text(id.map(Text::Id), &[])
    }

    /// One of a few words.
    #[inline]
    pub(crate) fn word(&mut self, word: impl Into<Option<&'static str>>) -> &mut Self {
        let row = self.row;
        if let (Some(word), ColumnValues::Text(column)) = (word.into(), self.column()) {
            column.put_word(row, word);
        }
        self
    }

    /// A text that is not one of the source's.
    pub(crate) fn new_text<'t>(&mut self, text: impl Into<Option<&'t str>>) -> &mut Self {
        let row = self.row;
        if let (Some(text), ColumnValues::Text(column)) = (text.into(), self.column()) {
            let key = column.texts.push(text);
            column.keys.put(row, key);
        }
        self
    }

    /// Nothing, whatever the type of the column.
    pub(crate) fn null(&mut self) -> &mut Self {
        self.next += 1;
        self
    }

    /// Goes to a column that is `ahead` of the current one, for this value only.
    #[inline]
    pub(crate) fn ahead(&mut self, ahead: usize, put: impl FnOnce(&mut Self)) {
        let next = self.next;
        self.next += ahead;
        put(self);
        self.next = next;
    }

    /// Passes over some columns.
    pub(crate) fn skip(&mut self, columns: usize) -> &mut Self {
        self.next += columns;
        self
    }

    /// Ends a row; writes a batch when one is full.
    #[inline]
    pub(crate) fn end_row(&mut self) -> Result<(), IngestError> {
        debug_assert_eq!(self.next, self.columns.len(), "a row passes every column");
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
    pub(crate) fn finish(mut self) -> Result<(), IngestError> {
        self.flush()?;
        self.encoder.finish()
    }

    #[inline]
    fn column(&mut self) -> &mut ColumnValues {
        let index = self.next;
        self.next += 1;
        &mut self.columns[index]
    }

    fn flush(&mut self) -> Result<(), IngestError> {
        if self.row == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.row);
        self.text_bytes = 0;
        let source = [self.id.rank, self.id.window];
        let mut arrays: Vec<ArrayRef> =
            source.iter().map(|&part| Arc::new(Int32Array::from_value(part as i32, rows)) as ArrayRef).collect();
        for (field, column) in self.schema.fields().iter().skip(source.len()).zip(&mut self.columns) {
            arrays.push(match column.take(rows)? {
                Some(array) => array,
                None => nulls(&mut self.nulls, field.data_type(), rows),
            });
        }
        self.encoder.write(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
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

impl Encoder {
    fn write(&mut self, batch: RecordBatch) -> Result<(), IngestError> {
        match self {
            Self::Here(writer) => writer.write(&batch)?,
            // A thread that is gone has failed; `finish` says why.
            Self::Thread { batches, .. } => drop(batches.send(batch)),
            Self::Gone => {}
        }
        Ok(())
    }

    fn move_to_thread(&mut self) {
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

    fn finish(self) -> Result<(), IngestError> {
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

impl ColumnValues {
    fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::I32 => Self::I32(Sparse::default()),
            ColumnType::I64 => Self::I64(Sparse::default()),
            ColumnType::F64 => Self::F64(Sparse::default()),
            ColumnType::Bool => Self::Bool(Sparse::default()),
            ColumnType::Text => Self::Text(TextValues::default()),
        }
    }

    /// The values of a batch; `None` when there are none.
    fn take(&mut self, rows: usize) -> Result<Option<ArrayRef>, IngestError> {
        Ok(match self {
            Self::I32(column) => column.take_array::<Int32Type>(rows),
            Self::I64(column) => column.take_array::<Int64Type>(rows),
            Self::F64(column) => column.take_array::<Float64Type>(rows),
            Self::Bool(column) => {
                column.take(rows).map(|(values, nulls)| Arc::new(BooleanArray::new(values.into(), nulls)) as ArrayRef)
            }
            Self::Text(column) => column.take(rows)?,
        })
    }
}

impl<T: Copy + Default> Sparse<T> {
    #[inline]
    fn put(&mut self, row: usize, value: T) {
        if self.values.len() < row {
            self.fill(row);
        }
        self.values.push(value);
        if !self.valid.is_empty() {
            self.valid.push(true);
        }
    }

    /// Nulls up to a row.
    #[cold]
    fn fill(&mut self, rows: usize) {
        self.valid.resize(self.values.len(), true);
        self.valid.resize(rows, false);
        self.values.resize(rows, T::default());
    }

    fn take(&mut self, rows: usize) -> Option<(Vec<T>, Option<NullBuffer>)> {
        if self.values.is_empty() {
            return None;
        }
        if self.values.len() < rows {
            self.fill(rows);
        }
        let nulls = (!self.valid.is_empty()).then(|| NullBuffer::from(self.valid.as_slice()));
        self.valid.clear();
        Some((std::mem::replace(&mut self.values, Vec::with_capacity(BATCH_ROWS)), nulls))
    }

    fn take_array<P: ArrowPrimitiveType<Native = T>>(&mut self, rows: usize) -> Option<ArrayRef>
    where
        T: ArrowNativeType,
    {
        self.take(rows).map(|(values, nulls)| Arc::new(PrimitiveArray::<P>::new(values.into(), nulls)) as ArrayRef)
    }
}

impl TextValues {
    /// Puts a text; gives the bytes that the batch grew by.
    #[inline]
    fn put(&mut self, row: usize, text: Text, behind: &[u8], strings: &Strings) -> usize {
        let held = self.texts.bytes.len();
        let Self { keys, last, key_of_id, texts, .. } = self;
        let key = match (text, *last) {
            (Text::Id(id), Some((last, key))) if last == id => key,
            (Text::Id(id), _) => {
                let key = *key_of_id.entry(id).or_insert_with(|| texts.push(strings.get(id)));
                *last = Some((id, key));
                key
            }
            (Text::Behind { .. }, _) => texts.push(strings.resolve(text, behind)),
        };
        keys.put(row, key);
        self.texts.bytes.len() - held
    }

    #[inline]
    fn put_word(&mut self, row: usize, word: &'static str) {
        // Mostly it is the very same text, which is faster to see than an equal one.
        let is_known = |known: &'static str| std::ptr::eq(known, word) || known == word;
        let index = self.words.iter().position(|(known, _)| is_known(known)).unwrap_or_else(|| {
            self.words.push((word, self.texts.push(word)));
            self.words.len() - 1
        });
        self.words.swap(0, index);
        self.keys.put(row, self.words[0].1);
    }

    fn take(&mut self, rows: usize) -> Result<Option<ArrayRef>, IngestError> {
        self.last = None;
        self.key_of_id.clear();
        self.words.clear();
        let texts = std::mem::take(&mut self.texts);
        let Some(keys) = self.keys.take(rows) else { return Ok(None) };
        let keys = PrimitiveArray::<Int32Type>::new(keys.0.into(), keys.1);
        Ok(Some(Arc::new(DictionaryArray::try_new(keys, Arc::new(texts.into_array()))?)))
    }
}

impl Texts {
    fn push(&mut self, text: &str) -> i32 {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        (self.ends.len() - 1) as i32
    }

    fn into_array(self) -> StringArray {
        let mut start = 0;
        StringArray::from_iter_values(self.ends.iter().map(|&end| {
            let text = &self.bytes[start..end];
            start = end;
            text
        }))
    }
}
