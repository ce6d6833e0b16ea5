//! Writes what happened as the profiler of `PyTorch` does: one Kineto trace per rank.

mod events;
mod header;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use stepscope_formats::ChromeWriter;

use crate::error::SimulateError;
use crate::run::BASE_TIME_NS;

use super::recording::RankRecording;
use super::setup::Setup;
use events::Events;

/// Writes the trace of every rank.
pub(super) fn write(setup: &Setup, ranks: &[RankRecording], folder: &Path) -> Result<Vec<PathBuf>, SimulateError> {
    fs::create_dir_all(folder).map_err(SimulateError::write(folder))?;
    let write = |(rank, recording): (u32, &RankRecording)| {
        let path = folder.join(format!("rank{rank}.{}.pt.trace.json.gz", BASE_TIME_NS / 1_000_000));
        write_file(setup, rank, recording, &path).map_err(SimulateError::write(&path))?;
        Ok(path)
    };
    (0..).zip(ranks).map(write).collect()
}

fn write_file(setup: &Setup, rank: u32, recording: &RankRecording, path: &Path) -> io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let gzip = GzEncoder::new(file, Compression::fast());
    let (devices, distributed) = (header::devices(setup), header::distributed_info(setup, rank));
    let writer = ChromeWriter::begin(gzip, &header::entries(&devices, distributed.as_deref()))?;
    let mut events = Events::new(setup, rank, recording, writer);
    events.write()?;
    events.writer.finish()?.finish()?.flush()
}
