//! Rows of a table, one by one, handed to the store in batches.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringDictionaryBuilder,
};
use arrow::datatypes::Int32Type;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use stepscope_model::{ColumnType, SourceId, Table};
use stepscope_store::TableWriter;

use crate::error::SimulateError;

/// Rows in one batch.
const BATCH_ROWS: usize = 32_768;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Int(i64),
    Bool(bool),
    Text(&'a str),
    Null,
}

/// The rows of one source in one table.
pub(super) struct Rows {
    id: SourceId,
    writer: TableWriter,
    columns: Vec<Column>,
    /// Rows of the batch so far.
    in_batch: usize,
}

enum Column {
    I32(Int32Builder),
    I64(Int64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringDictionaryBuilder<Int32Type>),
}

impl Rows {
    pub(super) fn new(table: &'static Table, writer: TableWriter, id: SourceId) -> Self {
        let columns = table.columns().map(|column| Column::new(column.column_type)).collect();
        Self { id, writer, columns, in_batch: 0 }
    }

    /// A row: the values behind rank and window, in the order of the table.
    pub(super) fn push(&mut self, values: &[Value<'_>]) -> Result<(), SimulateError> {
        let source = [Value::Int(self.id.rank.into()), Value::Int(self.id.window.into())];
        for (column, value) in self.columns.iter_mut().zip(source.iter().chain(values)) {
            column.push(*value)?;
        }
        self.in_batch += 1;
        if self.in_batch == BATCH_ROWS { self.write() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<(), SimulateError> {
        self.write()
    }

    fn write(&mut self) -> Result<(), SimulateError> {
        self.in_batch = 0;
        let columns = self.columns.iter_mut().map(Column::take).collect();
        let batch = RecordBatch::try_new(Arc::clone(self.writer.schema()), columns)?;
        self.writer.write(&batch)?;
        Ok(())
    }
}

impl Column {
    fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::I32 => Self::I32(Int32Builder::new()),
            ColumnType::I64 => Self::I64(Int64Builder::new()),
            ColumnType::F64 => Self::F64(Float64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Text => Self::Text(StringDictionaryBuilder::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) -> Result<(), ArrowError> {
        match (self, value) {
            (Self::I32(column), Value::Int(value)) => column.append_value(value as i32),
            (Self::I64(column), Value::Int(value)) => column.append_value(value),
            (Self::Bool(column), Value::Bool(value)) => column.append_value(value),
            (Self::Text(column), Value::Text(text)) => {
                column.append(text)?;
            }
            (Self::I32(column), Value::Null) => column.append_null(),
            (Self::I64(column), Value::Null) => column.append_null(),
            (Self::F64(column), Value::Null) => column.append_null(),
            (Self::Bool(column), Value::Null) => column.append_null(),
            (Self::Text(column), Value::Null) => column.append_null(),
            (_, value) => return Err(ArrowError::SchemaError(format!("{value:?} is of another type than its column"))),
        }
        Ok(())
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::I32(column) => ArrayBuilder::finish(column),
            Self::I64(column) => ArrayBuilder::finish(column),
            Self::F64(column) => ArrayBuilder::finish(column),
            Self::Bool(column) => ArrayBuilder::finish(column),
            Self::Text(column) => ArrayBuilder::finish(column),
        }
    }
}
