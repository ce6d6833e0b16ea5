//! Reads the few rows of a table whose keys lie in given ranges, and little else of its file: the page index tells which
//! pages can have them. A timeline asks like this while it moves, when planning a query would take longer than reading.

use std::fs::File;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::{and, cast, filter_record_batch};
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use stepscope_model::{SourceRecord, Table};

use crate::error::StoreError;
use crate::schema::arrow_schema;
use crate::store::Store;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 8192;

/// A column of integers, and the values of it that are wanted.
pub type Key = (&'static str, RangeInclusive<i64>);

/// A table of one source, open for reading. Texts are `Dictionary(Int32, Utf8)`, as they were written.
#[derive(Debug)]
pub struct TableReader {
    table: &'static Table,
    path: PathBuf,
    metadata: ArrowReaderMetadata,
}

impl Store {
    /// A table of one source, if it has rows there; of a partitioned table, its first partition.
    pub fn reader(
        &self,
        run: &str,
        source: &SourceRecord,
        table: &'static Table,
    ) -> Result<Option<TableReader>, StoreError> {
        Ok(self.readers(run, source, table)?.into_iter().next())
    }

    /// A table of one source, one reader for each file that has rows of it: several if the table is partitioned.
    pub fn readers(
        &self,
        run: &str,
        source: &SourceRecord,
        table: &'static Table,
    ) -> Result<Vec<TableReader>, StoreError> {
        let files = self.files_of(run, std::slice::from_ref(source), table)?;
        files.into_iter().map(|path| TableReader::open(path, table)).collect()
    }
}

impl TableReader {
    fn open(path: PathBuf, table: &'static Table) -> Result<Self, StoreError> {
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        let options = ArrowReaderOptions::new()
            .with_schema(arrow_schema(table))
            .with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(StoreError::unreadable(table.name, &path))?;
        Ok(Self { table, path, metadata })
    }

    /// The rows whose keys all lie in their ranges, in the order of the file; besides `columns` they have the keys.
    pub fn rows(&self, columns: &[&'static str], keys: Vec<Key>) -> Result<Rows<'_>, StoreError> {
        let fail = |error| StoreError::unreadable(self.table.name, &self.path)(error);
        let (groups, selection) = self.selection(&keys).map_err(fail)?;
        // A file of its own: readers of several threads would move each other's place in a shared one.
        let file = File::open(&self.path).map_err(StoreError::io("open", &self.path))?;
        let wanted = columns.iter().chain(keys.iter().map(|(name, _)| name)).copied();
        let mask = ProjectionMask::columns(self.metadata.parquet_schema(), wanted);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_projection(mask)
            .with_row_groups(groups)
            .with_row_selection(selection)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(fail)?;
        Ok(Rows { reader: self, batches, keys })
    }

    /// The row groups that can have wanted rows, and the pages of them that can.
    fn selection(&self, keys: &[Key]) -> Result<(Vec<usize>, RowSelection), ParquetError> {
        let metadata = self.metadata.metadata();
        let all = metadata.row_groups();
        let converters = keys.iter().map(|(name, range)| {
            StatisticsConverter::try_new(name, self.metadata.schema(), self.metadata.parquet_schema())
                .map(|converter| (converter, range))
        });
        let converters = converters.collect::<Result<Vec<_>, _>>()?;
        let mut is_wanted = vec![true; all.len()];
        for (converter, range) in &converters {
            let can = can_lie_in(&converter.row_group_mins(all)?, &converter.row_group_maxes(all)?, range)?;
            is_wanted.iter_mut().zip(can).for_each(|(wanted, can)| *wanted &= can);
        }
        let groups: Vec<usize> = (0..all.len()).filter(|&group| is_wanted[group]).collect();
        let total: usize = groups.iter().map(|&group| all[group].num_rows() as usize).sum();
        let mut selection = RowSelection::from_consecutive_ranges(std::iter::once(0..total), total);
        let (Some(values), Some(places)) = (metadata.column_index(), metadata.offset_index()) else {
            return Ok((groups, selection));
        };
        for (converter, range) in &converters {
            let least = converter.data_page_mins(values, places, &groups)?;
            let most = converter.data_page_maxes(values, places, &groups)?;
            let Some(rows) = converter.data_page_row_counts(places, all, &groups)? else { continue };
            let can = can_lie_in(&least, &most, range)?;
            let pages = consecutive(rows.values()).zip(can).filter_map(|(page, can)| can.then_some(page));
            selection = selection.intersection(&RowSelection::from_consecutive_ranges(pages, total));
        }
        Ok((groups, selection))
    }
}

/// Ranges of these lengths, one behind the other.
fn consecutive(lengths: &[u64]) -> impl Iterator<Item = Range<usize>> {
    lengths.iter().scan(0, |start, length| {
        let range = *start..*start + *length as usize;
        *start = range.end;
        Some(range)
    })
}

/// For each part of a column whether values of a range can be in it, by its least and largest value.
fn can_lie_in(least: &dyn Array, most: &dyn Array, range: &RangeInclusive<i64>) -> Result<Vec<bool>, ArrowError> {
    let (least, most) = (cast(least, &DataType::Int64)?, cast(most, &DataType::Int64)?);
    let ends = least.as_primitive::<Int64Type>().iter().zip(most.as_primitive::<Int64Type>().iter());
    let can = |(least, most): (Option<i64>, Option<i64>)| {
        least.is_none_or(|least| least <= *range.end()) && most.is_none_or(|most| most >= *range.start())
    };
    Ok(ends.map(can).collect())
}

/// Rows of a table as they are read.
pub struct Rows<'a> {
    reader: &'a TableReader,
    batches: ParquetRecordBatchReader,
    keys: Vec<Key>,
}

impl Rows<'_> {
    /// The rows of a batch whose keys lie in their ranges: a page may have others too.
    fn wanted(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut kept = BooleanArray::from(vec![true; batch.num_rows()]);
        for (name, range) in &self.keys {
            let column = batch.column_by_name(name).ok_or_else(|| ArrowError::SchemaError(format!("no {name}")))?;
            let column = cast(column, &DataType::Int64)?;
            let values = column.as_primitive::<Int64Type>().values();
            let lies: BooleanArray = values.iter().map(|value| Some(range.contains(value))).collect();
            kept = and(&kept, &lies)?;
        }
        filter_record_batch(batch, &kept)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?.and_then(|batch| self.wanted(&batch));
        Some(batch.map_err(|error| StoreError::unreadable(self.reader.table.name, &self.reader.path)(error.into())))
    }
}
