//! `stepscope run`: lists the command of the Python package, and says where it is. The package's own `stepscope` takes
//! the command itself and never asks here.

use clap::{Arg, ArgMatches};
use stepscope_model::Exit;

use super::Command;
use crate::Context;
use crate::failure::Failure;

pub(super) static COMMAND: Command = Command {
    name: "run",
    options: |command| {
        command
            .about("Record an unmodified Python script (needs the Python package)")
            .arg(
                Arg::new("script")
                    .value_name("SCRIPT")
                    .num_args(0..)
                    .trailing_var_arg(true)
                    .allow_hyphen_values(true)
                    .help("The script and its arguments"),
            )
            .after_help(
                "\
Examples:
  stepscope run train.py --lr 0.1
  stepscope run --help               all options, once the Python package is installed",
            )
    },
    run,
};

fn run(_matches: &ArgMatches, _context: Context) -> Result<Exit, Failure> {
    Err(Failure::usage("recording a script needs the Python package")
        .with_hint("install the package, then put no option before `run`: `stepscope run train.py`"))
}
