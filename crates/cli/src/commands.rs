//! The commands: one file each, and the list of them.

mod baseline;
mod cache;
mod check;
mod completions;
mod demo;
mod diff;
mod doctor;
mod health;
mod ingest;
mod metrics;
mod open;
mod report;
mod rules;
mod run;
pub(crate) mod schema;
pub(crate) mod sql;
mod store;
mod tracks;
mod trim;
mod whatif;

use clap::{Arg, ArgAction, ArgMatches};
use stepscope_model::Exit;
use stepscope_workspace::ANALYSES;

use crate::analysis;
use crate::color::ColorChoice;
use crate::failure::Failure;
use crate::options::parsed;
use crate::{Context, VERSION};

/// One command.
pub(crate) struct Command {
    /// What people type.
    pub(crate) name: &'static str,
    /// Its options and help.
    pub(crate) options: fn(clap::Command) -> clap::Command,
    /// Does it.
    pub(crate) run: fn(&ArgMatches, Context) -> Result<Exit, Failure>,
}

/// Every command, in the order of the help.
static COMMANDS: [&Command; 20] = [
    &whatif::COMMAND,
    &diff::COMMAND,
    &check::COMMAND,
    &baseline::COMMAND,
    &open::COMMAND,
    &report::COMMAND,
    &ingest::COMMAND,
    &store::COMMAND,
    &trim::COMMAND,
    &run::COMMAND,
    &sql::COMMAND,
    &metrics::COMMAND,
    &health::COMMAND,
    &tracks::COMMAND,
    &schema::COMMAND,
    &rules::COMMAND,
    &demo::COMMAND,
    &doctor::COMMAND,
    &cache::COMMAND,
    &completions::COMMAND,
];

const ABOUT: &str = "Show why a training or inference step takes as long as it does.

PATH is a trace file, a folder of traces, a store, or - for standard input.
Each of them may be in a bucket: s3://bucket/prefix, gs:// or az://.";

const AFTER_HELP: &str = "\
Examples:
  stepscope trace.json.gz                              the summary on one screen
  stepscope diagnose trace.json.gz                     what is slow, and the code to change
  stepscope comms runs/                                which rank delays the others
  stepscope sql trace.json.gz 'SELECT count(*) FROM spans'
  stepscope demo && stepscope demo-run                 without a trace

Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 unreadable input,
4 a check is inconclusive, 5 unwritable output, 6 memory limit too small,
70 a bug in Stepscope, 130 interrupted.";

/// The whole command line.
pub(crate) fn command_line() -> clap::Command {
    let color = Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(clap::builder::EnumValueParser::<ColorChoice>::new())
        .default_value("auto")
        .hide_possible_values(true)
        .global(true)
        .help("Use color: auto, always or never");
    let quiet = Arg::new("quiet")
        .short('q')
        .long("quiet")
        .action(ArgAction::SetTrue)
        .global(true)
        .help("Hide progress and notes");
    let analyses = ANALYSES.iter().map(|analysis| analysis::options(analysis));
    let commands = COMMANDS.iter().map(|command| (command.options)(clap::Command::new(command.name)));
    let subcommands = analyses.chain(commands);
    clap::Command::new("stepscope")
        .version(VERSION)
        .about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(color)
        .arg(quiet)
        .subcommands(subcommands)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(120)
}

/// Whether there is a command of that name.
pub(crate) fn is_command(name: &str) -> bool {
    COMMANDS.iter().any(|command| command.name == name) || ANALYSES.iter().any(|analysis| analysis.name == name)
}

/// Runs the command that was asked for.
pub(crate) fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let Some((name, options)) = matches.subcommand() else {
        return Err(Failure::usage("no command given").with_hint("run `stepscope --help` for the list"));
    };
    if let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) {
        return analysis::run(analysis, options, context);
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(options, context),
        None => {
            Err(Failure::usage(format!("found no command: {name}")).with_hint("run `stepscope --help` for the list"))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command_line().debug_assert();
    }
}
