//! One table of a block, or one partition of it: files of about 256 MiB, cut between sources.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::{SourceId, Table};
use stepscope_objects::Bytes;
use stepscope_store::block::{self, BlockFile, BlockSource};
use stepscope_store::{StoreError, TableRows, TableWriter};

use super::error::CompactError;

/// Bytes of a file from which on the next source begins another one. Part of what a block is: two compactors never
/// differ in it.
const FILE_BYTES: u64 = 256 << 20;

/// Where a file belongs: table, partition and number.
type Place = (&'static str, Option<u32>, usize);

/// A file that is complete, on local disk.
#[derive(Debug)]
pub(super) struct PartFile {
    pub(super) place: Place,
    pub(super) file: BlockFile,
    pub(super) local: PathBuf,
}

/// The files of one table or partition.
#[derive(Debug)]
pub(super) struct Parts {
    table: &'static Table,
    partition: Option<u32>,
    folder: PathBuf,
    file_bytes: u64,
    open: Option<Open>,
    count: usize,
}

#[derive(Debug)]
struct Open {
    writer: TableWriter,
    local: PathBuf,
    ranks: (u32, u32),
    windows: (u32, u32),
}

impl Parts {
    pub(super) fn new(table: &'static Table, partition: Option<u32>, folder: &Path) -> Self {
        Self { table, partition, folder: folder.to_owned(), file_bytes: FILE_BYTES, open: None, count: 0 }
    }

    /// Appends the rows of a source; `bytes` is its file of this table, named `name` in errors.
    pub(super) fn append(&mut self, id: SourceId, bytes: Bytes, rows: u64, name: &str) -> Result<(), StoreError> {
        let table = self.table;
        let open = self.open_for(id)?;
        let mut found = 0;
        for batch in TableRows::whole(table, bytes, name)? {
            let batch = batch?;
            found += batch.num_rows() as u64;
            open.writer.write(&batch)?;
        }
        if found != rows {
            let reason = format!("the table {} has {found} rows, expected {rows}", table.name);
            return Err(StoreError::CorruptPack { reason, path: name.into() });
        }
        Ok(())
    }

    /// Appends rows about sources to the table of them.
    pub(super) fn append_sources(&mut self, run: &str, sources: &[BlockSource]) -> Result<(), StoreError> {
        for source in sources {
            self.open_for(source.pack.name.id)?;
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.writer.write(&block::source_rows(run, sources)?)
    }

    /// The file, if it is large enough; the next source begins another one.
    pub(super) fn take_full(&mut self) -> Result<Option<PartFile>, CompactError> {
        let is_full = self.open.as_ref().is_some_and(|open| open.writer.bytes_written() >= self.file_bytes);
        if is_full { self.take() } else { Ok(None) }
    }

    /// The file, if one is open.
    pub(super) fn take(&mut self) -> Result<Option<PartFile>, CompactError> {
        let Some(Open { writer, local, ranks, windows }) = self.open.take() else { return Ok(None) };
        let place = (self.table.name, self.partition, self.count);
        let path = block::file_path(self.table, self.partition, self.count);
        self.count += 1;
        let rows = writer.finish()?;
        let bytes = fs::metadata(&local).map_err(CompactError::io("inspect a file", &local))?.len();
        Ok(Some(PartFile { place, file: BlockFile { path, bytes, rows, ranks, windows }, local }))
    }

    fn open_for(&mut self, id: SourceId) -> Result<&mut Open, StoreError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.create(id)?,
        };
        let open = self.open.insert(open);
        open.ranks = (open.ranks.0.min(id.rank), open.ranks.1.max(id.rank));
        open.windows = (open.windows.0.min(id.window), open.windows.1.max(id.window));
        Ok(open)
    }

    fn create(&self, id: SourceId) -> Result<Open, StoreError> {
        let partition = self.partition.map(|partition| format!(".{partition}")).unwrap_or_default();
        let local = self.folder.join(format!("{}{partition}.{}.parquet", self.table.name, self.count));
        let writer = TableWriter::create(self.table, local.clone())?;
        Ok(Open { writer, local, ranks: (id.rank, id.rank), windows: (id.window, id.window) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stepscope_model::tables::ALL_COLLECTIVES;
    use stepscope_store::pack::{Depth, Pack};
    use stepscope_testkit::TinySource;

    use super::*;

    /// The file of collectives of a source with so many rows, and its rows.
    fn collectives(rank: u32, rows: u32) -> (SourceId, Bytes, u64) {
        let source = TinySource { rows, partitions: vec![3], ..TinySource::new(rank, 40, 9, 1) };
        let bytes = Bytes::from(source.pack("run", Depth::Sums).unwrap().1);
        let part = |range: std::ops::Range<u64>| bytes.slice(range.start as usize..range.end as usize);
        let pack = Pack::read(Path::new("x"), bytes.len() as u64, |range| Ok::<_, StoreError>(part(range))).unwrap();
        let member = pack.members_of(&ALL_COLLECTIVES).next().unwrap();
        (source.id, part(member.range()), member.rows)
    }

    #[test]
    fn a_full_file_ends_between_sources() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts { file_bytes: 1000, ..Parts::new(&ALL_COLLECTIVES, Some(3), folder.path()) };
        let (id, bytes, rows) = collectives(0, 20_000);
        let mut files = Vec::new();
        // A row group has 262,144 rows, and only what is written counts: the fourteenth source fills one.
        for rank in 0..30 {
            parts.append(SourceId { rank, ..id }, bytes.clone(), rows, "x").unwrap();
            files.extend(parts.take_full().unwrap());
        }
        files.extend(parts.take().unwrap());
        let said: Vec<_> = files.iter().map(|part| (part.file.path.clone(), part.file.ranks, part.file.rows)).collect();
        let path = |part: usize| format!("all_collectives/group=3/{part}.parquet");
        assert_eq!(said, [(path(0), (0, 13), 280_000), (path(1), (14, 27), 280_000), (path(2), (28, 29), 40_000)]);
        assert!(files.iter().all(|part| part.local.metadata().unwrap().len() == part.file.bytes));
        assert!(parts.take().unwrap().is_none());
    }

    #[test]
    fn rows_that_are_missing_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::new(&ALL_COLLECTIVES, Some(3), folder.path());
        let (id, bytes, _) = collectives(0, 3);
        let error = parts.append(id, bytes, 4, "x.pack").unwrap_err();
        assert_eq!(error.to_string(), "corrupt pack: the table all_collectives has 3 rows, expected 4: x.pack");
    }
}
