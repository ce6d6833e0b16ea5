//! Sorts more than fits into memory.
//!
//! Entries are a key and some bytes. They are kept in memory until the limit is reached; then they are sorted and
//! written to a file as one run, and in the end the runs are merged while they are read. What fits stays in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use super::row::Field;
use super::run_file::RunReader;
use super::scratch::{Held, Scratch};
use crate::error::IngestError;

/// What a sorter sorts by.
pub(crate) trait Key: Field + Ord {}

impl<T: Field + Ord> Key for T {}

/// Bytes of entries in one run at most: places in it are 32 bits.
const MAX_RUN_BYTES: usize = u32::MAX as usize / 2;

/// Memory that is not worth a run, at most: the limit is then somebody else's to keep.
const SMALL_RUN_BYTES: usize = 1 << 20;

/// Bytes that are written to a file at once.
const WRITE_BYTES: usize = 1 << 20;

/// Bytes of all runs that are read ahead at once, and of one run at least.
const READ_BYTES: usize = 16 << 20;
const MIN_READ_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    start: u32,
    length: u32,
}

/// Entries on their way into order.
#[derive(Debug)]
pub(crate) struct Sorter<K> {
    entries: Vec<Entry<K>>,
    bytes: Vec<u8>,
    runs: Vec<File>,
    held: Held,
    count: u64,
}

impl<K: Key> Sorter<K> {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { entries: Vec::new(), bytes: Vec::new(), runs: Vec::new(), held: Held::new(scratch), count: 0 }
    }

    /// How many entries it has.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds a key without bytes.
    #[inline]
    pub(crate) fn push(&mut self, key: K) -> Result<(), IngestError> {
        self.push_with(key, |_| {})
    }

    /// Adds a key with the bytes that `put` appends.
    #[inline]
    pub(crate) fn push_with(&mut self, key: K, put: impl FnOnce(&mut Vec<u8>)) -> Result<(), IngestError> {
        let start = self.bytes.len();
        put(&mut self.bytes);
        let length = self.bytes.len() - start;
        self.entries.push(Entry { key, start: start as u32, length: length as u32 });
        self.count += 1;
        if self.held.grew_to(self.memory_bytes()) { self.keep_limit() } else { Ok(()) }
    }

    /// Everything in order.
    pub(crate) fn finish(mut self) -> Result<Sorted<K>, IngestError> {
        if self.runs.is_empty() {
            sort(&mut self.entries);
        } else {
            self.spill()?;
        }
        Ok(Sorted {
            entries: self.entries,
            bytes: self.bytes,
            runs: self.runs,
            scratch: Arc::clone(self.held.scratch()),
            _held: self.held,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry<K>>()
    }

    #[cold]
    fn keep_limit(&mut self) -> Result<(), IngestError> {
        let scratch = self.held.scratch();
        let is_large = self.memory_bytes() >= SMALL_RUN_BYTES.min(scratch.limit_bytes() / 16);
        if (is_large && scratch.is_full()) || self.bytes.len() > MAX_RUN_BYTES { self.spill() } else { Ok(()) }
    }

    /// Writes what is in memory as one run, and empties the memory.
    fn spill(&mut self) -> Result<(), IngestError> {
        sort(&mut self.entries);
        let scratch = Arc::clone(self.held.scratch());
        let mut file = BufWriter::with_capacity(WRITE_BYTES, scratch.file()?);
        let mut head = Vec::with_capacity(K::BYTES + u32::BYTES);
        for entry in &self.entries {
            head.clear();
            entry.key.put(&mut head);
            entry.length.put(&mut head);
            let start = entry.start as usize;
            let payload = &self.bytes[start..start + entry.length as usize];
            file.write_all(&head).and_then(|()| file.write_all(payload)).map_err(|error| scratch.failed(error))?;
        }
        self.runs.push(file.into_inner().map_err(|error| scratch.failed(error.into_error()))?);
        // The room goes back to the system: what is counted as free must be free.
        self.entries = Vec::new();
        self.bytes = Vec::new();
        self.held.set(0);
        Ok(())
    }
}

/// Profilers write long sorted stretches, which a merging sort takes as they are.
fn sort<K: Key>(entries: &mut [Entry<K>]) {
    entries.sort_by_key(|entry| entry.key);
}

/// Entries in order; they can be read any number of times.
#[derive(Debug)]
pub(crate) struct Sorted<K> {
    entries: Vec<Entry<K>>,
    bytes: Vec<u8>,
    runs: Vec<File>,
    scratch: Arc<Scratch>,
    _held: Held,
}

impl<K: Key> Sorted<K> {
    /// Reads from the start.
    pub(crate) fn reader(&self) -> Result<Reader<'_, K>, IngestError> {
        let buffer_bytes = (READ_BYTES / self.runs.len().max(1)).max(MIN_READ_BYTES);
        let mut readers = Vec::with_capacity(self.runs.len());
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        for (index, file) in self.runs.iter().enumerate() {
            let mut reader = RunReader::new(file, buffer_bytes);
            if let Some(key) = reader.advance().map_err(|error| self.scratch.failed(error))? {
                heads.push(Reverse((key, index)));
            }
            readers.push(reader);
        }
        Ok(Reader { sorted: self, next: 0, readers, heads, current: None })
    }
}

/// A place in sorted entries.
pub(crate) struct Reader<'a, K> {
    sorted: &'a Sorted<K>,
    next: usize,
    readers: Vec<RunReader<'a, K>>,
    /// The next key of each run.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    /// The run that gave the last entry; it moves on when the next one is asked for.
    current: Option<usize>,
}

impl<K: Key> Reader<'_, K> {
    /// The next entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(K, &[u8])>, IngestError> {
        if !self.readers.is_empty() {
            return self.next_merged();
        }
        let Some(entry) = self.sorted.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        let start = entry.start as usize;
        Ok(Some((entry.key, &self.sorted.bytes[start..start + entry.length as usize])))
    }

    /// The key of the next entry, when its bytes do not matter.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Result<Option<K>, IngestError> {
        Ok(self.next()?.map(|(key, _)| key))
    }

    /// The key of the next entry, which stays the next.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<K>, IngestError> {
        if self.readers.is_empty() {
            return Ok(self.sorted.entries.get(self.next).map(|entry| entry.key));
        }
        self.leave_current()?;
        Ok(self.heads.peek().map(|&Reverse((key, _))| key))
    }

    fn next_merged(&mut self) -> Result<Option<(K, &[u8])>, IngestError> {
        self.leave_current()?;
        let Some(&Reverse((key, run))) = self.heads.peek() else { return Ok(None) };
        self.current = Some(run);
        Ok(Some((key, self.readers[run].payload())))
    }

    /// Moves the run on whose entry was given last.
    fn leave_current(&mut self) -> Result<(), IngestError> {
        if let (Some(current), Some(mut head)) = (self.current.take(), self.heads.peek_mut()) {
            match self.readers[current].advance().map_err(|error| self.sorted.scratch.failed(error))? {
                Some(key) => *head = Reverse((key, current)),
                None => drop(PeekMut::pop(head)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts with little memory or much, reads twice; gives the keys and the number of runs.
    fn sorted(limit_bytes: u64, keys: impl Iterator<Item = u64>) -> (Vec<u64>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&Scratch::new(folder.path(), limit_bytes));
        for key in keys {
            sorter.push_with(key, |bytes| bytes.extend_from_slice(key.to_string().as_bytes())).unwrap();
        }
        let all = sorter.finish().unwrap();
        let mut reader = all.reader().unwrap();
        let mut first = Vec::new();
        while let Some((key, bytes)) = reader.next().unwrap() {
            assert_eq!(bytes, key.to_string().as_bytes());
            first.push(key);
        }
        assert!(first.is_sorted() && reader.next().unwrap().is_none());
        let mut reader = all.reader().unwrap();
        let mut second = Vec::new();
        while let Some(peeked) = reader.peek().unwrap() {
            assert_eq!(reader.next_key().unwrap(), Some(peeked));
            second.push(peeked);
        }
        assert_eq!(first, second);
        (first, all.runs.len())
    }

    #[test]
    fn what_fits_stays_in_memory_and_what_does_not_is_merged() {
        let keys = || (0..200_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
        let (in_memory, runs) = sorted(u64::MAX, keys());
        assert_eq!((in_memory.len(), runs), (200_000, 0));
        let (merged, runs) = sorted(0, keys());
        assert!(runs > 3, "{runs}");
        assert_eq!(merged, in_memory);
    }

    #[test]
    fn nothing_is_in_order() {
        assert_eq!(sorted(0, std::iter::empty()), (Vec::new(), 0));
    }
}
