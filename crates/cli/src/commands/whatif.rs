//! `stepscope whatif PATH --no-sync`: what changes would save, before anybody makes them.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_workspace::{AskedChange, TRANSFORMATIONS, Transformation, Workspace};

use super::{Command, parsed};
use crate::Context;
use crate::analysis::PartOptions;
use crate::command;
use crate::failure::Failure;
use crate::options::{InputOptions, OutputOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;
use crate::shell_words;

pub(super) static COMMAND: Command = Command {
    name: "whatif",
    options: |command| {
        let command = Options::augment_args(command)
            .about("Predict what changes would save: replay the steps with them")
            .after_help(
                "\
KIND is kernel, communication, memcpy, memset, op, annotation or runtime.
PATTERN is a name; * matches any text. An op includes the kernels that it launches.

Examples:
  stepscope whatif trace.json.gz --no-sync
  stepscope whatif trace.json.gz --scale 'kernel:*gemm*=1/2'
  stepscope whatif trace.json.gz --remove 'op:aten::copy_' --input-ready      each alone, and both together
  stepscope whatif --list                                                     every change, and its bound",
            );
        let hidden = ["from", "to", "group_by", "samples_per_step"];
        let command = hidden.into_iter().fold(command, |command, name| command.mut_arg(name, |it| it.hide(true)));
        TRANSFORMATIONS.iter().fold(command, |command, known| command.arg(argument(known)))
    },
    run,
};

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<PathBuf>,
    /// List every change, and how its saving relates to the real one
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

/// The option of a change.
fn argument(known: &'static Transformation) -> Arg {
    let argument = Arg::new(known.name).long(known.option).help(known.about).help_heading("Changes");
    match known.value() {
        Some(value) => argument.value_name(value).action(ArgAction::Append),
        None => argument.action(ArgAction::SetTrue),
    }
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let target = Target::of(options.output.output.as_deref(), &options.input.inputs(&options.paths))?;
    if options.list {
        output::write(Answer::new(Workspace::transformations()), &target, &options.output, context)?;
        return Ok(Exit::Done);
    }
    let changes = asked(matches)?;
    if changes.is_empty() {
        return Err(Failure::usage("no change given")
            .with_hint("pass one, for example `--no-sync`; `stepscope whatif --list` explains each"));
    }
    let workspace = Workspace::open(
        &options.paths,
        &options.input.settings().of_window(options.part.window),
        &TerminalProgress::new(context),
    )?;
    let [part, input] = [options.part.in_words(), options.input.in_words()];
    let rest = format!("{}{part}{input}", shell_words::of_paths(&options.paths));
    let mut report = workspace.whatif(&changes, &options.part.question())?;
    report.spell(&|target| command::line(target, &rest));
    let before = output::about(&workspace, &options.output);
    output::write(Answer { before, ..Answer::new(report) }, &target, &options.output, context)?;
    Ok(Exit::Done)
}

/// The changes that are asked for, in the order in which they are made.
fn asked(matches: &ArgMatches) -> Result<Vec<AskedChange>, Failure> {
    let mut changes = Vec::new();
    for known in &TRANSFORMATIONS {
        let change = |value: Option<&str>| {
            AskedChange::new(known.name, value).map_err(|error| {
                let found = value.map(|value| format!(", found {value}")).unwrap_or_default();
                Failure::usage(format!("--{}: {error}{found}", known.option))
                    .with_hint("`stepscope whatif --list` explains each change")
            })
        };
        if known.value().is_none() {
            changes.extend(matches.get_flag(known.name).then(|| change(None)).transpose()?);
            continue;
        }
        for value in matches.get_many::<String>(known.name).into_iter().flatten() {
            changes.push(change(Some(value))?);
        }
    }
    Ok(changes)
}
