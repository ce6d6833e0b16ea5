//! The values of a column of one batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use stepscope_model::ColumnType;

use super::sparse::Sparse;
use super::texts::TextValues;

#[derive(Debug)]
pub(super) enum ColumnValues {
    I32(Sparse<i32>),
    I64(Sparse<i64>),
    F64(Sparse<f64>),
    Bool(Sparse<bool>),
    Text(TextValues),
}

/// A type that has columns of its own.
pub(super) trait Cell: Copy + Default {
    const TYPE: ColumnType;

    /// The values of a column, if it is of this type.
    fn values(column: &mut ColumnValues) -> Option<&mut Sparse<Self>>;
}

macro_rules! cells {
    ($($type:ty: $variant:ident;)+) => {$(
        impl Cell for $type {
            const TYPE: ColumnType = ColumnType::$variant;

            #[inline]
            fn values(column: &mut ColumnValues) -> Option<&mut Sparse<Self>> {
                if let ColumnValues::$variant(values) = column { Some(values) } else { None }
            }
        }
    )+};
}

cells! {
    i32: I32;
    i64: I64;
    f64: F64;
    bool: Bool;
}

impl ColumnValues {
    pub(super) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::I32 => Self::I32(Sparse::default()),
            ColumnType::I64 => Self::I64(Sparse::default()),
            ColumnType::F64 => Self::F64(Sparse::default()),
            ColumnType::Bool => Self::Bool(Sparse::default()),
            ColumnType::Text => Self::Text(TextValues::default()),
        }
    }

    /// The values of a batch; `None` when there are none.
    pub(super) fn take(&mut self, rows: usize) -> Result<Option<ArrayRef>, ArrowError> {
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
