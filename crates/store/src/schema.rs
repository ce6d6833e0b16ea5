//! Arrow schemas of the tables, for writing and for reading.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use stepscope_model::{ColumnType, Table};

/// The columns that [`crate::TableWriter::write`] takes: text is `Dictionary(Int32, Utf8)`, so that a repeated text is
/// hashed once a batch and not once a row.
#[must_use]
pub fn arrow_schema(table: &Table) -> SchemaRef {
    let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    schema(table, &text)
}

/// The columns that a reader asks for: text is `Utf8View`, which the Parquet reader makes from dictionary pages without
/// copying a text and which the engine has its fastest grouping and comparing for.
#[must_use]
pub fn read_schema(table: &Table) -> SchemaRef {
    schema(table, &DataType::Utf8View)
}

fn schema(table: &Table, text: &DataType) -> SchemaRef {
    let fields = table.columns().map(|column| {
        let data_type = match column.column_type {
            ColumnType::I32 => DataType::Int32,
            ColumnType::I64 => DataType::Int64,
            ColumnType::F64 => DataType::Float64,
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Text => text.clone(),
        };
        Field::new(column.name, data_type, column.nullable)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
