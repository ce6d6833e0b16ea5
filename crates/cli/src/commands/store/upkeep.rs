//! What keeps the runs of a store in order: blocks, expiry, checks.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use stepscope_model::{Exit, arguments};
use stepscope_workspace::{
    CompactOptions, ExpireOptions, Kept, RunChoice, Settings, Workspace, default_memory_limit_bytes,
};

use crate::Context;
use crate::failure::Failure;
use crate::options::{OutputOptions, ReadingOptions, parse_duration};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

/// Runs of a store.
#[derive(Args)]
struct RunOptions {
    /// A store or one run of it, such as `s3://bucket/team/runs/NAME`
    #[arg(value_name = "PLACE")]
    place: PathBuf,
    /// Select a run by its name or a part of it; without it, all runs of the store
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
}

impl RunOptions {
    fn settings(&self) -> Settings {
        let run = self.run.clone().map_or(RunChoice::All, RunChoice::Named);
        Settings { run, ..ReadingOptions::default().settings(None) }
    }
}

#[derive(Args)]
pub(super) struct Compact {
    #[command(flatten)]
    runs: RunOptions,
    /// Repeat every TIME, such as 5m, until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    every: Option<Duration>,
    /// Merge what is there, without waiting for other ranks
    #[arg(long)]
    now: bool,
    /// Look at every hour, also those older than 48 hours, and make blocks of another version again
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    writing: WritingOptions,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Args)]
pub(super) struct Rebuild {
    #[command(flatten)]
    runs: RunOptions,
    #[command(flatten)]
    writing: WritingOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// How blocks are written.
#[derive(Args)]
struct WritingOptions {
    /// Work on a bucket that ignores conditions; nothing else may compact or expire meanwhile
    #[arg(long)]
    single_writer: bool,
    /// Limit the memory, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = arguments::limit_bytes)]
    memory_limit: Option<u64>,
}

impl WritingOptions {
    fn compact_options(&self) -> CompactOptions {
        CompactOptions {
            single_writer: self.single_writer,
            memory_limit_bytes: self.memory_limit.unwrap_or_else(default_memory_limit_bytes),
            ..CompactOptions::default()
        }
    }
}

#[derive(Args)]
pub(super) struct Expire {
    #[command(flatten)]
    runs: RunOptions,
    /// Delete events older than DAYS days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    events_days: u32,
    /// Delete sums older than DAYS days
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    sums_days: u32,
    /// Delete what is old; without it, only list it
    #[arg(long)]
    yes: bool,
    /// Work on a bucket that ignores conditions; nothing else may compact or expire meanwhile
    #[arg(long)]
    single_writer: bool,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Args)]
pub(super) struct Verify {
    #[command(flatten)]
    runs: RunOptions,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Args)]
pub(super) struct Export {
    #[command(flatten)]
    runs: RunOptions,
    /// The store to write, a folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    output: OutputOptions,
}

pub(super) fn compact(options: &Compact, context: Context) -> Result<Exit, Failure> {
    let mut how = options.writing.compact_options();
    how.all = options.all;
    if options.now {
        how.settle = Duration::ZERO;
    }
    let (place, settings, progress) = (&options.runs.place, options.runs.settings(), TerminalProgress::new(context));
    if let Some(pause) = options.every {
        Workspace::compact_every(place, &settings, pause, &how, &progress)?;
        return Ok(Exit::Done);
    }
    answer(&options.output, context, || Ok(Workspace::compact(place, &settings, &how, &progress)?))
}

pub(super) fn rebuild(options: &Rebuild, context: Context) -> Result<Exit, Failure> {
    let (how, progress) = (options.writing.compact_options(), TerminalProgress::new(context));
    answer(&options.output, context, || {
        Ok(Workspace::rebuild(&options.runs.place, &options.runs.settings(), &how, &progress)?)
    })
}

pub(super) fn expire(options: &Expire, context: Context) -> Result<Exit, Failure> {
    let days = |days: u32| Duration::from_hours(24 * u64::from(days));
    let how = ExpireOptions {
        events: days(options.events_days),
        sums: days(options.sums_days),
        yes: options.yes,
        single_writer: options.single_writer,
        ..ExpireOptions::default()
    };
    let (place, settings, progress) = (&options.runs.place, options.runs.settings(), TerminalProgress::new(context));
    answer(&options.output, context, || Ok(Workspace::expire(place, &settings, &how, &progress)?))
}

pub(super) fn verify(options: &Verify, context: Context) -> Result<Exit, Failure> {
    let (place, settings, progress) = (&options.runs.place, options.runs.settings(), TerminalProgress::new(context));
    answer(&options.output, context, || Ok(Workspace::verify(place, &settings, &progress)?))
}

pub(super) fn export(options: &Export, context: Context) -> Result<Exit, Failure> {
    let (place, settings, progress) = (&options.runs.place, options.runs.settings(), TerminalProgress::new(context));
    answer(&options.output, context, || Ok(Workspace::export_runs(place, &options.folder, &settings, &progress)?))
}

/// Writes what was done. That it can be written is checked before anything is.
fn answer(
    output: &OutputOptions,
    context: Context,
    task: impl FnOnce() -> Result<Kept, Failure>,
) -> Result<Exit, Failure> {
    let target = Target::of(output.output.as_deref(), &[])?;
    let (report, exit) = task()?;
    output::write(Answer::new(report), &target, output, context)?;
    Ok(exit)
}
