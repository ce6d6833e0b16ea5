//! From files and folders to the sources of runs: which run, which rank and which window.

pub(crate) mod discover;
mod same_job;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stepscope_model::{RankFrom, SkippedFile, SourceId, SourceRecord};
use stepscope_objects::Place;
use stepscope_store::Store;
use stepscope_store::layout::run_folder_name;

use self::discover::{PathFound, RunPlan, free_name, own_run_name, plan};
use self::same_job::{Kin, Traits};
use crate::collect::names::{COMMUNICATION_NAMES, Names};
use crate::error::IngestError;
use crate::source::{Placing, ReadTrace, read};
use crate::spill::memory::default_memory_limit_bytes;
use crate::spill::scratch::Scratch;
use crate::trace_file;

/// Hears how an ingest goes, and may stop it.
pub trait Progress: Send + Sync {
    /// Files that will be read, and their bytes; before the first of them.
    fn planned(&self, _files: u64, _bytes: u64) {}

    /// Bytes of a file that were read so far.
    fn update(&self, file: &str, bytes_done: u64, bytes_total: Option<u64>);

    /// Rows that were derived and written so far, once a file is read.
    fn deriving(&self, _file: &str, _rows_done: u64, _rows_total: u64) {}

    /// A file is done.
    fn finished_file(&self);

    /// Whether to stop.
    fn canceled(&self) -> bool;

    /// Something that the user should know and that is no error.
    fn notice(&self, message: &str);
}

/// How to ingest.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the run, instead of that of the file or folder.
    pub run: Option<String>,
    /// How the recordings of a rank are numbered.
    pub windows: Windows,
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

/// How the recordings of a rank are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Windows {
    /// From 0, in the order they come in: the store tells what is there.
    #[default]
    InOrder,
    /// By what is in them, so that many hosts number alike without knowledge of each other.
    ByContent,
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
            run: None,
            windows: Windows::InOrder,
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

/// What an ingest did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sources that are in the store now.
    pub sources: Vec<Ingested>,
    /// Files beside them that were not read.
    pub skipped: Vec<SkippedFile>,
    /// Whether the system refused to read a file: the next time it may not.
    pub is_transient: bool,
}

/// Ingests files and folders into a store.
pub fn ingest(
    paths: &[PathBuf],
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Outcome, IngestError> {
    let mut outcome = Outcome::default();
    let plans = plan(paths, options)?;
    let files = || plans.iter().flat_map(|plan| &plan.files);
    // What cannot be looked at has no bytes here; reading it says why.
    let bytes = files().map(|file| trace_file::size(&file.path).unwrap_or(0)).sum();
    progress.planned(files().count() as u64, bytes);
    for plan in plans {
        let mut folder = FolderJob::new(store, &plan, options, progress)?;
        for file in &plan.files {
            folder.file(file)?;
        }
        folder.finish(&mut outcome)?;
    }
    match paths.iter().find(|path| path.is_dir() || Place::is_address(path)) {
        Some(path) if outcome.sources.is_empty() => {
            Err(IngestError::NoTraces { path: path.clone(), skipped: outcome.skipped })
        }
        _ => Ok(outcome),
    }
}

/// Files that lie together on their way into a store: one run, or several when the traces contradict each other.
struct FolderJob<'a> {
    store: &'a Store,
    plan: &'a RunPlan,
    options: &'a Options,
    progress: &'a dyn Progress,
    runs: Vec<RunJob>,
    /// Names of other runs in the store.
    taken: Vec<String>,
    ingested: Vec<Ingested>,
    skipped: Vec<SkippedFile>,
    is_transient: bool,
}

/// One of the runs.
struct RunJob {
    name: String,
    /// The name that it gets when there are others beside it; `None` for a run that the store had before.
    own_name: Option<String>,
    members: Vec<Member>,
}

/// A source of a run.
struct Member {
    record: SourceRecord,
    traits: Traits,
}

impl<'a> FolderJob<'a> {
    fn new(
        store: &'a Store,
        plan: &'a RunPlan,
        options: &'a Options,
        progress: &'a dyn Progress,
    ) -> Result<Self, IngestError> {
        let names = plan.files.iter().map(|file| run_folder_name(&own_run_name(plan, file)));
        let names: HashSet<String> = names.chain([run_folder_name(&plan.name)]).collect();
        let (there, taken): (Vec<String>, Vec<String>) = store.runs()?.into_iter().partition(|run| names.contains(run));
        let mut runs = Vec::new();
        for name in there {
            let members = store.sources(&name)?.into_iter().map(Member::new).collect();
            runs.push(RunJob { name, own_name: None, members });
        }
        let skipped = plan.skipped.clone();
        let is_transient = skipped.iter().any(|file| file.is_unreadable);
        Ok(Self { store, plan, options, progress, runs, taken, ingested: Vec::new(), skipped, is_transient })
    }

    /// Ingests one file; a file of a folder that is no trace is left out.
    fn file(&mut self, file: &PathFound) -> Result<(), IngestError> {
        let begin = Instant::now();
        let trace = match self.read(&file.path) {
            Err(error) if !file.is_named => return self.skip(error),
            result => result?,
        };
        if let (true, Some(damage)) = (self.options.strict, trace.damage()) {
            let (kept, element, location) = (trace.kept_events(), trace.element(), trace.location());
            return Err(IngestError::Damaged { damage, kept, element, location });
        }
        let members = self.runs.iter().flat_map(|run| &run.members);
        let record = match members.map(|member| &member.record).find(|record| is_content_of(record, &trace)) {
            Some(same) => {
                if same.path != trace.path().display().to_string() {
                    let path = file.path.display();
                    self.progress.notice(&format!("{path} has the same content as {}; it counts once", same.path));
                }
                same.clone()
            }
            None => self.place(file, trace)?,
        };
        self.progress.finished_file();
        self.ingested.push(Ingested { record, wall: begin.elapsed(), peak_rss_bytes: peak_rss_bytes() });
        Ok(())
    }

    /// Notes what is beside the traces, and gives back what was done.
    fn finish(mut self, outcome: &mut Outcome) -> Result<(), IngestError> {
        let mut named: HashSet<&str> = HashSet::new();
        for ingested in &self.ingested {
            if named.insert(&ingested.record.run) {
                self.store.write_skipped(&ingested.record.run, &self.skipped)?;
            }
        }
        outcome.sources.append(&mut self.ingested);
        outcome.skipped.append(&mut self.skipped);
        outcome.is_transient |= self.is_transient;
        Ok(())
    }

    fn skip(&mut self, error: IngestError) -> Result<(), IngestError> {
        let Some(skipped) = error.as_skipped() else { return Err(error) };
        if skipped.is_unreadable && self.options.strict {
            return Err(error);
        }
        self.is_transient |= error.is_transient();
        self.skipped.push(skipped);
        self.progress.finished_file();
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<ReadTrace, IngestError> {
        let shown = path.display().to_string();
        let names = Names::new(&self.options.communication_names)?;
        let scratch = Scratch::new(&self.store.scratch_dir(), self.options.memory_limit_bytes);
        if shown == "-" {
            let mut on_progress = |bytes| self.report(&shown, bytes, None);
            return read(path, std::io::stdin(), names, scratch, &mut on_progress);
        }
        let (input, total) = trace_file::open(path)?;
        let mut on_progress = |bytes| self.report(&shown, bytes, Some(total));
        read(path, input, names, scratch, &mut on_progress)
    }

    fn report(&self, path: &str, bytes: u64, total: Option<u64>) -> bool {
        self.progress.update(path, bytes, total);
        !self.progress.canceled()
    }

    /// Puts a recording into the first run whose job it can be of, or into a new one.
    fn place(&mut self, file: &PathFound, trace: ReadTrace) -> Result<SourceRecord, IngestError> {
        let traits = Traits::of_trace(&trace);
        let path = trace.path().display().to_string();
        let mut reason = None;
        let mut found = None;
        // A file that was here before stays where it was if it can.
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|&run| !self.runs[run].members.iter().any(|member| member.record.path == path));
        for run in order {
            match self.runs[run].kin(&traits, &path) {
                Ok(kin) => {
                    found = Some((run, kin));
                    break;
                }
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        let (run, kin) = match found {
            Some(found) => found,
            None => (self.begin_run(file)?, Kin::NewRank),
        };
        let (rank, rank_from) = match (kin, traits.rank) {
            (_, Some(rank)) if trace.header_rank().is_some() => (rank, RankFrom::Header),
            (_, Some(rank)) => (rank, RankFrom::FileName),
            (Kin::Window(rank), None) => (rank, RankFrom::Order),
            (Kin::NewRank, None) => (self.runs[run].free_rank(&path), RankFrom::Order),
        };
        let window = match self.options.windows {
            Windows::InOrder => self.runs[run].window(rank, &path),
            Windows::ByContent => self.runs[run].free_window(rank, &path, trace.window_by_content()),
        };
        let id = SourceId { rank, window };
        let place = Placing {
            run: self.runs[run].name.clone(),
            id,
            rank_from,
            apart_because: reason.filter(|_| found.is_none()),
        };
        let record = trace.write(self.store, place, self.options.extras, self.progress)?;
        let members = &mut self.runs[run].members;
        members.retain(|member| member.record.id != record.id);
        members.push(Member { record: record.clone(), traits });
        Ok(record)
    }

    /// Begins a run. The first one is called after the folder, as long as it is the only one.
    fn begin_run(&mut self, file: &PathFound) -> Result<usize, IngestError> {
        let own_name = own_run_name(self.plan, file);
        let name = if self.runs.is_empty() { self.plan.name.clone() } else { self.free_name(&own_name) };
        if let [RunJob { own_name: Some(own_name), .. }] = &self.runs[..] {
            let own_name = self.free_name(own_name);
            self.rename(0, &own_name)?;
        }
        self.runs.push(RunJob { name, own_name: Some(own_name), members: Vec::new() });
        Ok(self.runs.len() - 1)
    }

    fn free_name(&self, name: &str) -> String {
        let is_taken = |name: &str| {
            let name = run_folder_name(name);
            self.taken.contains(&name) || self.runs.iter().any(|run| run_folder_name(&run.name) == name)
        };
        free_name(name, is_taken)
    }

    fn rename(&mut self, run: usize, name: &str) -> Result<(), IngestError> {
        let run = &mut self.runs[run];
        if run_folder_name(&run.name) == run_folder_name(name) {
            return Ok(());
        }
        self.store.rename_run(&run.name, name)?;
        let (before, now) = (run_folder_name(&run.name), run_folder_name(name));
        name.clone_into(&mut run.name);
        let records = run.members.iter_mut().map(|member| &mut member.record);
        for record in records.chain(self.ingested.iter_mut().map(|ingested| &mut ingested.record)) {
            if record.run == before {
                record.run.clone_from(&now);
            }
        }
        Ok(())
    }
}

impl RunJob {
    /// Where a recording belongs here, or why it does not. What the same file held before does not count.
    fn kin(&self, traits: &Traits, path: &str) -> Result<Kin, String> {
        let others = self.members.iter().filter(|member| member.record.path != path);
        traits.kin(others.map(|member| (member.record.id.rank, &member.traits)))
    }

    /// The rank that this very file had before, else the first that nothing has.
    fn free_rank(&self, path: &str) -> u32 {
        let records = || self.members.iter().map(|member| &member.record).filter(|record| !record.is_profile());
        let is_taken = |rank: &u32| records().any(|record| record.id.rank == *rank);
        let before = records().find(|record| record.path == path).map(|record| record.id.rank);
        before.or_else(|| (0..=u32::MAX).find(|rank| !is_taken(rank))).unwrap_or(0)
    }

    /// The next window of the rank; the one that this very file had before, if its content has changed.
    fn window(&self, rank: u32, path: &str) -> u32 {
        let of_rank = || self.members.iter().map(|member| &member.record).filter(|record| record.id.rank == rank);
        let before = of_rank().find(|record| record.path == path).map(|record| record.id.window);
        before.unwrap_or_else(|| of_rank().map(|record| record.id.window + 1).max().unwrap_or(0))
    }

    /// The wanted window of the rank, or the next that no other file has: two recordings may begin in one minute.
    fn free_window(&self, rank: u32, path: &str, wanted: u32) -> u32 {
        let others = || self.members.iter().map(|member| &member.record).filter(|record| record.path != path);
        let is_taken = |window: &u32| others().any(|record| record.id == SourceId { rank, window: *window });
        (wanted..=u32::MAX).find(|window| !is_taken(window)).unwrap_or(wanted)
    }
}

impl Member {
    fn new(record: SourceRecord) -> Self {
        let traits = Traits::of_record(&record);
        Self { record, traits }
    }
}

/// Whether a source was made from the same content, compressed or not.
fn is_content_of(record: &SourceRecord, trace: &ReadTrace) -> bool {
    let range = record.first_event_ns.zip(record.last_event_ns);
    record.digest == trace.digest()
        || (trace.is_compressed_otherwise(record) && range.is_some() && range == trace.time_range())
}

/// Most memory that this process ever held.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}
