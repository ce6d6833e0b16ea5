//! `stepscope trim PATH -o FILE`: a smaller trace of some steps, a stretch of time or some ranks, that any viewer opens.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_model::{Cell, Exit, Unit};
use stepscope_report::text;
use stepscope_workspace::{Output, Workspace};

use super::{Command, parsed};
use crate::Context;
use crate::analysis::PartOptions;
use crate::failure::{self, Failure};
use crate::options::InputOptions;
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "trim",
    options: |command| {
        Options::augment_args(command)
            .about("Write a smaller trace by step, time or rank, for Perfetto and chrome://tracing")
            .mut_arg("group_by", |argument| argument.hide(true))
            .mut_arg("samples_per_step", |argument| argument.hide(true))
            .after_help(
                "\
Examples:
  stepscope trim trace.json.gz --step 2 -o step2.json.gz
  stepscope trim trace.json.gz --from 150ms --to 300ms -o part.json.gz
  stepscope trim runs/ --rank 0,3 --step 5 -o two-ranks/        a folder: one file per rank",
            )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Write to this file (.gz compresses), or to a folder for several ranks
    #[arg(short, long, value_name = "FILE", required = true)]
    output: PathBuf,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let inputs = options.input.inputs(&options.paths);
    Output::refuse_file(&options.output, &inputs)?;
    let workspace = Workspace::open(
        &options.paths,
        &options.input.settings().of_window(options.part.window),
        &TerminalProgress::new(context),
    )?;
    let written = workspace.trim(&options.part.question(), &options.output, &inputs)?;
    for file in written {
        let events = text::value(&Cell::Int(file.events as i64), Unit::Plain);
        failure::print_line(&format!("{}: {events} events", file.path.display()), context);
    }
    Ok(Exit::Done)
}
