//! Bytes that are put aside and read again: in memory while they are few, else in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek as _, SeekFrom, Write as _};

/// Bytes that are kept in memory.
const MEMORY_BYTES: usize = 16 << 20;

/// Bytes that are read from the file at once.
const READ_BYTES: usize = 1 << 20;

/// Bytes that were put aside, in order.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<BufWriter<File>>,
}

impl Spool {
    /// Appends bytes. `new_file` gives the file for what is too much for memory.
    pub(crate) fn push(&mut self, bytes: &[u8], new_file: &mut dyn FnMut() -> io::Result<File>) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES {
            let mut file = BufWriter::with_capacity(READ_BYTES, new_file()?);
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads everything from the beginning.
    pub(crate) fn reader(&mut self) -> io::Result<SpoolReader<'_>> {
        Ok(match &mut self.file {
            Some(file) => {
                file.flush()?;
                file.get_mut().seek(SeekFrom::Start(0))?;
                SpoolReader::File(io::BufReader::with_capacity(READ_BYTES, file.get_mut()))
            }
            None => SpoolReader::Memory(&self.memory),
        })
    }

    /// Forgets everything; memory is kept for the next bytes.
    pub(crate) fn clear(&mut self) {
        self.memory.clear();
        self.file = None;
    }
}

/// Reads what was put aside.
#[derive(Debug)]
pub(crate) enum SpoolReader<'s> {
    Memory(&'s [u8]),
    File(io::BufReader<&'s mut File>),
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }
}
