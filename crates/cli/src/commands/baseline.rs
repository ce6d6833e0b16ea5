//! `stepscope baseline save`: keeps what `check` needs of runs in a small file.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::{ArgMatches, Args, Subcommand};
use stepscope_model::{Exit, say};
use stepscope_workspace::Baseline;

use super::{Command, parsed};
use crate::analysis::PartOptions;
use crate::failure::Failure;
use crate::gate_options::{MetricOptions, measured};
use crate::options::InputOptions;
use crate::output::Target;
use crate::{Context, VERSION, standard_output};

pub(super) static COMMAND: Command = Command {
    name: "baseline",
    options: |command| {
        Options::augment_args(command).about("Save runs as the baseline of a check").after_help(
            "\
Two recordings of one job can differ by more than their steps do. Save five runs or more of the same code.

Examples:
  stepscope baseline save run1/ run2/ run3/ run4/ run5/ -o base.json
  stepscope baseline save run6/ -o base.json --append
  stepscope check new/ --baseline base.json",
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
    /// Measure runs and write them to a file
    Save(Box<SaveOptions>),
}

#[derive(Args)]
struct SaveOptions {
    /// Runs: trace files, folders of traces, or stores; each is one run
    #[arg(value_name = "RUN", required = true)]
    paths: Vec<PathBuf>,
    /// Write the baseline to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Add the runs to those in FILE
    #[arg(long, help_heading = "Output", requires = "output")]
    append: bool,
    #[command(flatten)]
    metrics: MetricOptions,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let Options { action: Action::Save(options) } = parsed(matches)?;
    let target = Target::of(options.output.as_deref(), &options.input.inputs(&options.paths))?;
    let mut runs = match &options.output {
        Some(file) if options.append => read(file)?.runs,
        _ => Vec::new(),
    };
    let metrics = options.metrics.chosen()?;
    let question = options.part.question();
    let mut added =
        measured(&options.paths, &metrics, &question, &options.input.settings().of_window(question.window), context)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for run in &mut added {
        run.saved_unix_s = now;
    }
    let count = added.len();
    runs.extend(added);
    let all = runs.len();
    target.write(Baseline::new(runs, VERSION).written().as_bytes())?;
    if let Some(file) = &options.output {
        let (count, all, shown) = (counted(count), counted(all), file.display());
        let next = format!("next  stepscope check RUN --baseline {shown}");
        standard_output::write(format!("Saved {count} to {shown}: {all} in all.\n\n{next}\n").as_bytes())?;
    }
    Ok(Exit::Done)
}

fn counted(runs: usize) -> String {
    stepscope_report::sentence::written(&say::counted(runs, "run"))
}

/// Reads a baseline file.
pub(super) fn read(path: &std::path::Path) -> Result<Baseline, Failure> {
    let shown = path.display().to_string();
    let hint = "`stepscope baseline save RUN… -o FILE` writes one";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::unreadable("read the baseline", &shown, &error).with_hint(hint))?;
    Baseline::read(&text).map_err(|error| Failure::usage(error.to_string()).at(shown).with_hint(hint))
}
