//! Reads packs, wherever they are: the caller brings the ranges of bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_model::{SourceRecord, Table};

use super::directory::{self, Member};
use super::tail::{BadTail, TAIL_BYTES, Tail};
use super::{Depth, MAGIC, hash, is_sums};
use crate::error::StoreError;
use crate::source;

/// What is read first: record and directory are in it, but for sources with very long headers.
const FIRST_READ_BYTES: u64 = 64 << 10;

/// The version of the format, for errors.
const FORMAT_VERSION: u32 = 1;

/// What a pack says about itself: its source, and where the tables are.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Its name in errors.
    path: PathBuf,
    /// Its source.
    pub record: SourceRecord,
    /// Its tables, in order.
    pub members: Vec<Member>,
    /// Where all sums are, in one stretch.
    pub sums: Range<u64>,
    /// Its length.
    pub size_bytes: u64,
}

impl Pack {
    /// Reads record and directory of a pack of a known size: one range at its end, and a second one if they are long.
    /// `path` names the pack in errors; `read` gives the bytes of a range, all of them.
    pub fn read<B: AsRef<[u8]>, E: From<StoreError>>(
        path: &Path,
        size_bytes: u64,
        mut read: impl FnMut(Range<u64>) -> Result<B, E>,
    ) -> Result<Self, E> {
        let corrupt = |reason: &str| StoreError::CorruptPack { reason: reason.to_owned(), path: path.to_owned() };
        if size_bytes < MAGIC.len() as u64 + TAIL_BYTES {
            return Err(corrupt("it is too short").into());
        }
        let first = size_bytes.saturating_sub(FIRST_READ_BYTES)..size_bytes;
        let last = read(first.clone())?;
        let last = last.as_ref();
        if last.len() as u64 != first.end - first.start {
            return Err(corrupt("it is shorter than its size").into());
        }
        let (before, tail) = last.split_at(last.len() - TAIL_BYTES as usize);
        let tail = Tail::parse(tail, size_bytes).map_err(|bad| match bad {
            BadTail::Corrupt(reason) => corrupt(reason),
            BadTail::Version(found) => {
                StoreError::WrongVersion { what: "pack format", found, expected: FORMAT_VERSION, path: path.to_owned() }
            }
        })?;
        let description = if tail.record_offset >= first.start {
            before[(tail.record_offset - first.start) as usize..].to_vec()
        } else {
            // The tail was checked: this is at most 16 MiB, and inside of the pack.
            let rest = read(tail.record_offset..first.start)?;
            if rest.as_ref().len() as u64 != first.start - tail.record_offset {
                return Err(corrupt("it is shorter than its size").into());
            }
            [rest.as_ref(), before].concat()
        };
        Ok(Self::parse(path, size_bytes, tail, &description)?)
    }

    /// Reads record and directory of a pack that is a file.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = File::open(path).map_err(StoreError::io("open a pack", path))?;
        let size_bytes = file.metadata().map_err(StoreError::io("open a pack", path))?.len();
        Self::read(path, size_bytes, |range| read_file(&mut file, range, path))
    }

    /// Whether it has every table of its source, or sums only.
    #[must_use]
    pub fn depth(&self) -> Depth {
        let events = stepscope_model::tables::TABLES.into_iter().filter(|table| !is_sums(table));
        let is_without = |table: &Table| {
            self.record.rows.of(table) > 0 && !self.members.iter().any(|member| member.table.name == table.name)
        };
        if { events }.any(is_without) { Depth::Sums } else { Depth::Full }
    }

    /// The members of a table, one per partition.
    pub fn members_of(&self, table: &Table) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.table.name == table.name)
    }

    /// Refuses bytes that are not those of a member.
    pub fn check(&self, member: &Member, bytes: &[u8]) -> Result<(), StoreError> {
        if member.holds(bytes) {
            return Ok(());
        }
        let reason = format!("the table {} has another checksum", member.table.name);
        Err(StoreError::CorruptPack { reason, path: self.path.clone() })
    }

    /// The bytes of a member of the sums, from those of all sums. Refuses others.
    pub fn sum_bytes<'b>(&self, member: &Member, sums: &'b [u8]) -> Result<&'b [u8], StoreError> {
        let place = |at: u64| at.checked_sub(self.sums.start).and_then(|at| usize::try_from(at).ok());
        let range = member.range();
        let bytes = place(range.start).zip(place(range.end)).and_then(|(start, end)| sums.get(start..end));
        let bytes = bytes.unwrap_or_default();
        self.check(member, bytes).map(|()| bytes)
    }

    /// Reads every byte of a pack that is a file, and refuses it if one is not as written.
    pub fn verify(path: &Path) -> Result<Self, StoreError> {
        let mut file = File::open(path).map_err(StoreError::io("open a pack", path))?;
        let size_bytes = file.metadata().map_err(StoreError::io("open a pack", path))?.len();
        Self::verify_with(path, size_bytes, |range| read_file(&mut file, range, path))
    }

    /// The same for a pack that is anywhere; one table is in memory at a time.
    pub fn verify_with<B: AsRef<[u8]>, E: From<StoreError>>(
        path: &Path,
        size_bytes: u64,
        mut read: impl FnMut(Range<u64>) -> Result<B, E>,
    ) -> Result<Self, E> {
        let pack = Self::read(path, size_bytes, &mut read)?;
        let corrupt = |reason: &str| StoreError::CorruptPack { reason: reason.to_owned(), path: path.to_owned() };
        if read(0..MAGIC.len() as u64)?.as_ref() != MAGIC {
            return Err(corrupt("it does not begin as a pack").into());
        }
        let mut from = MAGIC.len() as u64;
        let between = |range: Range<u64>, read: &mut dyn FnMut(Range<u64>) -> Result<B, E>| {
            let is_empty = range.is_empty() || read(range)?.as_ref().iter().all(|byte| *byte == 0);
            if is_empty { Ok(()) } else { Err(E::from(corrupt("it has bytes between its tables"))) }
        };
        for member in &pack.members {
            pack.check(member, read(member.range())?.as_ref())?;
            between(from..member.offset, &mut read)?;
            from = member.range().end;
        }
        between(from..pack.sums.end, &mut read)?;
        Ok(pack)
    }

    fn parse(path: &Path, size_bytes: u64, tail: Tail, description: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |reason: String| StoreError::CorruptPack { reason, path: path.to_owned() };
        if hash(description) != tail.checksum {
            return Err(corrupt("its record and directory have another checksum".to_owned()));
        }
        let (record, directory) = description.split_at((tail.directory_offset - tail.record_offset) as usize);
        let record: Value = serde_json::from_slice(record).map_err(|error| corrupt(format!("its record: {error}")))?;
        // The versions come first: the rest of another version's record need not be readable at all.
        source::check_versions(&record, path)?;
        let record = serde_json::from_value(record).map_err(|error| corrupt(format!("its record: {error}")))?;
        let members = directory::parse(directory, tail).map_err(corrupt)?;
        Ok(Self { path: path.to_owned(), record, members, sums: tail.sums_offset..tail.record_offset, size_bytes })
    }
}

/// The bytes of a range, which is inside of the file.
fn read_file(file: &mut File, range: Range<u64>, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(range.start));
    let read = read.and_then(|_| file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes));
    read.map_err(StoreError::io("read a pack", path))?;
    Ok(bytes)
}
