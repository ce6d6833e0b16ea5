//! Reads the few rows of a table whose keys lie in given ranges, and little else of its file: the page index tells which
//! pages can have them. A timeline asks like this while it moves, when planning a query would take longer than reading.

use std::collections::VecDeque;
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
use parquet::file::reader::ChunkReader;
use stepscope_model::{SourceId, Table};
use stepscope_objects::Bucket;

use crate::error::StoreError;
use crate::part_bytes::PartBytes;
use crate::schema::arrow_schema;
use crate::table_part::{TablePart, shown};

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 8192;

/// A column of integers, and the values of it that are wanted.
pub type Key = (&'static str, RangeInclusive<i64>);

/// A table of one source, open for reading. Texts are `Dictionary(Int32, Utf8)`, as they were written.
#[derive(Debug)]
pub struct TableReader {
    table: &'static Table,
    /// Its name in errors.
    path: PathBuf,
    bytes: Source,
    metadata: ArrowReaderMetadata,
    /// The source whose rows are wanted, if the file has those of others too.
    only: Option<SourceId>,
}

/// Where the bytes are.
#[derive(Debug)]
enum Source {
    /// In a file, which each reader opens again: those of several threads would move each other's place in it.
    File(PathBuf),
    /// In an object.
    Part(PartBytes),
}

impl TableReader {
    /// Opens a part of a table.
    pub(crate) fn of_part(
        bucket: &Bucket,
        part: &TablePart,
        table: &'static Table,
        only: Option<SourceId>,
    ) -> Result<Self, StoreError> {
        match part {
            TablePart::File(key) => Self::of_file(shown(bucket, key), table),
            TablePart::Part(part) => {
                let path = shown(bucket, &part.key);
                let fail = |error| StoreError::unreadable(table.name, &path)(error);
                let bytes = PartBytes::open(bucket, part).map_err(fail)?;
                let metadata = ArrowReaderMetadata::load(&bytes, options(table)).map_err(fail)?;
                Ok(Self { table, path, bytes: Source::Part(bytes), metadata, only })
            }
        }
    }

    fn of_file(path: PathBuf, table: &'static Table) -> Result<Self, StoreError> {
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        let metadata = ArrowReaderMetadata::load(&file, options(table));
        let metadata = metadata.map_err(StoreError::unreadable(table.name, &path))?;
        Ok(Self { table, bytes: Source::File(path.clone()), path, metadata, only: None })
    }

    /// The rows whose keys all lie in their ranges, in the order of the file; besides `columns` they have the keys.
    pub fn rows(&self, columns: &[&'static str], mut keys: Vec<Key>) -> Result<Rows<'_>, StoreError> {
        if let Some(SourceId { rank, window }) = self.only {
            let only = |number: u32| i64::from(number)..=i64::from(number);
            keys.extend([("rank", only(rank)), ("window", only(window))]);
        }
        let fail = |error| StoreError::unreadable(self.table.name, &self.path)(error);
        let wanted = columns.iter().chain(keys.iter().map(|(name, _)| name)).copied();
        let mask = ProjectionMask::columns(self.metadata.parquet_schema(), wanted);
        let (groups, mut selection) = self.selection(&keys).map_err(fail)?;
        let rows_of = |group: usize| self.metadata.metadata().row_group(group).num_rows() as usize;
        let groups = groups.into_iter().map(|group| (group, selection.split_off(rows_of(group))));
        let groups: VecDeque<_> = groups.filter(|(_, selection)| selection.selects_any()).collect();
        Ok(Rows { reader: self, mask, groups, batches: None, keys })
    }

    /// The chosen rows of a row group. Of an object, only what they need is read.
    fn group(
        &self,
        group: usize,
        selection: RowSelection,
        mask: ProjectionMask,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        match &self.bytes {
            Source::File(path) => self.batches(File::open(path)?, group, selection, mask),
            Source::Part(bytes) => {
                let needed = self.needed(group, &selection, &mask);
                self.batches(bytes.with(&needed)?, group, selection, mask)
            }
        }
    }

    fn batches(
        &self,
        bytes: impl ChunkReader + 'static,
        group: usize,
        selection: RowSelection,
        mask: ProjectionMask,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, self.metadata.clone())
            .with_projection(mask)
            .with_row_groups(vec![group])
            .with_row_selection(selection)
            .with_batch_size(BATCH_ROWS)
            .build()
    }

    /// The bytes of a row group that the chosen rows of some columns need.
    fn needed(&self, group: usize, selection: &RowSelection, mask: &ProjectionMask) -> Vec<Range<u64>> {
        let metadata = self.metadata.metadata();
        let pages = metadata.offset_index().and_then(|groups| groups.get(group));
        let chunks = metadata.row_group(group).columns().iter().enumerate();
        let mut needed = Vec::new();
        for (column, chunk) in chunks.filter(|(column, _)| mask.leaf_included(*column)) {
            let (start, length) = chunk.byte_range();
            let pages = pages.and_then(|columns| columns.get(column)).map(|index| index.page_locations().as_slice());
            let Some(pages @ [first, ..]) = pages else {
                needed.push(start..start + length);
                continue;
            };
            // A dictionary comes before the first page.
            let first = u64::try_from(first.offset).unwrap_or(start);
            needed.extend(Some(start..first).filter(|dictionary| !dictionary.is_empty()));
            needed.extend(selection.scan_ranges(pages));
        }
        needed
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

fn options(table: &'static Table) -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_schema(arrow_schema(table)).with_page_index_policy(PageIndexPolicy::Optional)
}

/// Rows of a table as they are read.
pub struct Rows<'a> {
    reader: &'a TableReader,
    mask: ProjectionMask,
    /// Row groups that were not read yet, and the rows of them that can be wanted.
    groups: VecDeque<(usize, RowSelection)>,
    batches: Option<ParquetRecordBatchReader>,
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
        let fail = |error| StoreError::unreadable(self.reader.table.name, &self.reader.path)(error);
        loop {
            if let Some(batch) = self.batches.as_mut().and_then(Iterator::next) {
                return Some(batch.and_then(|batch| self.wanted(&batch)).map_err(|error| fail(error.into())));
            }
            let (group, selection) = self.groups.pop_front()?;
            match self.reader.group(group, selection, self.mask.clone()) {
                Ok(batches) => self.batches = Some(batches),
                Err(error) => return Some(Err(fail(error))),
            }
        }
    }
}
