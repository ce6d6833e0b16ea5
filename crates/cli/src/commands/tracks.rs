//! `stepscope tracks PATH…`: the threads, streams and lanes of a trace.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{InputOptions, OutputOptions, SourceOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "tracks",
    options: |command| {
        Options::augment_args(command).about("List the threads, streams and lanes of a trace").after_help(
            "\
Examples:
  stepscope tracks trace.json.gz
  stepscope tracks runs/ --rank 0 --limit 0
  stepscope tracks trace.json.gz -f csv -o tracks.csv",
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
    let answer = Answer {
        before: output::about(&workspace, &options.output),
        only: options.source.only(),
        usual_limit: Some(100),
        ..Answer::new(workspace.tracks()?)
    };
    output::write(answer, &target, &options.output, context)?;
    Ok(Exit::Done)
}
