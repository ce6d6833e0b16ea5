//! The main table of a report in Arrow's memory, for the formats that carry types.
//!
//! Types come from the columns, so that they do not depend on how many rows there are and which values are missing.
//! Values decide where a column does not tell, or where they are more than it tells: integers among numbers become
//! numbers, what has parts of its own becomes JSON. Everything may be null; where nothing tells, there are integers.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Float64Builder, Int64Array, ListBuilder, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use stepscope_model::{Cell, Holds, Report};

use crate::rows::{distinct, distinct_names, main_table};

/// What the cells of one column have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Nothing,
    Flags,
    Integers,
    Numbers,
    Lists,
    Texts,
}

/// The main table of a report, typed: the one called `rows`, else the first.
pub fn batch(report: &Report) -> Result<RecordBatch, ArrowError> {
    let table = main_table(report);
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (index, name) in distinct_names(&table).into_iter().enumerate() {
        let cells: Vec<&Cell> = table.rows.iter().map(|row| row.get(index).unwrap_or(&Cell::Null)).collect();
        let array = array(declared(table.columns[index].holds), &cells);
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(table.rows.len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// The types that the columns of a query have here, which do not depend on its rows.
pub(crate) fn plain_schema(schema: &Schema) -> SchemaRef {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let fields = distinct(&names).into_iter().zip(schema.fields());
    let fields = fields.map(|(name, field)| Field::new(name, plain_type(field.data_type()), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The rows of a query in the types of [`plain_schema`]. An integer beyond 64 bits with a sign is an error.
pub(crate) fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast_with_options(column, field.data_type(), &options));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Boolean => DataType::Boolean,
        DataType::Null => DataType::Int64,
        integer if integer.is_integer() => DataType::Int64,
        number if number.is_floating() => DataType::Float64,
        _ => DataType::Utf8,
    }
}

fn declared(holds: Option<Holds>) -> Type {
    match holds {
        None => Type::Nothing,
        Some(Holds::Flags) => Type::Flags,
        Some(Holds::Integers) => Type::Integers,
        Some(Holds::Numbers) => Type::Numbers,
        Some(Holds::Lists) => Type::Lists,
        Some(Holds::Texts) => Type::Texts,
    }
}

fn array(declared: Type, cells: &[&Cell]) -> ArrayRef {
    let seen = cells.iter().map(|cell| type_of(cell)).fold(Type::Nothing, common);
    let seen = match (declared, seen) {
        (declared, Type::Nothing) | (declared @ Type::Numbers, Type::Integers) | (declared @ Type::Texts, _) => {
            declared
        }
        (_, seen) => seen,
    };
    match seen {
        Type::Flags => Arc::new(cells.iter().map(|cell| flag(cell)).collect::<BooleanArray>()),
        Type::Nothing | Type::Integers => Arc::new(cells.iter().map(|cell| integer(cell)).collect::<Int64Array>()),
        Type::Numbers => Arc::new(cells.iter().map(|cell| number(cell)).collect::<Float64Array>()),
        Type::Texts => Arc::new(cells.iter().map(|cell| text(cell)).collect::<StringArray>()),
        Type::Lists => {
            let item = Field::new_list_field(DataType::Float64, true);
            let mut builder = ListBuilder::new(Float64Builder::new()).with_field(Arc::new(item));
            for cell in cells {
                if let Cell::Numbers(numbers) = cell {
                    builder.append_value(numbers.iter().map(|number| Some(*number)));
                } else {
                    builder.append_null();
                }
            }
            Arc::new(builder.finish())
        }
    }
}

fn type_of(cell: &Cell) -> Type {
    match cell {
        Cell::Null => Type::Nothing,
        Cell::Bool(_) => Type::Flags,
        Cell::Int(_) => Type::Integers,
        Cell::Float(_) => Type::Numbers,
        Cell::Numbers(_) => Type::Lists,
        Cell::Text(_) | Cell::Json(_) | Cell::Sentence(_) | Cell::Sentences(_) => Type::Texts,
    }
}

fn common(a: Type, b: Type) -> Type {
    match (a, b) {
        (Type::Nothing, other) | (other, Type::Nothing) => other,
        (a, b) if a == b => a,
        (Type::Integers | Type::Numbers, Type::Integers | Type::Numbers) => Type::Numbers,
        _ => Type::Texts,
    }
}

fn flag(cell: &Cell) -> Option<bool> {
    if let Cell::Bool(value) = cell { Some(*value) } else { None }
}

fn integer(cell: &Cell) -> Option<i64> {
    if let Cell::Int(value) = cell { Some(*value) } else { None }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        _ => None,
    }
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Bool(value) => Some(value.to_string()),
        Cell::Int(value) => Some(value.to_string()),
        Cell::Float(value) => Some(value.to_string()),
        Cell::Sentence(_) | Cell::Sentences(_) => text(&crate::sentence::cell(cell)),
        Cell::Text(text) => Some(text.clone()),
        Cell::Json(value) => Some(value.to_string()),
        Cell::Numbers(numbers) => Some(serde_json::Value::from(numbers.clone()).to_string()),
    }
}
