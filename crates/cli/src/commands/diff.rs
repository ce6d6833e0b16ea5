//! `stepscope diff A B`: what changed from one run to another, and whether it is more than noise.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use serde_json::json;
use stepscope_model::{Exit, Part, Sentence, say};
use stepscope_workspace::{Choice, DiffSide, Question, Workspace, choices, diff, shorten_diff};

use super::{Command, parsed};
use crate::Context;
use crate::analysis::{PartOptions, parse_samples};
use crate::failure::Failure;
use crate::options::{InputOptions, OutputFormat, OutputOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "diff",
    options: |command| {
        let command = Options::augment_args(command)
            .about("Compare two runs: what got faster or slower, and by how much")
            .after_help(
                "\
Rows are times on the critical path. They add up to the difference per step.

Examples:
  stepscope diff before.json.gz after.json.gz
  stepscope diff before/ after/ --rank 0                one rank of each
  stepscope diff batch32/ batch64/ batch128/ --samples 32,64,128
  stepscope diff before.json.gz after.json.gz -f md     to paste into a pull request",
            );
        let hidden = ["from", "to", "group_by", "samples_per_step"];
        hidden.into_iter().fold(command, |command, name| command.mut_arg(name, |it| it.hide(true)))
    },
    run,
};

/// Rows of each table that people see.
const SHOWN: usize = 12;

#[derive(Args)]
struct Options {
    /// Runs: trace files, folders of traces, or stores; all are compared with the first
    #[arg(value_name = "RUN", num_args = 2..=26, required = true)]
    paths: Vec<PathBuf>,
    /// Set the samples per step: one number for all runs, or one for each
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = parse_samples)]
    samples: Vec<f64>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let (paths, output) = (options.paths, options.output);
    let samples = samples_of(&options.samples, paths.len())?;
    let target = Target::of(output.output.as_deref(), &options.input.inputs(&paths))?;
    let open = |path: &PathBuf| {
        Workspace::open(
            std::slice::from_ref(path),
            &options.input.settings().of_window(options.part.window),
            &TerminalProgress::new(context),
        )
    };
    let runs = paths.iter().map(open).collect::<Result<Vec<Workspace>, _>>()?;
    let question = options.part.question();
    let sides = sides(&runs, &question)?;
    let mut report = match sides.as_slice() {
        [a, b] if options.samples.is_empty() => {
            let mut report = diff(a, b);
            report.parts.insert(1, Part::Text(legend(&paths).into()));
            report
        }
        _ => choices(choices_of(&paths, sides, samples)),
    };
    if matches!(output.format, OutputFormat::Table | OutputFormat::Md) {
        let are_rows_shaped = output.limit.is_some() || output.sort.is_some() || !output.columns.is_empty();
        shorten_diff(&mut report, SHOWN, are_rows_shaped);
    }
    let of_runs = |info: fn(&Workspace) -> serde_json::Value| runs.iter().map(info).collect::<serde_json::Value>();
    let before =
        vec![("runs", of_runs(|run| json!(run.run_info()))), ("health", of_runs(|run| json!(run.health_info())))];
    output::write(Answer { before, ..Answer::new(report) }, &target, &output, context)?;
    Ok(Exit::Done)
}

/// What the comparison needs of each run, of two runs side by side.
fn sides(runs: &[Workspace], question: &Question) -> Result<Vec<DiffSide>, Failure> {
    let mut sides = Vec::with_capacity(runs.len());
    for pair in runs.chunks(2) {
        let found = std::thread::scope(|scope| {
            let threads: Vec<_> = pair.iter().map(|run| scope.spawn(|| run.diff_side(question))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for side in found {
            sides.push(side.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
    }
    Ok(sides)
}

/// Which run is A, and which B.
fn legend(paths: &[PathBuf]) -> Sentence {
    let run = |(letter, path): (char, &PathBuf)| say!("{} {}", letter.to_string(), path.display().to_string());
    Sentence::facts(('A'..).zip(paths).map(run))
}

fn choices_of(paths: &[PathBuf], sides: Vec<DiffSide>, samples: Vec<Option<f64>>) -> Vec<Choice> {
    let named = paths.iter().map(|path| path.display().to_string()).zip(sides).zip(samples);
    named.map(|((name, side), samples_per_step)| Choice { name, side, samples_per_step }).collect()
}

/// The samples of each run.
fn samples_of(given: &[f64], runs: usize) -> Result<Vec<Option<f64>>, Failure> {
    match given {
        [] => Ok(vec![None; runs]),
        [all] => Ok(vec![Some(*all); runs]),
        each if each.len() == runs => Ok(each.iter().copied().map(Some).collect()),
        each => Err(Failure::usage(format!("{} runs, but {} numbers of samples", runs, each.len()))
            .with_hint("give one number for all runs, or one for each: `--samples 32,64`")),
    }
}
