//! Disks that fail or are full while a query spills.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, StreamExt, stream};
use stepscope_model::Hint;
use tempfile::NamedTempFile;

use super::*;
use crate::error::EngineError;
use crate::query_options::QueryOptions;

/// Sorts 6 million numbers, more than fit; each but the first is larger than the one before. The engine knows the order of
/// a series, also of one that was multiplied, but not of remainders.
const SQL: &str = "SELECT count(*) FROM (SELECT key, lag(key) OVER (ORDER BY key) AS previous
                     FROM (SELECT (value * 7919) % 6000011 AS key FROM generate_series(1, 6000000)))
                   WHERE previous < key";

/// A folder on a disk that fails after so many bytes were written or read.
struct BadDisk {
    folder: PathBuf,
    writable: Arc<AtomicU64>,
    readable: Arc<AtomicU64>,
}

impl TempFileFactory for BadDisk {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let file = NamedTempFile::new_in(&self.folder)?;
        let (writable, readable) = (Arc::clone(&self.writable), Arc::clone(&self.readable));
        Ok(Arc::new(BadFile { file, writable, readable }))
    }
}

struct BadFile {
    file: NamedTempFile,
    writable: Arc<AtomicU64>,
    readable: Arc<AtomicU64>,
}

impl SpillFile for BadFile {
    fn size(&self) -> Option<u64> {
        self.file.as_file().metadata().ok().map(|metadata| metadata.len())
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let chunks: Vec<Bytes> = fs::read(self.file.path())?.chunks(1 << 16).map(Bytes::copy_from_slice).collect();
        let left = Arc::clone(&self.readable);
        let read = move |chunk: Bytes| take(&left, chunk.len()).map(|()| chunk).map_err(DataFusionError::IoError);
        Ok(stream::iter(chunks).map(read).boxed())
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = OpenOptions::new().append(true).open(self.file.path())?;
        Ok(Box::new(BadWriter { file, left: Arc::clone(&self.writable) }))
    }
}

struct BadWriter {
    file: File,
    left: Arc<AtomicU64>,
}

impl Write for BadWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        take(&self.left, bytes.len())?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for BadWriter {
    fn finish(&mut self) -> Result<()> {
        Ok(self.file.flush()?)
    }
}

fn take(left: &AtomicU64, bytes: usize) -> io::Result<()> {
    let rest = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(bytes as u64));
    rest.map(|_| ()).map_err(|_| io::Error::from_raw_os_error(libc::EIO))
}

fn options() -> EngineOptions {
    EngineOptions { memory_limit_bytes: 48 << 20, threads: 2, spill_dir: None }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_disk_that_fails_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |writable: u64, readable: u64| {
        let disk = BadDisk {
            folder: folder.path().to_owned(),
            writable: Arc::new(writable.into()),
            readable: Arc::new(readable.into()),
        };
        let engine = Engine::spilling_to(DiskManagerMode::Custom(Arc::new(disk)), &options()).unwrap();
        let result = engine.query(SQL, &QueryOptions::default())?;
        Ok::<_, EngineError>(result.batches[0].column(0).as_primitive::<Int64Type>().value(0))
    };
    assert_eq!(ask(u64::MAX, u64::MAX).unwrap(), 5_999_999);
    for (writable, readable) in [(0, 0), (4096, 0), (3 << 20, 0), (u64::MAX, 0), (u64::MAX, 5 << 20)] {
        let error = ask(writable, readable).unwrap_err();
        assert!(matches!(error, EngineError::Spill { .. }), "{writable}, {readable}: {error:?}");
        let text = error.to_string();
        assert!(text.starts_with("cannot use a temporary file of the query: Input/output error"), "{text}");
        assert!(error.hint().unwrap().contains("TMPDIR"), "{:?}", error.hint());
        assert_eq!(entries(folder.path()), 0, "{writable}, {readable}");
    }
}

#[test]
fn a_disk_that_is_full_is_named_and_nothing_is_left() {
    let Some(disk) = stepscope_testkit::SmallDisk::mounted().unwrap() else { return };
    let options = EngineOptions { spill_dir: Some(disk.path().to_owned()), ..options() };
    let engine = Engine::spilling_to(spill_folder(&options), &options).unwrap();
    let error = engine.query(SQL, &QueryOptions::default()).unwrap_err();
    assert!(matches!(error, EngineError::DiskFull), "{error:?}");
    assert!(error.hint().unwrap().contains("TMPDIR"), "{:?}", error.hint());
    // The engine still answers what needs no disk.
    assert_eq!(engine.query("SELECT 1", &QueryOptions::default()).unwrap().num_rows(), 1);
    drop(engine);
    assert_eq!(entries(disk.path()), 0);
}
