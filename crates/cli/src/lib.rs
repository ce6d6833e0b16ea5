//! The `stepscope` command as a library: parses, asks `workspace`, lets `report` render, prints.
//!
//! Data goes to standard output, everything else to standard error. Exit codes are those of `stepscope_model::Exit`.

mod analysis;
mod bug;
mod color;
pub mod command;
mod commands;
mod failure;
mod figures;
mod gate_options;
mod interrupt;
mod junit;
mod options;
mod output;
mod progress;
mod shell;
mod shell_words;
mod standard_output;
mod streamed;

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use stepscope_model::Exit;
use stepscope_workspace::is_address;

use crate::color::ColorChoice;
use crate::failure::Failure;

/// Version that help, JSON documents and bug reports show.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What every command gets beside its own options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// When to use color.
    pub(crate) color: ColorChoice,
    /// Whether notes and progress are unwanted.
    pub(crate) quiet: bool,
}

/// Runs one command line, the name of the program first, and says how it ended. `is_output_closed` says that the program
/// was started without a standard output.
pub fn run(arguments: impl IntoIterator<Item = OsString>, is_output_closed: bool) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    standard_output::set_closed(is_output_closed);
    bug::guard(|| {
        interrupt::watch();
        run_guarded(&arguments)
    })
}

fn run_guarded(arguments: &[OsString]) -> Exit {
    let arguments = &with_command(arguments);
    let command = commands::command_line().color(ColorChoice::among(arguments).for_clap());
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, arguments),
    };
    let context = Context { color: ColorChoice::of(&matches), quiet: matches.get_flag("quiet") };
    match commands::run(&matches, context) {
        Ok(exit) => exit,
        Err(failure) if failure.is_broken_pipe => Exit::Done,
        Err(_) if interrupt::is_set() => {
            failure::print_line("interrupted", context);
            Exit::Interrupted
        }
        Err(failure) => {
            failure.print(context);
            failure.exit
        }
    }
}

/// Help and version are answers; everything else is wrong usage.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> Exit {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(failure) = path_instead_of_command(arguments)
    {
        failure.print(Context { color: ColorChoice::among(arguments), quiet: false });
        return failure.exit;
    }
    if error.use_stderr() {
        // Nobody is left to tell when standard error is gone.
        let _ = error.print();
        return Exit::Usage;
    }
    let context = Context { color: ColorChoice::among(arguments), quiet: false };
    let help = error.render();
    let help = if context.color.on_stdout() { help.ansi().to_string() } else { help.to_string() };
    match standard_output::write(help.as_bytes()) {
        Err(failure) if !failure.is_broken_pipe => {
            failure.print(context);
            failure.exit
        }
        _ => Exit::Done,
    }
}

/// A path alone asks for its summary.
fn with_command(arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    let is_value = |place: usize| arguments[place - 1] == "--color";
    let is_path = |place: usize| arguments[place] == "-" || !arguments[place].to_string_lossy().starts_with('-');
    let is_first = |place: &usize| is_path(*place) && !is_value(*place);
    if let Some(place) = (1..arguments.len()).find(is_first)
        && !commands::is_command(&arguments[place].to_string_lossy())
        && (arguments[place] == "-"
            || is_address(Path::new(&arguments[place]))
            || Path::new(&arguments[place]).exists())
    {
        arguments.insert(place, "summary".into());
    }
    arguments
}

/// What to say when the first argument looks like a file.
fn path_instead_of_command(arguments: &[OsString]) -> Option<Failure> {
    let first = arguments.iter().skip(1).find(|argument| !argument.to_string_lossy().starts_with('-'))?;
    let path = first.to_string_lossy();
    let looks_like_a_path = path.contains(['.', '/', '\\']);
    looks_like_a_path.then(|| {
        Failure::usage(format!("found neither a command nor a file: {path}"))
            .with_hint("use `stepscope COMMAND PATH`; `stepscope --help` lists the commands")
    })
}
