//! Reads an object from its first byte to its last.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use bytes::{Buf, Bytes};

use crate::error::ObjectError;

/// Bytes of one request.
const CHUNK_BYTES: u64 = 8 << 20;

/// Requests whose bytes wait for the reader.
const AHEAD: usize = 2;

/// The bytes of an object, in order. What it holds in memory does not depend on the size of the object.
#[derive(Debug)]
pub struct ObjectStream {
    chunks: Receiver<Result<Bytes, ObjectError>>,
    current: Bytes,
}

impl ObjectStream {
    /// Begins to read ranges. The thread ends when the last byte was read, or soon after the stream is dropped.
    pub(crate) fn start(
        size_bytes: u64,
        read: impl Fn(Range<u64>) -> Result<Bytes, ObjectError> + Send + 'static,
    ) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        thread::spawn(move || {
            let mut at = 0;
            while at < size_bytes {
                let end = size_bytes.min(at + CHUNK_BYTES);
                let chunk = read(at..end);
                at = if chunk.is_ok() { end } else { size_bytes };
                if sender.send(chunk).is_err() {
                    break;
                }
            }
        });
        Self { chunks, current: Bytes::new() }
    }
}

impl Read for ObjectStream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.recv() {
                Ok(chunk) => self.current = chunk.map_err(io::Error::other)?,
                // The thread is done: this is the end of the object.
                Err(_) => return Ok(0),
            }
        }
        let count = to.len().min(self.current.len());
        self.current.copy_to_slice(&mut to[..count]);
        Ok(count)
    }
}
