//! Values of one type that many rows have none of.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType};

use super::BATCH_ROWS;

/// Values of one type. Nulls cost nothing until a value follows them.
#[derive(Debug, Default)]
pub(super) struct Sparse<T> {
    values: Vec<T>,
    /// Which values are there; as long as this is empty, all of them are.
    valid: Vec<bool>,
}

impl<T: Copy + Default> Sparse<T> {
    #[inline]
    pub(super) fn put(&mut self, row: usize, value: T) {
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

    pub(super) fn take(&mut self, rows: usize) -> Option<(Vec<T>, Option<NullBuffer>)> {
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

    pub(super) fn take_array<P: ArrowPrimitiveType<Native = T>>(&mut self, rows: usize) -> Option<ArrayRef>
    where
        T: ArrowNativeType,
    {
        self.take(rows).map(|(values, nulls)| Arc::new(PrimitiveArray::<P>::new(values.into(), nulls)) as ArrayRef)
    }
}
