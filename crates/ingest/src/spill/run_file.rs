//! Reads a sorted run back from its file, from front to back, through a buffer.

use std::fs::File;
use std::io;
use std::marker::PhantomData;

use super::row::Field;

/// A place in a run.
pub(crate) struct RunReader<'a, K> {
    file: &'a File,
    /// Where in the file the buffer ends.
    offset: u64,
    buffer: Vec<u8>,
    /// The part of the buffer that is read but not used.
    start: usize,
    end: usize,
    payload: std::ops::Range<usize>,
    key: PhantomData<K>,
}

impl<'a, K: Field> RunReader<'a, K> {
    pub(crate) fn new(file: &'a File, buffer_bytes: usize) -> Self {
        Self { file, offset: 0, buffer: vec![0; buffer_bytes], start: 0, end: 0, payload: 0..0, key: PhantomData }
    }

    /// Goes to the next entry and gives its key.
    pub(crate) fn advance(&mut self) -> io::Result<Option<K>> {
        let head_bytes = K::BYTES + u32::BYTES;
        if !self.fill(head_bytes)? {
            return Ok(None);
        }
        let mut head = &self.buffer[self.start..self.start + head_bytes];
        let key = K::take(&mut head);
        let length = u32::take(&mut head) as usize;
        if !self.fill(head_bytes + length)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let payload = self.start + head_bytes;
        self.payload = payload..payload + length;
        self.start = self.payload.end;
        Ok(Some(key))
    }

    /// The bytes of the entry.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.buffer[self.payload.clone()]
    }

    /// Makes sure that `wanted` bytes are in the buffer; `false` at the end of the file.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < self.buffer.len() {
            match read_at(self.file, &mut self.buffer[self.end..], self.offset) {
                Ok(0) => break,
                Ok(count) => {
                    self.end += count;
                    self.offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match self.end {
            0 => Ok(false),
            held if held >= wanted => Ok(true),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads at a place, wherever the file stands.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Reads at a place, wherever the file stands.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Writes at a place, wherever the file stands.
#[cfg(unix)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes at a place, wherever the file stands.
#[cfg(windows)]
pub(crate) fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
        offset += count as u64;
    }
    Ok(())
}
