//! What the command can be told, and the plan that follows from it.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};

use crate::once::Limit;
use crate::peers::Peer;
use crate::rows::Bar;

/// Measures ingest beside the bare limits of the machine and beside other tools.
#[derive(Debug, Parser)]
#[command(name = "stepscope-bench", version)]
pub(crate) struct Command {
    /// What to measure; everything if nothing is named.
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
    /// Settings of all tasks.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Settings of all tasks.
#[derive(Args, Debug)]
pub(crate) struct Settings {
    /// Small traces and two repetitions: shows that everything works, measures nothing.
    #[arg(long, global = true)]
    quick: bool,
    /// Runs of each contender [default: 7].
    #[arg(long, global = true, value_name = "N")]
    repetitions: Option<u32>,
    /// Runs of each other tool, which are slow [default: 2].
    #[arg(long, global = true, value_name = "N")]
    peer_repetitions: Option<u32>,
    /// Runs of the long trace [default: 3].
    #[arg(long, global = true, value_name = "N")]
    memory_repetitions: Option<u32>,
    /// Memory limit of the limited runs [default: 512MiB].
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    limit: Option<u64>,
    /// Folder with `traces/`; `STEPSCOPE_CORPUS` if not given.
    #[arg(long, global = true, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Folder for made traces, which are used again, and for stores, which are not.
    #[arg(long, global = true, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
    /// Also write everything as JSON.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// A Python that has `HolisticTraceAnalysis`; `STEPSCOPE_BENCH_HTA_PYTHON` if not given.
    #[arg(long, global = true, value_name = "PYTHON")]
    hta_python: Option<PathBuf>,
    /// Folder with `engine_bundle.js` and `trace_processor.wasm`; `STEPSCOPE_BENCH_PERFETTO` if not given.
    #[arg(long, global = true, value_name = "FOLDER")]
    perfetto: Option<PathBuf>,
    /// The `stepscope` command; the one beside this program if not given.
    #[arg(long, global = true, value_name = "PROGRAM")]
    stepscope: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Everything that is measured.
    All,
    /// Ingest beside bare limits and peers.
    Speed,
    /// Ingest under a memory limit.
    Memory,
    /// Bytes per event.
    Size,
    /// Bytes of the sums of a source, without its events.
    Sums,
    /// The second question about a trace, by the command.
    Reopen,
    /// Large XPlane files and memory snapshots: readers alone, and ingest under a memory limit.
    Formats,
    /// Every view on a large recording and on many ranks, and what its sums cost at ingest.
    Views,
    /// Exports of all spans in every format under a memory limit.
    Exports,
    /// The timeline in a real browser, on a short and on a long recording.
    Browser,
    /// Findings judged by simulated jobs with known faults; ends with 1 if a bar is missed.
    Judge {
        /// Jobs that rules were tuned on have other seeds.
        #[arg(long, default_value_t = 1000, value_name = "N")]
        first_seed: u64,
        /// Only every so many-th job.
        #[arg(long, default_value_t = 1, value_name = "N")]
        every: usize,
    },
    /// Verdicts of the gate on series with a known truth.
    Gate,
    /// Uploads by processes that are killed, through a network that breaks; ends with 1 if anything is lost or doubled.
    Uploads {
        /// Sources to upload.
        #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        sources: u32,
        /// How often a process is killed.
        #[arg(long, default_value_t = 200, value_name = "N")]
        kills: u32,
        /// Processes that upload.
        #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        processes: u32,
        /// Decides which requests break, and when which process is killed.
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
    },
    /// Compactors that are killed while packs come in and readers read; ends with 1 if anything is lost or doubled.
    Compaction {
        /// Packs to merge.
        #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        packs: u32,
        /// How often a compactor is killed.
        #[arg(long, default_value_t = 100, value_name = "N")]
        kills: u32,
        /// Compactors at once.
        #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        processes: u32,
        /// Decides in which order packs come, and when which compactor is killed.
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
    },
    /// Questions about 16,384 simulated ranks in blocks, beside bare DataFusion.
    Fleet {
        /// Ranks of the job.
        #[arg(long, default_value_t = 16_384, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
        ranks: u32,
        /// Also ask three workers of this program: `stepscope-cluster`.
        #[arg(long, value_name = "PROGRAM")]
        workers: Option<PathBuf>,
    },
    /// How much of a pack in a bucket a query about one step reads; ends with 1 if that is more than a quarter.
    Reads,
    /// Make a trace and print where it is.
    Amplify {
        /// `control`, `xdit`, `distinct`, or the path of any Chrome trace.
        source: String,
        /// Copies; for `distinct`, million bytes.
        copies: u32,
        /// Compress, with that level; Kineto uses 6.
        #[arg(long, value_name = "LEVEL")]
        gzip: Option<u32>,
        /// Write there instead of into the scratch folder.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Write a simulated job of many ranks into a store.
    Ranks {
        /// How many.
        ranks: u32,
        /// A folder that is not there yet.
        store: PathBuf,
    },
    /// Bytes of each column of a table.
    Columns {
        /// A store.
        store: PathBuf,
        /// The table.
        #[arg(long, default_value = "spans")]
        table: String,
    },
    /// The answers of a store as JSON, in the form of `expected.json`.
    Fingerprint {
        /// A store with one run.
        store: PathBuf,
        /// With a hash of every column.
        #[arg(long)]
        hashes: bool,
    },
    /// One ingest in this process; what to run under a profiler.
    #[command(hide = true)]
    IngestOnce {
        /// A trace.
        trace: PathBuf,
        /// A folder that is not there yet.
        store: PathBuf,
        /// For example 512MiB.
        #[arg(long, value_parser = parse_size)]
        memory_limit: Option<u64>,
        /// With a hash of every column.
        #[arg(long)]
        hashes: bool,
        /// With the sums that views read.
        #[arg(long)]
        with_rollups: bool,
        /// With the timeline's levels of detail.
        #[arg(long)]
        with_tiles: bool,
    },
    /// DataFusion as it comes, on the blocks of a run.
    #[command(hide = true)]
    ScanBlocks {
        /// The folder of the run.
        run: PathBuf,
        /// A query on `all_collectives`.
        statement: String,
    },
    /// A part of the sources of `uploads` in this process.
    #[command(hide = true)]
    UploadShare {
        /// The store that holds them.
        store: PathBuf,
        /// The spool that all processes share.
        spool: PathBuf,
        /// Folder with a file for each source that was kept.
        acknowledged: PathBuf,
        /// Where packs go.
        place: String,
        /// The first rank.
        first: u32,
        /// How many ranks further the next one is.
        stride: u32,
        /// The first rank that is not there.
        end: u32,
    },
    /// One of the compactors of `compaction` in this process.
    #[command(hide = true)]
    CompactLoop {
        /// The store.
        place: String,
        /// A file that ends it, once there is nothing left to do.
        stop: PathBuf,
        /// A folder for files on their way.
        scratch: PathBuf,
    },
    /// One bare limit in this process.
    #[command(hide = true)]
    LimitOnce {
        /// Which.
        which: Limit,
        /// A gzip file to inflate, a plain one for the others.
        path: PathBuf,
    },
}

/// Everything that tasks need to know.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Copies of the control trace.
    pub(crate) control_copies: u32,
    /// Copies of the xdit trace.
    pub(crate) xdit_copies: u32,
    /// Copies of the control trace for the rows about memory.
    pub(crate) long_copies: u32,
    /// Size of the files of other formats.
    pub(crate) format_bytes: u64,
    /// Size of the trace of distinct strings.
    pub(crate) distinct_bytes: u64,
    /// Memory limit of the limited runs.
    pub(crate) memory_limit_bytes: u64,
    /// Bytes per event at most.
    pub(crate) bytes_an_event: f64,
    /// Runs of each contender.
    pub(crate) repetitions: u32,
    /// Runs of each peer.
    pub(crate) peer_repetitions: u32,
    /// Runs of the long trace.
    pub(crate) memory_repetitions: u32,
    /// Folder for made traces and stores.
    pub(crate) scratch: PathBuf,
    /// Holistic Trace Analysis, if it is installed.
    pub(crate) hta: Option<Peer>,
    /// Perfetto, if it is installed.
    pub(crate) perfetto: Option<Peer>,
    /// The command, if it is built.
    pub(crate) stepscope: Option<PathBuf>,
    /// Whether figures mean anything.
    pub(crate) is_quick: bool,
    corpus: Option<PathBuf>,
}

impl Plan {
    /// The plan that settings and environment make.
    pub(crate) fn new(settings: &Settings) -> Self {
        let set = |given: &Option<PathBuf>, name: &str| given.clone().or_else(|| env::var_os(name).map(PathBuf::from));
        let beside = || Some(env::current_exe().ok()?.with_file_name("stepscope")).filter(|program| program.is_file());
        let quick = settings.quick;
        Self {
            control_copies: if quick { 2 } else { 16 },
            xdit_copies: if quick { 1 } else { 8 },
            long_copies: if quick { 4 } else { 128 },
            format_bytes: if quick { 8_000_000 } else { 1_000_000_000 },
            distinct_bytes: if quick { 24_000_000 } else { 1_200_000_000 },
            memory_limit_bytes: settings.limit.unwrap_or(512 << 20),
            bytes_an_event: 10.0,
            repetitions: settings.repetitions.unwrap_or(if quick { 2 } else { 7 }),
            peer_repetitions: settings.peer_repetitions.unwrap_or(if quick { 1 } else { 2 }),
            memory_repetitions: settings.memory_repetitions.unwrap_or(if quick { 1 } else { 3 }),
            scratch: settings.scratch.clone().unwrap_or_else(|| env::temp_dir().join("stepscope-bench")),
            hta: set(&settings.hta_python, "STEPSCOPE_BENCH_HTA_PYTHON").map(Peer::Hta),
            perfetto: set(&settings.perfetto, "STEPSCOPE_BENCH_PERFETTO").map(Peer::Perfetto),
            stepscope: settings.stepscope.clone().or_else(beside),
            is_quick: quick,
            corpus: set(&settings.corpus, "STEPSCOPE_CORPUS"),
        }
    }

    /// The folder of real traces.
    pub(crate) fn corpus(&self) -> Result<PathBuf> {
        self.corpus.clone().context("no corpus: set STEPSCOPE_CORPUS or --corpus to the folder that holds traces/")
    }

    /// Bars are about the full traces.
    pub(crate) fn bar(&self, bar: Bar) -> Option<Bar> {
        (!self.is_quick).then_some(bar)
    }
}

/// Reads `512MiB`: a whole number of bytes, KiB, MiB or GiB.
fn parse_size(text: &str) -> Result<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];
    let Some((number, shift)) = units.iter().find_map(|(end, shift)| Some((text.strip_suffix(end)?, shift))) else {
        bail!("no size: {text}");
    };
    Ok(number.trim().parse::<u64>().with_context(|| format!("no size: {text}"))? << shift)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Command, parse_size};

    #[test]
    fn the_command_line_is_sound() {
        Command::command().debug_assert();
        let parse = |words: &[&str]| <Command as clap::Parser>::try_parse_from(words).map(drop);
        assert!(parse(&["bench", "limit-once", "inflate", "x.gz", "--limit", "1MiB"]).is_ok());
        assert!(parse(&["bench", "ingest-once", "x.gz", "store", "--memory-limit", "512MiB"]).is_ok());
        assert!(parse(&["bench", "--quick"]).is_ok());
    }

    #[test]
    fn sizes_are_whole_numbers_with_a_unit() {
        assert_eq!(parse_size("512MiB").ok(), Some(512 << 20));
        assert_eq!(parse_size("7").ok(), Some(7));
        assert!(parse_size("1.5GiB").is_err());
        assert!(parse_size("much").is_err());
    }
}
