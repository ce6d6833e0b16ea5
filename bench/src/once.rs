//! What runs in a process of its own, so that its memory and its warm buffers are its own: one ingest, or one bare limit.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use flate2::{Decompress, FlushDecompress, Status};
use serde::{Deserialize, Serialize};
use stepscope_formats::{Event, Limits, MemoryChange, TraceSink, Value, Warning, read_trace};
use stepscope_ingest::{Extras, Options, Progress, ingest};
use stepscope_store::Store;

use crate::fingerprint::{self, Fingerprint};

const BUFFER_BYTES: usize = 256 * 1024;

/// One ingest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IngestReport {
    /// From the call to a finished store.
    pub(crate) wall_s: f64,
    /// Processor time of all threads until then.
    pub(crate) cpu_s: f64,
    /// Most memory that the process held until then.
    pub(crate) peak_rss_bytes: u64,
    /// Bytes of the run's folder.
    pub(crate) run_bytes: u64,
    /// The answers.
    pub(crate) fingerprint: Fingerprint,
}

/// One bare limit of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LimitReport {
    /// Time.
    pub(crate) wall_s: f64,
    /// What was counted: bytes, nodes or quotes.
    pub(crate) count: u64,
}

/// A bare limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Limit {
    /// Inflate a gzip file to nowhere, without its checksum.
    Inflate,
    /// Find the structure of a plain file, which is in memory.
    Tape,
    /// Count the quotes of a plain file, which is in memory.
    Quotes,
    /// Read a trace of any format and count its events, without keeping them.
    Read,
}

/// Ingests one trace into a new store and says what it took.
pub(crate) fn ingest_once(
    trace: &Path,
    root: &Path,
    limit: Option<u64>,
    with_hashes: bool,
    extras: Extras,
) -> Result<IngestReport> {
    let mut options = Options { extras, ..Options::default() };
    options.memory_limit_bytes = limit.unwrap_or(options.memory_limit_bytes);
    let begin = Instant::now();
    let store = Store::create(root)?;
    ingest(&[trace.to_owned()], &store, &options, &Silent)?;
    let wall_s = begin.elapsed().as_secs_f64();
    let (cpu_s, peak_rss_bytes) = (processor_seconds()?, peak_rss_bytes()?);
    let reading = fingerprint::read(root, with_hashes)?;
    let (run_bytes, fingerprint) = (reading.run_bytes, reading.fingerprint);
    Ok(IngestReport { wall_s, cpu_s, peak_rss_bytes, run_bytes, fingerprint })
}

/// Runs one bare limit.
pub(crate) fn limit_once(limit: Limit, path: &Path) -> Result<LimitReport> {
    let (wall_s, count) = match limit {
        Limit::Inflate => {
            let begin = Instant::now();
            let count = inflate(path)?;
            (begin.elapsed().as_secs_f64(), count)
        }
        Limit::Tape => {
            let mut bytes = fs::read(path)?;
            let begin = Instant::now();
            let tape = simd_json::to_tape(&mut bytes).with_context(|| format!("simd-json: {}", path.display()))?;
            (begin.elapsed().as_secs_f64(), tape.0.len() as u64)
        }
        Limit::Read => {
            let begin = Instant::now();
            let mut counted = Counted::default();
            let file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
            read_trace(file, &Limits::default(), &mut counted)?;
            (begin.elapsed().as_secs_f64(), counted.events)
        }
        Limit::Quotes => {
            let bytes = fs::read(path)?;
            let begin = Instant::now();
            let count = memchr::memchr_iter(b'"', black_box(&bytes)).count() as u64;
            (begin.elapsed().as_secs_f64(), count)
        }
    };
    Ok(LimitReport { wall_s, count })
}

/// Counts events and changes of memory.
#[derive(Default)]
struct Counted {
    events: u64,
}

impl TraceSink for Counted {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        black_box(event);
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        self.events += 1;
        black_box(change);
    }

    fn scratch_file(&mut self) -> io::Result<File> {
        tempfile::tempfile()
    }

    fn warning(&mut self, _: &Warning<'_>) {}

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// Hears nothing and stops nothing.
pub(crate) struct Silent;

impl Progress for Silent {
    fn update(&self, _: &str, _: u64, _: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _: &str) {}
}

/// Inflates a file of one gzip member; gives the bytes that came out.
fn inflate(path: &Path) -> Result<u64> {
    let mut file = File::open(path)?;
    let mut input = vec![0; BUFFER_BYTES];
    let mut output = vec![0; BUFFER_BYTES];
    let mut filled = file.read(&mut input)?;
    let mut at = gzip_header_length(&input[..filled]).context("no plain gzip header")?;
    let mut decompress = Decompress::new(false);
    loop {
        if at == filled {
            filled = file.read(&mut input)?;
            at = 0;
            if filled == 0 {
                bail!("the gzip stream has no end: {}", path.display());
            }
        }
        let before = decompress.total_in();
        let status = decompress.decompress(&input[at..filled], &mut output, FlushDecompress::None)?;
        at += usize::try_from(decompress.total_in() - before)?;
        black_box(&output);
        if status == Status::StreamEnd {
            return Ok(decompress.total_out());
        }
    }
}

/// Length of a gzip header that carries at most a file name (RFC 1952, section 2.3).
fn gzip_header_length(bytes: &[u8]) -> Option<usize> {
    const FIXED: usize = 10;
    let flags = *bytes.get(3)?;
    match flags {
        0 => Some(FIXED),
        8 => Some(FIXED + bytes.get(FIXED..)?.iter().position(|byte| *byte == 0)? + 1),
        _ => None,
    }
}

fn peak_rss_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

/// User and system time of this process (proc(5): fields 14 and 15 of `stat`, in ticks of 1/100 s on Linux).
fn processor_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("no command in /proc/self/stat")?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / 100.0)
}
