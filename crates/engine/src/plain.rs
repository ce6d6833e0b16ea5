//! Results in plain types: whatever text type the engine computed with, a caller gets `Utf8`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;

/// The schema of a result in plain types.
pub(crate) fn plain_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| plain_field(field));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The rows of a result in plain types; `schema` is what [`plain_schema`] made of theirs.
pub(crate) fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if column.data_type() == field.data_type() { Ok(Arc::clone(column)) } else { cast(column, field.data_type()) }
    });
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

/// The name of a type as `stepscope schema` shows it.
pub(crate) fn type_text(data_type: &DataType) -> String {
    match plain_type(data_type) {
        DataType::Utf8 => "text".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

fn plain_field(field: &Field) -> Field {
    // A declared "never null" is dropped: expressions that are simplified away can make it wrong.
    Field::new(field.name(), plain_type(field.data_type()), true)
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::List(item) => DataType::List(Arc::new(plain_field(item))),
        other => other.clone(),
    }
}
