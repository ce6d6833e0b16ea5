//! Plain bytes from a file that may be compressed with gzip, as far as they can be had.
//!
//! Jobs are killed while they write: a stream that ends early or is damaged gives what can be decoded, and a note.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use stepscope_model::Note;

use crate::registry::Limits;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads plain bytes; inflates if the first bytes are those of gzip.
pub(crate) struct Inflate<R> {
    input: R,
    state: State,
    /// The first byte of the input, when it was passed to see the second.
    held: Option<u8>,
    decompress: Decompress,
    crc: Crc,
    compressed_bytes: u64,
    plain_bytes: u64,
    max_ratio: u64,
    free_bytes: u64,
    note: Option<Note>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was read yet.
    Start,
    /// Not compressed.
    Plain,
    /// A member of a gzip file is due.
    Header,
    /// Inside the compressed part of a member.
    Body,
    /// Everything was read.
    Done,
}

/// Why a member cannot be read on.
enum Trouble {
    Io(io::Error),
    /// The input ends.
    Truncated,
    /// The data contradicts itself.
    Corrupt,
}

impl<R: BufRead> Inflate<R> {
    pub(crate) fn new(input: R, limits: &Limits) -> Self {
        Self {
            input,
            state: State::Start,
            held: None,
            decompress: Decompress::new(false),
            crc: Crc::new(),
            compressed_bytes: 0,
            plain_bytes: 0,
            max_ratio: limits.max_gzip_ratio,
            free_bytes: limits.gzip_free_bytes,
            note: None,
        }
    }

    /// Plain bytes so far.
    pub(crate) fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// What kept the stream from being read to its end.
    pub(crate) fn note(&self) -> Option<Note> {
        self.note
    }

    /// Looks at the first two bytes. A reader may give them one at a time.
    fn begin(&mut self) -> io::Result<()> {
        let second = match *fill(&mut self.input)? {
            [first, second, ..] if first == MAGIC[0] => Some(second),
            [first] if first == MAGIC[0] => {
                self.input.consume(1);
                self.held = Some(first);
                fill(&mut self.input)?.first().copied()
            }
            _ => None,
        };
        self.state = if second == Some(MAGIC[1]) { State::Header } else { State::Plain };
        Ok(())
    }

    /// Reads the header of a member, or finds that there is no further one.
    fn read_header(&mut self) -> Result<(), Trouble> {
        let is_first = self.compressed_bytes == 0;
        if self.held.is_none() && fill(&mut self.input).map_err(Trouble::Io)?.first() != Some(&MAGIC[0]) {
            // What follows the last member is no part of the file: padding, or a signature.
            self.state = State::Done;
            return Ok(());
        }
        self.next_byte()?;
        match self.next_byte() {
            Ok(byte) if byte == MAGIC[1] => {}
            Ok(_) | Err(Trouble::Truncated) if !is_first => {
                self.state = State::Done;
                return Ok(());
            }
            Ok(_) => return Err(Trouble::Corrupt),
            Err(trouble) => return Err(trouble),
        }
        let method = self.next_byte()?;
        let flags = self.next_byte()?;
        if method != 8 || flags & 0xe0 != 0 {
            return Err(Trouble::Corrupt);
        }
        self.skip_bytes(6)?;
        if flags & 0x04 != 0 {
            let length = usize::from(self.next_byte()?) | usize::from(self.next_byte()?) << 8;
            self.skip_bytes(length)?;
        }
        // The name of the file, then a comment.
        for flag in [0x08, 0x10] {
            if flags & flag != 0 {
                while self.next_byte()? != 0 {}
            }
        }
        if flags & 0x02 != 0 {
            self.skip_bytes(2)?;
        }
        self.decompress.reset(false);
        self.crc.reset();
        self.state = State::Body;
        Ok(())
    }

    /// Inflates into `out`; 0 when the member ended without giving anything.
    fn read_body(&mut self, out: &mut [u8]) -> Result<usize, Trouble> {
        loop {
            let input = fill(&mut self.input).map_err(Trouble::Io)?;
            let is_end = input.is_empty();
            let (before_in, before_out) = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(input, out, FlushDecompress::None);
            let consumed = (self.decompress.total_in() - before_in) as usize;
            let produced = (self.decompress.total_out() - before_out) as usize;
            self.input.consume(consumed);
            self.compressed_bytes += consumed as u64;
            self.crc.update(&out[..produced]);
            match status {
                Ok(Status::StreamEnd) => self.state = State::Header,
                Ok(Status::Ok | Status::BufError) if produced == 0 && is_end => return Err(Trouble::Truncated),
                Ok(Status::Ok | Status::BufError) => {}
                // What was decoded before the damage is kept.
                Err(_) if produced > 0 => {
                    self.stop(Note::GzipCorrupt);
                    return Ok(produced);
                }
                Err(_) => return Err(Trouble::Corrupt),
            }
            if self.state == State::Header {
                self.read_trailer();
                return Ok(produced);
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }

    /// Compares the checksum and the length that follow a member with what was decoded.
    fn read_trailer(&mut self) {
        let mut trailer = [0_u8; 8];
        for place in &mut trailer {
            match self.next_byte() {
                Ok(byte) => *place = byte,
                Err(_) => return self.stop(Note::GzipTruncated),
            }
        }
        let [c0, c1, c2, c3, l0, l1, l2, l3] = trailer;
        let is_right = u32::from_le_bytes([c0, c1, c2, c3]) == self.crc.sum()
            && u32::from_le_bytes([l0, l1, l2, l3]) == self.crc.amount();
        if !is_right {
            self.stop(Note::GzipCorrupt);
        }
    }

    fn next_byte(&mut self) -> Result<u8, Trouble> {
        if let Some(byte) = self.held.take() {
            self.compressed_bytes += 1;
            return Ok(byte);
        }
        let input = fill(&mut self.input).map_err(Trouble::Io)?;
        let byte = *input.first().ok_or(Trouble::Truncated)?;
        self.input.consume(1);
        self.compressed_bytes += 1;
        Ok(byte)
    }

    fn skip_bytes(&mut self, count: usize) -> Result<(), Trouble> {
        (0..count).try_for_each(|_| self.next_byte().map(drop))
    }

    fn stop(&mut self, note: Note) {
        self.note = Some(note);
        self.state = State::Done;
    }

    fn settle(&mut self, outcome: Result<usize, Trouble>) -> io::Result<usize> {
        match outcome {
            Ok(count) => Ok(count),
            Err(Trouble::Io(error)) => Err(error),
            Err(Trouble::Truncated) => {
                self.stop(Note::GzipTruncated);
                Ok(0)
            }
            Err(Trouble::Corrupt) => {
                self.stop(Note::GzipCorrupt);
                Ok(0)
            }
        }
    }
}

impl<R: BufRead> Read for Inflate<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match self.state {
                State::Start => {
                    self.begin()?;
                    0
                }
                State::Plain => {
                    let count = match self.held.take() {
                        Some(byte) => {
                            out[0] = byte;
                            1
                        }
                        None => self.input.read(out)?,
                    };
                    self.plain_bytes += count as u64;
                    return Ok(count);
                }
                State::Header => {
                    let outcome = self.read_header();
                    self.settle(outcome.map(|()| 0))?
                }
                State::Body => {
                    let outcome = self.read_body(out);
                    self.settle(outcome)?
                }
                State::Done => return Ok(0),
            };
            self.plain_bytes += count as u64;
            let most = self.compressed_bytes.saturating_mul(self.max_ratio).max(self.free_bytes);
            if self.plain_bytes > most && self.state != State::Done {
                self.stop(Note::GzipExpansionCapped);
            }
            if count > 0 {
                return Ok(count);
            }
        }
    }
}

/// The bytes at hand, reading on if there are none.
fn fill(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    input.fill_buf()
}
