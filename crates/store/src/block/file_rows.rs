//! The number of rows that a file of a block says it has, without reading its pages.

use std::io::{Cursor, Read};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::{ChunkReader, Length};
use stepscope_objects::{Bucket, Bytes};

use crate::error::StoreError;

/// What is read first: the footer is in it, but for very large files.
const TAIL_BYTES: u64 = 64 << 10;

/// The rows of a file that should have so many bytes: usually two requests. Refuses one of another size.
pub fn rows_of_file(bucket: &Bucket, key: &str, size_bytes: u64) -> Result<u64, StoreError> {
    let corrupt = |reason: String| StoreError::CorruptObject { what: "block", reason, key: key.to_owned() };
    let found = bucket.head(key)?.map(|entry| entry.size_bytes);
    if found != Some(size_bytes) {
        let found = found.map_or_else(|| "no file".to_owned(), |found| format!("{found} bytes"));
        return Err(corrupt(format!("found {found}, expected {size_bytes} bytes")));
    }
    let from = size_bytes.saturating_sub(TAIL_BYTES);
    let tail = bucket.get_range(key, from..size_bytes)?;
    let object = Object { bucket, key, size_bytes, from, tail };
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&object);
    let metadata = metadata.map_err(StoreError::unreadable("of a block", Path::new(key)))?;
    u64::try_from(metadata.file_metadata().num_rows()).map_err(|error| corrupt(error.to_string()))
}

/// An object whose end was read.
struct Object<'a> {
    bucket: &'a Bucket,
    key: &'a str,
    size_bytes: u64,
    from: u64,
    tail: Bytes,
}

impl Length for Object<'_> {
    fn len(&self) -> u64 {
        self.size_bytes
    }
}

impl ChunkReader for Object<'_> {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let length = usize::try_from(self.size_bytes.saturating_sub(start)).unwrap_or(usize::MAX);
        Ok(Box::new(Cursor::new(self.get_bytes(start, length)?)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start + length as u64;
        match start.checked_sub(self.from) {
            Some(at) if end <= self.size_bytes => Ok(self.tail.slice(at as usize..at as usize + length)),
            _ => self.bucket.get_range(self.key, start..end).map_err(|error| ParquetError::External(Box::new(error))),
        }
    }
}
