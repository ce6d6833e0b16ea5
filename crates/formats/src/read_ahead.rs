//! Reads ahead on a thread of its own: while one block is being parsed, the next ones are inflated.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes in one block.
const BLOCK_BYTES: usize = 256 << 10;

/// Blocks that may wait to be parsed.
const BLOCKS_AHEAD: usize = 4;

/// What the thread gives: a block and how much of it is filled, or why there is none.
type Filled = io::Result<(Vec<u8>, usize)>;

/// Lets `work` read from `source` while `source` is read ahead. When `work` ends early, so does the reading.
pub(crate) fn read_ahead<T>(source: &mut (impl Read + Send), work: impl FnOnce(&mut (dyn Read + Send)) -> T) -> T {
    let (full_sender, full) = sync_channel(BLOCKS_AHEAD);
    let (empty, empty_receiver) = channel();
    thread::scope(|scope| {
        scope.spawn(move || fill_blocks(source, &full_sender, &empty_receiver));
        work(&mut ReadAhead { full, empty, block: Vec::new(), start: 0, end: 0 })
    })
}

fn fill_blocks(source: &mut impl Read, full: &SyncSender<Filled>, empty: &Receiver<Vec<u8>>) {
    loop {
        // Blocks come back and are used again: touching fresh memory is slow.
        let mut block = empty.try_recv().unwrap_or_else(|_| vec![0; BLOCK_BYTES]);
        let filled = fill(source, &mut block).map(|end| (block, end));
        let is_last = !matches!(filled, Ok((_, 1..)));
        if full.send(filled).is_err() || is_last {
            return;
        }
    }
}

/// Fills the block as far as the source goes.
fn fill(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut end = 0;
    while end < block.len() {
        match source.read(&mut block[end..]) {
            Ok(0) => break,
            Ok(count) => end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What was read before the error comes first; the error comes again.
            Err(_) if end > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(end)
}

/// The near end: gives the blocks in order.
struct ReadAhead {
    full: Receiver<Filled>,
    empty: Sender<Vec<u8>>,
    block: Vec<u8>,
    start: usize,
    end: usize,
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            let Ok(filled) = self.full.recv() else { return Ok(0) };
            let (block, end) = filled?;
            let used = std::mem::replace(&mut self.block, block);
            if !used.is_empty() {
                // The thread may be gone already, and then it needs no blocks.
                let _ = self.empty.send(used);
            }
            (self.start, self.end) = (0, end);
        }
        let count = buffer.len().min(self.end - self.start);
        buffer[..count].copy_from_slice(&self.block[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_arrives_in_order() {
        let bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 17).map(|i| (i % 251) as u8).collect();
        let mut source = &bytes[..];
        let read = read_ahead(&mut source, |input| {
            let mut read = Vec::new();
            input.read_to_end(&mut read).map(|_| read)
        });
        assert!(read.is_ok_and(|read| read == bytes));
    }

    #[test]
    fn a_reader_that_stops_early_stops_the_thread() {
        let mut source = io::repeat(7);
        let first = read_ahead(&mut source, |input| {
            let mut first = [0; 3];
            input.read_exact(&mut first).map(|()| first)
        });
        assert!(first.is_ok_and(|first| first == [7; 3]));
    }

    /// Gives some bytes, then fails for ever.
    struct Failing(usize);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("gone"));
            }
            let count = buffer.len().min(self.0);
            self.0 -= count;
            Ok(count)
        }
    }

    #[test]
    fn an_error_comes_after_what_was_read_before_it() {
        for length in [0, 5, BLOCK_BYTES, BLOCK_BYTES + 5] {
            let (count, error) = read_ahead(&mut Failing(length), |input| {
                let mut read = Vec::new();
                let error = input.read_to_end(&mut read).is_err();
                (read.len(), error)
            });
            assert_eq!((count, error), (length, true));
        }
    }
}
