//! The bytes of a stream, a piece at a time.

use std::io::{self, Read};

use memchr::memchr;

/// Bytes that are asked for at once.
const BLOCK_BYTES: usize = 256 << 10;

/// What of a stream is in memory. It grows only with bytes that are there, whatever a length says.
#[derive(Debug)]
pub(super) struct Window<R> {
    pub(super) input: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where `bytes` begins in the stream.
    base: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, bytes: vec![0; BLOCK_BYTES], start: 0, end: 0, base: 0 }
    }

    /// Bytes taken so far.
    #[inline]
    pub(super) fn offset_bytes(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Whether so many bytes are left.
    #[inline]
    pub(super) fn has(&mut self, length: usize) -> io::Result<bool> {
        if self.end - self.start >= length { Ok(true) } else { self.fill(length) }
    }

    /// Takes bytes that `has` found to be there.
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let taken = &self.bytes[self.start..self.start + length];
        self.start += length;
        taken
    }

    /// The length of the line that begins here, without its end; `None` if it has none within `limit` bytes.
    pub(super) fn line_length(&mut self, limit: usize) -> io::Result<Option<usize>> {
        let mut seen = 0;
        loop {
            let there = &self.bytes[self.start..self.end];
            if let Some(at) = memchr(b'\n', &there[seen..]) {
                return Ok(Some(seen + at));
            }
            seen = there.len();
            if seen > limit || !self.fill(seen + 1)? {
                return Ok(None);
            }
        }
    }

    /// Passes over bytes; `false` if the stream ends before.
    pub(super) fn skip(&mut self, mut length: u64) -> io::Result<bool> {
        while length > 0 {
            if self.start == self.end && !self.fill(1)? {
                return Ok(false);
            }
            let passed = length.min((self.end - self.start) as u64);
            self.start += passed as usize;
            length -= passed;
        }
        Ok(true)
    }

    /// Passes over the rest; gives its length.
    pub(super) fn skip_rest(&mut self) -> io::Result<u64> {
        let before = self.offset_bytes();
        self.skip(u64::MAX)?;
        Ok(self.offset_bytes() - before)
    }

    #[cold]
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        while self.end - self.start < length {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.base += self.start as u64;
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.bytes.len() {
                self.bytes.resize(2 * self.bytes.len(), 0);
            }
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_lengths_end_with_the_stream() {
        let bytes = [b"ab\ncd".as_slice(), &vec![b'x'; 3 * BLOCK_BYTES], b"\n"].concat();
        let mut window = Window::new(bytes.as_slice());
        assert_eq!(window.line_length(10).unwrap(), Some(2));
        assert_eq!(window.take(3), b"ab\n");
        assert_eq!(window.line_length(10).unwrap(), None, "longer than the limit");
        assert_eq!(window.line_length(usize::MAX).unwrap(), Some(2 + 3 * BLOCK_BYTES));
        assert!(window.skip(2).unwrap());
        assert!(!window.has(usize::MAX / 4).unwrap(), "a length is not believed");
        assert_eq!(window.offset_bytes(), 5);
        assert_eq!(window.skip_rest().unwrap(), 3 * BLOCK_BYTES as u64 + 1);
    }
}
