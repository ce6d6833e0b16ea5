//! A number for each span that is known only some time after the span: its self time, which its last child decides.

use std::fs::File;
use std::sync::Arc;

use super::row::Field;
use super::run_file::{read_at, write_at};
use super::scratch::{Held, Scratch};
use crate::collect::record::SpanId;
use crate::error::IngestError;

/// Values that are kept or written together.
const SEGMENT_VALUES: usize = 1 << 17;

/// One number per span. Numbers of old spans go to a file when memory is short; the few that are still missing there are
/// written to their place when they come.
#[derive(Debug)]
pub(crate) struct LateColumn {
    /// Segments that are in memory, by number; the first `written` ones are in the file.
    segments: Vec<Vec<i64>>,
    written: usize,
    file: Option<File>,
    held: Held,
}

impl LateColumn {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { segments: Vec::new(), written: 0, file: None, held: Held::new(scratch) }
    }

    /// Sets the number of a span.
    #[inline]
    pub(crate) fn set(&mut self, id: SpanId, value: i64) -> Result<(), IngestError> {
        let index = id.index() as usize;
        let (segment, place) = (index / SEGMENT_VALUES, index % SEGMENT_VALUES);
        if segment >= self.segments.len() {
            self.grow(segment)?;
        }
        match self.segments[segment].get_mut(place) {
            Some(slot) => *slot = value,
            None => self.set_in_file(index, value)?,
        }
        Ok(())
    }

    /// Reads the numbers in the order of the spans.
    pub(crate) fn reader(&self) -> LateReader<'_> {
        LateReader { column: self, segment: usize::MAX, values: Vec::new() }
    }

    #[cold]
    fn grow(&mut self, segment: usize) -> Result<(), IngestError> {
        while self.segments.len() <= segment {
            self.segments.push(vec![0; SEGMENT_VALUES]);
        }
        self.held.set((self.segments.len() - self.written) * SEGMENT_VALUES * i64::BYTES);
        while self.held.scratch().is_full() && self.written + 1 < self.segments.len() {
            self.write_segment()?;
        }
        Ok(())
    }

    fn write_segment(&mut self) -> Result<(), IngestError> {
        let values = std::mem::take(&mut self.segments[self.written]);
        let mut bytes = Vec::with_capacity(values.len() * i64::BYTES);
        for value in values {
            value.put(&mut bytes);
        }
        let scratch = Arc::clone(self.held.scratch());
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(scratch.file()?),
        };
        let offset = self.written as u64 * bytes.len() as u64;
        write_at(file, &bytes, offset).map_err(|error| scratch.failed(error))?;
        self.written += 1;
        self.held.set((self.segments.len() - self.written) * SEGMENT_VALUES * i64::BYTES);
        Ok(())
    }

    fn set_in_file(&self, index: usize, value: i64) -> Result<(), IngestError> {
        let Some(file) = &self.file else { return Ok(()) };
        write_at(file, &value.to_le_bytes(), (index * i64::BYTES) as u64)
            .map_err(|error| self.held.scratch().failed(error))
    }
}

/// A place in the column.
pub(crate) struct LateReader<'a> {
    column: &'a LateColumn,
    segment: usize,
    /// The segment, if it had to be read from the file.
    values: Vec<i64>,
}

impl LateReader<'_> {
    /// The number of a span; 0 if it has none.
    #[inline]
    pub(crate) fn get(&mut self, id: SpanId) -> Result<i64, IngestError> {
        let index = id.index() as usize;
        let (segment, place) = (index / SEGMENT_VALUES, index % SEGMENT_VALUES);
        if segment >= self.column.written {
            return Ok(self.column.segments.get(segment).and_then(|values| values.get(place)).copied().unwrap_or(0));
        }
        if self.segment != segment {
            self.load(segment)?;
        }
        Ok(self.values[place])
    }

    #[cold]
    fn load(&mut self, segment: usize) -> Result<(), IngestError> {
        let mut bytes = vec![0; SEGMENT_VALUES * i64::BYTES];
        let scratch = self.column.held.scratch();
        let mut filled = 0;
        while let (Some(file), true) = (&self.column.file, filled < bytes.len()) {
            let offset = (segment * bytes.len() + filled) as u64;
            match read_at(file, &mut bytes[filled..], offset).map_err(|error| scratch.failed(error))? {
                0 => break,
                count => filled += count,
            }
        }
        let mut left = &bytes[..];
        self.values = (0..SEGMENT_VALUES).map(|_| i64::take(&mut left)).collect();
        self.segment = segment;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_values_find_their_place_in_memory_and_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for limit_bytes in [u64::MAX, 0] {
            let mut column = LateColumn::new(&Scratch::new(folder.path(), limit_bytes));
            let ids = || (0..3 * SEGMENT_VALUES as u64 + 5).map(SpanId::new);
            // The first span of each hundred ends last.
            for id in ids().filter(|id| id.index() % 100 != 0) {
                column.set(id, -(id.index() as i64)).unwrap();
            }
            for id in ids().filter(|id| id.index() % 100 == 0) {
                column.set(id, id.index() as i64).unwrap();
            }
            assert_eq!(column.written > 0, limit_bytes == 0);
            let mut reader = column.reader();
            for id in ids() {
                let index = id.index() as i64;
                assert_eq!(reader.get(id).unwrap(), if index % 100 == 0 { index } else { -index });
            }
        }
    }
}
