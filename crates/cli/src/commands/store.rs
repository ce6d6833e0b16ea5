//! `stepscope store`: what keeps a store in a bucket in order.

mod upkeep;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Subcommand};
use stepscope_model::{Cell, Exit, Part, Report};
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{OutputOptions, ReadingOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "store",
    options: |command| {
        Options::augment_args(command).about("Keep a store in a bucket: upload, compact, expire, verify").after_help(
            "\
`stepscope ingest TRACE --store s3://bucket/prefix` writes a store in a bucket. Recordings wait in a \
spool on local disk until the bucket has them. `compact` merges what many ranks uploaded, so that a \
query about all of them reads a few files.

Examples:
  stepscope store spool
  stepscope store upload                          what waits in the spool
  stepscope store upload runs.stepscope --store s3://bucket/team
  stepscope store compact s3://bucket/team --every 5m
  stepscope store expire s3://bucket/team         shows what is old; --yes deletes
  stepscope store verify s3://bucket/team/runs/llama-7b
  stepscope store export s3://bucket/team/runs/llama-7b local.stepscope",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show how much waits in the spool
    Spool(SpoolOptions),
    /// Upload a store in a folder, or what waits in the spool
    Upload(UploadOptions),
    /// Merge the sums of recordings into blocks
    Compact(upkeep::Compact),
    /// Delete old events and sums, or say what would be deleted
    Expire(upkeep::Expire),
    /// Check every byte, and blocks against manifests and recordings
    Verify(upkeep::Verify),
    /// Write a run into a store in a folder
    Export(upkeep::Export),
    /// Make manifest and blocks again from recordings
    Rebuild(upkeep::Rebuild),
}

#[derive(Args)]
struct SpoolOptions {
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Args)]
struct UploadOptions {
    /// A store in a folder; without it, what waits in the spool is uploaded
    #[arg(value_name = "DIR", requires = "store")]
    folder: Option<PathBuf>,
    /// Upload to this store, such as `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", requires = "folder")]
    store: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    match options.action {
        Action::Spool(SpoolOptions { output }) => {
            let target = Target::of(output.output.as_deref(), &[])?;
            output::write(Answer::new(Workspace::spool()?), &target, &output, context)?;
            Ok(Exit::Done)
        }
        Action::Upload(UploadOptions { folder, store, output }) => {
            let inputs: Vec<PathBuf> = folder.iter().cloned().collect();
            let target = Target::of(output.output.as_deref(), &inputs)?;
            let settings = ReadingOptions::default().settings(store);
            let report = Workspace::upload(folder.as_deref(), &settings, &TerminalProgress::new(context))?;
            let is_done = output::rows(&report).is_none_or(|table| {
                let left = table.columns.iter().position(|column| column.name == "left");
                left.is_none_or(|left| table.rows.iter().all(|row| row[left] == Cell::Int(0)))
            });
            let for_people = output::rows(&report).is_some_and(|table| table.rows.is_empty()).then(nothing);
            output::write(Answer { for_people, ..Answer::new(report) }, &target, &output, context)?;
            Ok(if is_done { Exit::Done } else { Exit::Unwritable })
        }
        Action::Compact(options) => upkeep::compact(&options, context),
        Action::Expire(options) => upkeep::expire(&options, context),
        Action::Verify(options) => upkeep::verify(&options, context),
        Action::Export(options) => upkeep::export(&options, context),
        Action::Rebuild(options) => upkeep::rebuild(&options, context),
    }
}

fn nothing() -> Report {
    Report::new("upload", vec![Part::Text("Nothing waits in the spool.".into())])
}
