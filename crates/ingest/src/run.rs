//! From files and folders to the sources of runs: who is which rank and which window.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stepscope_formats::FormatError;
use stepscope_model::{RankFrom, SourceId, SourceRecord};
use stepscope_store::Store;

use crate::discover::{PathFound, RunPlan, plan, rank_in_name, worker_in_name};
use crate::error::IngestError;
use crate::memory::default_memory_limit_bytes;
use crate::names::{COMMUNICATION_NAMES, Names};
use crate::scratch::Scratch;
use crate::source::{Recording, read};

/// Hears how an ingest goes, and may stop it.
pub trait Progress: Send + Sync {
    /// Bytes of a file that were read so far.
    fn update(&self, file: &str, bytes_done: u64, bytes_total: Option<u64>);

    /// Rows that were derived and written so far, once a file is read.
    fn deriving(&self, _file: &str, _rows_done: u64, _rows_total: u64) {}

    /// A file is done.
    fn finished_file(&self);

    /// Whether to stop.
    fn cancelled(&self) -> bool;

    /// Something that the user should know and that is no error.
    fn notice(&self, message: &str);
}

/// How to ingest.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every file becomes a run of its own.
    pub separate_runs: bool,
    /// Leave out the folders in a folder.
    pub flat_folders: bool,
    /// Refuse a trace that is broken or lost events.
    pub strict: bool,
    /// Names of communication kernels, in the form of `COMMUNICATION_NAMES`.
    pub communication_names: String,
    /// Memory to use; what does not fit goes to files beside the store.
    pub memory_limit_bytes: u64,
    /// What to make beside the tables of events.
    pub extras: Extras,
}

/// What an ingest makes beside the tables of events, and what could be made anew from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extras {
    /// The tables of sums.
    pub rollups: bool,
    /// The timeline's levels of detail.
    pub tiles: bool,
}

impl Default for Extras {
    fn default() -> Self {
        Self { rollups: true, tiles: true }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            separate_runs: false,
            flat_folders: false,
            strict: false,
            communication_names: COMMUNICATION_NAMES.to_owned(),
            memory_limit_bytes: default_memory_limit_bytes(),
            extras: Extras::default(),
        }
    }
}

/// A source that is in the store now.
#[derive(Clone, Debug)]
pub struct Ingested {
    /// What the store says about it.
    pub record: SourceRecord,
    /// Time it took.
    pub wall: Duration,
    /// Most memory that the process ever held, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// Ingests files and folders into a store.
pub fn ingest(
    paths: &[PathBuf],
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Ingested>, IngestError> {
    let mut ingested = Vec::new();
    for run in plan(paths, options)? {
        let mut job = RunJob::new(store, &run, options, progress)?;
        for file in &run.files {
            ingested.extend(job.file(file)?);
        }
    }
    match paths.iter().find(|path| path.is_dir()) {
        Some(path) if ingested.is_empty() => Err(IngestError::NoTraces { path: path.clone() }),
        _ => Ok(ingested),
    }
}

/// One run on its way into a store.
struct RunJob<'a> {
    store: &'a Store,
    name: &'a str,
    options: &'a Options,
    progress: &'a dyn Progress,
    sources: Vec<SourceRecord>,
}

impl<'a> RunJob<'a> {
    fn new(
        store: &'a Store,
        run: &'a RunPlan,
        options: &'a Options,
        progress: &'a dyn Progress,
    ) -> Result<Self, IngestError> {
        let sources = store.sources(&run.name)?;
        Ok(Self { store, name: &run.name, options, progress, sources })
    }

    /// Ingests one file; `None` when a file of a folder is no trace.
    fn file(&mut self, file: &PathFound) -> Result<Option<Ingested>, IngestError> {
        let begin = Instant::now();
        let recording = match self.read(&file.path) {
            Err(IngestError::Format { path, source }) if !file.is_named && !matches!(source, FormatError::Io(_)) => {
                self.progress.notice(&format!("left out {}: {source}", path.display()));
                return Ok(None);
            }
            result => result?,
        };
        if let (true, Some(damage)) = (self.options.strict, recording.damage()) {
            let (kept, element, location) = (recording.kept_events(), recording.element(), recording.location());
            return Err(IngestError::Damaged { damage, kept, element, location });
        }
        let record = match self.sources.iter().find(|source| source.digest == recording.digest()) {
            Some(same) => {
                if same.path != recording.path().display().to_string() {
                    let path = file.path.display();
                    self.progress.notice(&format!("{path} has the same content as {}; it counts once", same.path));
                }
                same.clone()
            }
            None => self.place(recording)?,
        };
        self.progress.finished_file();
        Ok(Some(Ingested { record, wall: begin.elapsed(), peak_rss_bytes: peak_rss_bytes() }))
    }

    fn read(&self, path: &Path) -> Result<Recording, IngestError> {
        let shown = path.display().to_string();
        let names = Names::new(&self.options.communication_names)?;
        let scratch = Scratch::new(&self.store.scratch_dir(), self.options.memory_limit_bytes);
        if shown == "-" {
            let mut on_progress = |bytes| self.report(&shown, bytes, None);
            return read(path, std::io::stdin(), names, scratch, &mut on_progress);
        }
        let open = |source| IngestError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(open)?;
        let total = file.metadata().map_err(open)?.len();
        let mut on_progress = |bytes| self.report(&shown, bytes, Some(total));
        read(path, file, names, scratch, &mut on_progress)
    }

    fn report(&self, path: &str, bytes: u64, total: Option<u64>) -> bool {
        self.progress.update(path, bytes, total);
        !self.progress.cancelled()
    }

    fn place(&mut self, recording: Recording) -> Result<SourceRecord, IngestError> {
        let (rank, rank_from) = self.rank(&recording);
        let window = self.window(rank, &recording)?;
        let id = SourceId { rank, window };
        let record = recording.write(self.store, self.name, id, rank_from, self.options.extras, self.progress)?;
        self.sources.retain(|source| source.id != record.id);
        self.sources.push(record.clone());
        Ok(record)
    }

    fn rank(&self, recording: &Recording) -> (u32, RankFrom) {
        if let Some(rank) = recording.header_rank() {
            return (rank, RankFrom::Header);
        }
        if let Some(rank) = rank_in_name(recording.path()) {
            return (rank, RankFrom::FileName);
        }
        // It tells of a whole program, so it is another recording of the same rank rather than another rank.
        if recording.is_profile() {
            return (0, RankFrom::Order);
        }
        let worker = worker_in_name(recording.path());
        let known = self
            .sources
            .iter()
            .find(|source| source.rank_from == RankFrom::Order && worker_in_name(Path::new(&source.path)) == worker);
        let is_taken = |rank: &u32| self.sources.iter().any(|source| source.id.rank == *rank && !source.is_profile());
        let free = || (0..=u32::MAX).find(|rank| !is_taken(rank)).unwrap_or(0);
        let rank = known.map_or_else(free, |source| source.id.rank);
        (rank, RankFrom::Order)
    }

    /// The next window of the rank; the one that this very file had before, if its content has changed.
    fn window(&self, rank: u32, recording: &Recording) -> Result<u32, IngestError> {
        let path = recording.path().display().to_string();
        let of_rank = || self.sources.iter().filter(|source| source.id.rank == rank);
        if let Some(before) = of_rank().find(|source| source.path == path) {
            return Ok(before.id.window);
        }
        let overlapping = of_rank().find(|source| overlaps(source, recording));
        if let Some(other) = overlapping {
            return Err(IngestError::SameRankTwice {
                rank,
                path: recording.path().to_owned(),
                other: other.path.clone(),
            });
        }
        Ok(of_rank().map(|source| source.id.window + 1).max().unwrap_or(0))
    }
}

fn overlaps(source: &SourceRecord, recording: &Recording) -> bool {
    match (source.first_event_ns, source.last_event_ns, recording.time_range()) {
        (Some(first), Some(last), Some((start, end))) => start <= last && first <= end,
        _ => false,
    }
}

/// Most memory that this process ever held.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}
