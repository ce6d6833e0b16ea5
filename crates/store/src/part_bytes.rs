//! Bytes of a Parquet file that is a part of an object. What will be needed is asked for at once: a page at a time would
//! be a request at a time.

use std::ops::Range;

use bytes::{Buf, Bytes, buf};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use stepscope_objects::{Bucket, Part};

/// What is read first of a file: its footer and the index of its pages are there.
const FIRST_READ_BYTES: u64 = 256 << 10;

/// What is read where nothing was asked for beforehand.
const LEAST_READ_BYTES: u64 = 64 << 10;

/// A Parquet file inside of an object, and those of its bytes that are here.
#[derive(Clone, Debug)]
pub(crate) struct PartBytes {
    bucket: Bucket,
    part: Part,
    /// Where each block begins in the file, and what it holds.
    blocks: Vec<(u64, Bytes)>,
}

impl PartBytes {
    /// Reads the end of the file.
    pub(crate) fn open(bucket: &Bucket, part: &Part) -> Result<Self, ParquetError> {
        let file = Self { bucket: bucket.clone(), part: part.clone(), blocks: Vec::new() };
        let last = file.len().saturating_sub(FIRST_READ_BYTES)..file.len();
        file.with(std::slice::from_ref(&last))
    }

    /// The same file with these ranges instead of what was here.
    pub(crate) fn with(&self, ranges: &[Range<u64>]) -> Result<Self, ParquetError> {
        let places: Vec<Range<u64>> = ranges.iter().map(|range| self.place(range)).collect();
        let found = self.bucket.get_ranges(&self.part.key, &places).map_err(external)?;
        let blocks = ranges.iter().map(|range| range.start).zip(found).collect();
        Ok(Self { blocks, ..self.clone() })
    }

    fn place(&self, range: &Range<u64>) -> Range<u64> {
        let at = |place: u64| self.part.range.start.saturating_add(place).min(self.part.range.end);
        at(range.start)..at(range.end)
    }

    /// The bytes from a place on that are here, to the end of their block.
    fn held(&self, start: u64) -> Option<Bytes> {
        self.blocks.iter().find_map(|(begin, bytes)| {
            let from = usize::try_from(start.checked_sub(*begin)?).ok()?;
            (from < bytes.len()).then(|| bytes.slice(from..))
        })
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ParquetError> {
        self.bucket.get_range(&self.part.key, self.place(&range)).map_err(external)
    }
}

impl Length for PartBytes {
    fn len(&self) -> u64 {
        self.part.range.end.saturating_sub(self.part.range.start)
    }
}

impl ChunkReader for PartBytes {
    type T = buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let bytes = match self.held(start) {
            Some(bytes) => bytes,
            None => self.read(start..start.saturating_add(LEAST_READ_BYTES))?,
        };
        Ok(bytes.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self.held(start) {
            Some(bytes) if bytes.len() >= length => Ok(bytes.slice(..length)),
            _ => self.read(start..start.saturating_add(length as u64)),
        }
    }
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> ParquetError {
    ParquetError::External(Box::new(error))
}
