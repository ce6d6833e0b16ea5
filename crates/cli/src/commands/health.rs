//! `stepscope health PATH…`: what was read, what was not, and what was linked.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::figures;
use crate::options::{InputOptions, OutputOptions, SourceOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "health",
    options: |command| {
        Options::augment_args(command).about("Show what was read, what was not, and what was linked").after_help(
            "\
Examples:
  stepscope health trace.json.gz
  stepscope health runs/ --rank 3
  stepscope health trace.json.gz --strict      exit code 3 if anything is broken",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let target = Target::of(options.output.output.as_deref(), &options.input.inputs(&options.paths))?;
    let workspace = Workspace::open(
        &options.paths,
        &options.input.settings().of_window(options.source.window),
        &TerminalProgress::new(context),
    )?;
    let SourceOptions { rank, window } = options.source;
    let report = workspace.health(rank, window)?;
    let answer = Answer {
        for_people: Some(figures::for_people(&report)),
        before: output::about(&workspace, &options.output),
        ..Answer::new(report)
    };
    output::write(answer, &target, &options.output, context)?;
    Ok(Exit::Done)
}
