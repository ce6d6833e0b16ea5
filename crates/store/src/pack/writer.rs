//! Writes a pack from the files of a source in the folder form.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use stepscope_model::{SourceRecord, Table};
use twox_hash::XxHash3_64;

use super::directory::{self, Member};
use super::tail::Tail;
use super::{ALIGNMENT, Depth, MAGIC, hash, is_sums, tables_in_order};
use crate::disk;
use crate::error::StoreError;
use crate::source;
use crate::store::Store;

/// What was written.
#[derive(Clone, Debug)]
pub struct PackedSource {
    /// Length of the pack.
    pub size_bytes: u64,
    /// Its members.
    pub members: Vec<Member>,
}

/// Writes a pack of a source. `path` only names it in errors.
pub fn write_pack(
    store: &Store,
    record: &SourceRecord,
    depth: Depth,
    to: impl Write,
    path: &Path,
) -> Result<PackedSource, StoreError> {
    let mut out = Counted { to: BufWriter::with_capacity(1 << 20, to), path, at: 0 };
    out.write(&MAGIC)?;
    let mut members = Vec::new();
    let mut sums_offset = None;
    for table in tables_in_order().filter(|table| depth == Depth::Full || is_sums(table)) {
        if is_sums(table) && sums_offset.is_none() {
            out.align()?;
            sums_offset = Some(out.at);
        }
        let partitions = record.partitions.get(table.name);
        for (index, file) in store.files_of_source(&record.run, record, table).iter().enumerate() {
            out.align()?;
            let partition = partitions.and_then(|partitions| partitions.get(index).copied());
            members.push(append(&mut out, table, partition, file)?);
        }
    }
    out.align()?;
    let (record_offset, sums_offset) = (out.at, sums_offset.unwrap_or(out.at));
    let mut description = source::json_bytes(record, path)?;
    let directory_offset = record_offset + description.len() as u64;
    let directory = directory::to_bytes(&members);
    description.extend(directory.map_err(|error| corrupt(path, error.to_string()))?);
    out.write(&description)?;
    let tail = Tail { sums_offset, record_offset, directory_offset, checksum: hash(&description) };
    out.write(&tail.to_bytes())?;
    out.to.flush().map_err(StoreError::io("write a pack", path))?;
    Ok(PackedSource { size_bytes: out.at, members })
}

/// Writes a pack as a file that is on disk as a whole, or not there. `temporary` must be on the same file system.
pub fn write_pack_file(
    store: &Store,
    record: &SourceRecord,
    depth: Depth,
    temporary: &Path,
    path: &Path,
) -> Result<PackedSource, StoreError> {
    let written = || {
        let file = File::create(temporary).map_err(StoreError::io("create a pack", temporary))?;
        let packed = write_pack(store, record, depth, &file, temporary)?;
        file.sync_all().map_err(StoreError::io("write a pack to disk", temporary))?;
        disk::move_into_place(temporary, path)?;
        Ok(packed)
    };
    let outcome = written();
    if outcome.is_err() {
        // The error says more than one about a file that is in nobody's way.
        let _ = disk::remove_if_present(temporary);
    }
    outcome
}

/// Copies the file of a table.
fn append(
    out: &mut Counted<'_, impl Write>,
    table: &'static Table,
    partition: Option<u32>,
    path: &Path,
) -> Result<Member, StoreError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::MissingFile { table: table.name, path: path.to_owned() },
        _ => StoreError::io("read a table", path)(error),
    })?;
    let mut whole = file.try_clone().map_err(StoreError::io("read a table", path))?;
    let rows = SerializedFileReader::new(file).map_err(StoreError::unreadable(table.name, path))?;
    let rows = rows.metadata().file_metadata().num_rows();
    // Both handles share one place in the file.
    io::Seek::rewind(&mut whole).map_err(StoreError::io("read a table", path))?;
    let (offset, mut hasher) = (out.at, XxHash3_64::with_seed(0));
    let mut part = vec![0; 256 << 10];
    loop {
        let count = whole.read(&mut part).map_err(StoreError::io("read a table", path))?;
        if count == 0 {
            break;
        }
        hasher.write(&part[..count]);
        out.write(&part[..count])?;
    }
    let rows = u64::try_from(rows).map_err(|error| corrupt(path, error.to_string()))?;
    Ok(Member { table, partition, offset, length: out.at - offset, rows, xxh3: hasher.finish() })
}

/// A writer that knows where it is.
struct Counted<'a, W: Write> {
    to: BufWriter<W>,
    path: &'a Path,
    at: u64,
}

impl<W: Write> Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.to.write_all(bytes).map_err(StoreError::io("write a pack", self.path))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn align(&mut self) -> Result<(), StoreError> {
        let missing = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.write(&[0; ALIGNMENT as usize][..missing as usize])
    }
}

fn corrupt(path: &Path, reason: String) -> StoreError {
    StoreError::CorruptPack { reason, path: path.to_owned() }
}
