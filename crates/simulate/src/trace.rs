//! Writes a simulated job as the profiler of `PyTorch` would have recorded it: one Kineto trace per rank.

pub(crate) mod events;
pub(crate) mod header;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use stepscope_formats::ChromeWriter;

use crate::device;
use crate::error::SimulateError;
use crate::job::Job;
use crate::run::{BASE_TIME_NS, Run};
use events::Events;

/// Writes the trace of every rank into `folder`, which is made if it is not there; gives their paths, by rank.
pub fn write_traces(job: &Job, folder: &Path) -> Result<Vec<PathBuf>, SimulateError> {
    fs::create_dir_all(folder).map_err(SimulateError::write(folder))?;
    let run = job.run();
    let write = |rank| {
        let path = folder.join(format!("rank{rank}.{}.pt.trace.json.gz", BASE_TIME_NS / 1_000_000));
        write_file(&run, rank, &path).map_err(SimulateError::write(&path))?;
        Ok(path)
    };
    (0..job.ranks).map(write).collect()
}

fn write_file(run: &Run<'_>, rank: u32, path: &Path) -> io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let gzip = GzEncoder::new(file, Compression::default());
    write_trace(run, rank, gzip)?.finish()?.flush()
}

fn write_trace<W: Write>(run: &Run<'_>, rank: u32, out: W) -> io::Result<W> {
    let (devices, distributed) =
        (header::device_properties(device::count(run.job())), header::distributed_info(run.job(), rank));
    let mut events = Events::new(run.job(), rank, ChromeWriter::begin(out, &header::entries(&devices, &distributed))?);
    for step in run.rank(rank) {
        events.step(&step)?;
    }
    events.names_and_window()?;
    events.writer.finish()
}
