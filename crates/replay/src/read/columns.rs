//! Columns of the tables of a store as plain values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, Int32Array, Int64Array};
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use stepscope_model::{Kind, SourceRecord, Table};
use stepscope_store::{Catalog, Key};

use super::ReadError;
use crate::names::{NameId, Names};

/// The tables of one source.
pub(crate) struct Tables<'a> {
    pub catalog: &'a Catalog,
    pub source: &'a SourceRecord,
}

impl Tables<'_> {
    /// Hands the rows of a table whose keys lie in their ranges to `take`, until that has enough and gives false.
    pub(crate) fn each(
        &self,
        table: &'static Table,
        columns: &[&'static str],
        keys: &[Key],
        mut take: impl FnMut(&Columns<'_>) -> Result<bool, ReadError>,
    ) -> Result<(), ReadError> {
        for reader in self.catalog.readers(self.source.id, table)? {
            for batch in reader.rows(columns, keys.to_vec())? {
                let batch = batch?;
                if !take(&Columns { table: table.name, batch: &batch })? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    pub(crate) fn rows(&self, table: &'static Table) -> u64 {
        self.source.rows.of(table)
    }
}

/// The columns of some rows.
pub(crate) struct Columns<'a> {
    table: &'static str,
    batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub(crate) fn i64(&self, column: &'static str) -> Result<&'a Int64Array, ReadError> {
        self.of_type(column, |array| array.as_primitive_opt())
    }

    pub(crate) fn i32(&self, column: &'static str) -> Result<&'a Int32Array, ReadError> {
        self.of_type(column, |array| array.as_primitive_opt())
    }

    pub(crate) fn bool(&self, column: &'static str) -> Result<&'a BooleanArray, ReadError> {
        self.of_type(column, |array| array.as_boolean_opt())
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<Texts<'a>, ReadError> {
        let array: &DictionaryArray<Int32Type> = self.of_type(column, |array| array.as_dictionary_opt())?;
        Ok(Texts { array })
    }

    /// The kind of each row; `None` if it has none that is known.
    pub(crate) fn kinds(&self) -> Result<PerText<'a, Option<Kind>>, ReadError> {
        let texts = self.text("kind")?;
        let values = texts.values().map(|text| text.and_then(Kind::of_text)).collect();
        Ok(PerText { texts, values: Arc::new(values) })
    }

    fn of_type<T>(&self, column: &'static str, of: impl Fn(&'a ArrayRef) -> Option<&'a T>) -> Result<&'a T, ReadError> {
        let found = self.batch.column_by_name(column).and_then(of);
        found.ok_or(ReadError::Column { table: self.table, column })
    }
}

/// A column of text.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    array: &'a DictionaryArray<Int32Type>,
}

impl<'a> Texts<'a> {
    pub(crate) fn get(self, row: usize) -> Option<&'a str> {
        let place = self.place(row)?;
        let values = self.array.values().as_string::<i32>();
        values.is_valid(place).then(|| values.value(place))
    }

    fn place(self, row: usize) -> Option<usize> {
        self.array.is_valid(row).then(|| self.array.keys().value(row) as usize)
    }

    fn values(self) -> impl Iterator<Item = Option<&'a str>> {
        self.array.values().as_string::<i32>().iter()
    }
}

/// A value for each row that depends on its text alone.
pub(crate) struct PerText<'a, T> {
    texts: Texts<'a>,
    values: Arc<Vec<T>>,
}

impl<T: Copy> PerText<'_, Option<T>> {
    pub(crate) fn get(&self, row: usize) -> Option<T> {
        self.texts.place(row).and_then(|place| self.values[place])
    }
}

/// Interns the names of rows; the rows of a row group share their texts, so each text is looked at once a row group.
#[derive(Default)]
pub(crate) struct NameReader {
    last: Option<(ArrayRef, Arc<Vec<Option<NameId>>>)>,
}

impl NameReader {
    /// The name of each row.
    pub(crate) fn names<'a>(
        &mut self,
        columns: &Columns<'a>,
        names: &mut Names,
    ) -> Result<PerText<'a, Option<NameId>>, ReadError> {
        let texts = columns.text("name")?;
        let dictionary = texts.array.values();
        if let Some((known, values)) = &self.last
            && Arc::ptr_eq(known, dictionary)
        {
            return Ok(PerText { texts, values: Arc::clone(values) });
        }
        let values: Arc<Vec<_>> = Arc::new(texts.values().map(|text| text.map(|text| names.intern(text))).collect());
        self.last = Some((Arc::clone(dictionary), Arc::clone(&values)));
        Ok(PerText { texts, values })
    }
}

/// Numbers of things, in the order in which they come.
pub(crate) struct Places<T>(HashMap<T, u32>, Vec<T>);

impl<T: Copy + Eq + std::hash::Hash> Places<T> {
    pub(crate) fn new() -> Self {
        Self(HashMap::new(), Vec::new())
    }

    pub(crate) fn of(&mut self, value: T) -> u32 {
        *self.0.entry(value).or_insert_with(|| {
            self.1.push(value);
            self.1.len() as u32 - 1
        })
    }

    pub(crate) fn into_list(self) -> Vec<T> {
        self.1
    }
}
