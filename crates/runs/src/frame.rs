//! Columns of a query's answer, by name.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use stepscope_engine::QueryResult;

use crate::error::RunError;

/// The answer of a query, ready to be taken apart.
pub struct Frame {
    batches: Vec<RecordBatch>,
}

impl Frame {
    /// All of an answer.
    #[must_use]
    pub fn new(result: QueryResult) -> Self {
        Self { batches: result.batches }
    }

    /// A piece of an answer.
    #[must_use]
    pub fn of_batch(batch: RecordBatch) -> Self {
        Self { batches: vec![batch] }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// A column of integers.
    pub fn i64(&self, name: &str) -> Result<Vec<Option<i64>>, RunError> {
        self.column(name, &DataType::Int64, |array, values| {
            values.extend(array.as_primitive::<Int64Type>().iter());
        })
    }

    /// A column of integers that are never missing.
    pub fn required_i64(&self, name: &str) -> Result<Vec<i64>, RunError> {
        let values = self.i64(name)?;
        values.into_iter().map(|value| value.ok_or_else(|| RunError::Shape(format!("{name} is null")))).collect()
    }

    /// A column of numbers.
    pub fn f64(&self, name: &str) -> Result<Vec<Option<f64>>, RunError> {
        self.column(name, &DataType::Float64, |array, values| {
            values.extend(array.as_primitive::<Float64Type>().iter());
        })
    }

    /// A column of flags.
    pub fn bool(&self, name: &str) -> Result<Vec<Option<bool>>, RunError> {
        self.column(name, &DataType::Boolean, |array, values| values.extend(array.as_boolean().iter()))
    }

    /// A column of texts.
    pub fn text(&self, name: &str) -> Result<Vec<Option<String>>, RunError> {
        self.column(name, &DataType::Utf8, |array, values| {
            values.extend(array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)));
        })
    }

    fn column<T>(
        &self,
        name: &str,
        data_type: &DataType,
        mut take: impl FnMut(&dyn Array, &mut Vec<Option<T>>),
    ) -> Result<Vec<Option<T>>, RunError> {
        let mut values = Vec::with_capacity(self.rows());
        for batch in &self.batches {
            let column = batch.column_by_name(name).ok_or_else(|| RunError::Shape(format!("no column {name}")))?;
            let column = cast(column, data_type).map_err(|error| RunError::Shape(format!("{name}: {error}")))?;
            take(&column, &mut values);
        }
        Ok(values)
    }
}
