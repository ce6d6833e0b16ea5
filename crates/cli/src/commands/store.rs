//! `stepscope store`: what keeps a store in a bucket in order.

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
        Options::augment_args(command).about("Upload recordings to a store in a bucket").after_help(
            "\
A store in a bucket is written by `stepscope ingest TRACE --store s3://bucket/prefix`. Recordings wait in a
spool on local disk until the bucket has them.

Examples:
  stepscope store spool
  stepscope store upload                                      what waits in the spool
  stepscope store upload runs.stepscope --store s3://bucket/team",
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
    }
}

fn nothing() -> Report {
    Report::new("upload", vec![Part::Text("Nothing waits in the spool.".into())])
}
