//! `stepscope rules`: the rules of findings and their thresholds.

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{OutputOptions, RulesOptions};
use crate::output::{self, Answer, Target};

pub(super) static COMMAND: Command = Command {
    name: "rules",
    options: |command| {
        Options::augment_args(command).about("List the rules of findings and their thresholds").after_help(
            "\
Examples:
  stepscope rules
  stepscope rules -f json
  stepscope rules --rules thresholds.json              with your thresholds",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    #[command(flatten)]
    rules: RulesOptions,
    #[command(flatten)]
    output: OutputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let target = Target::of(options.output.output.as_deref(), &[])?;
    let report = Workspace::rules(&options.rules.thresholds()?);
    output::write(Answer::new(report), &target, &options.output, context)?;
    Ok(Exit::Done)
}
