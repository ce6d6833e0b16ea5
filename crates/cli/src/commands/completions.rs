//! `stepscope completions SHELL`: a completion script on standard output.

use clap::{ArgMatches, Args};
use clap_complete::Shell;
use stepscope_model::Exit;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::standard_output;

pub(super) static COMMAND: Command = Command {
    name: "completions",
    options: |command| {
        Options::augment_args(command).about("Print a completion script for a shell").after_help(
            "\
Examples:
  stepscope completions bash > ~/.local/share/bash-completion/completions/stepscope
  stepscope completions zsh > ~/.zfunc/_stepscope
  stepscope completions fish > ~/.config/fish/completions/stepscope.fish",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// The shell
    shell: Shell,
}

fn run(matches: &ArgMatches, _context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut super::command_line(), "stepscope", &mut script);
    standard_output::write(&script)?;
    Ok(Exit::Done)
}
