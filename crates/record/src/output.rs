//! The file that a recording goes to. Several processes may append to one, frame by frame.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use stepscope_model::segment::{FRAME_HEAD_BYTES, MAGIC};
use twox_hash::XxHash3_128;

/// An open segment.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Output {
    /// Opens a segment, or makes it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file, path: path.to_owned(), bytes: 0 })
    }

    /// Appends one frame, in one piece: a lock keeps other processes out, also where appending alone would not.
    pub(crate) fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(FRAME_HEAD_BYTES + payload.len());
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        frame.extend_from_slice(&(XxHash3_128::oneshot(payload) as u64).to_le_bytes());
        frame.extend_from_slice(payload);
        // A file system without locks appends as well as it can.
        let is_locked = self.file.lock().is_ok();
        let written = self.file.write_all(&frame);
        if is_locked {
            self.file.unlock()?;
        }
        written?;
        self.bytes += frame.len() as u64;
        Ok(())
    }
}
