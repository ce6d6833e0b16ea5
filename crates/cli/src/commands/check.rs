//! `stepscope check RUN --baseline FILE`: whether a run got worse than the baseline, by more than noise.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_report::markdown;
use stepscope_workspace::{GateOptions, GateRun, Output, check, shorten_check};

use super::{Command, baseline, parsed};
use crate::Context;
use crate::analysis::PartOptions;
use crate::failure::Failure;
use crate::gate_options::{MetricOptions, measured};
use crate::junit;
use crate::options::{InputOptions, OutputFormat, OutputOptions};
use crate::output::{self, Answer, Target};

pub(super) static COMMAND: Command = Command {
    name: "check",
    options: |command| {
        let command = Options::augment_args(command)
            .about("Check a run against a baseline: did a metric get worse, by more than noise?")
            .after_help(
                "\
Exit codes: 0 nothing got worse, 1 a metric got worse, 4 inconclusive.
With a baseline of one or two runs the verdict is shown, but decides nothing without --single-run.

Examples:
  stepscope check new/ --baseline base.json
  stepscope check new/ --baseline base.json --metric step_time,peak_memory
  stepscope check new/ --baseline base.json --junit check.xml --md check.md
  stepscope check new1/ new2/ new3/ --against old1/ old2/ old3/
  stepscope check new/ --history baselines/",
            );
        ["from", "to", "group_by"].into_iter().fold(command, |command, name| command.mut_arg(name, |it| it.hide(true)))
    },
    run,
};

/// Rows that explain a change, as people see them.
const SHOWN: usize = 8;

#[derive(Args)]
struct Options {
    /// Runs to check: trace files, folders of traces, or stores; each is one run
    #[arg(value_name = "RUN", required = true)]
    paths: Vec<PathBuf>,
    /// Compare with the runs in this file, written by `stepscope baseline save`
    #[arg(long, value_name = "FILE", help_heading = "Baseline", required_unless_present_any = ["against", "history"])]
    baseline: Option<PathBuf>,
    /// Compare with these runs, without a file
    #[arg(long, value_name = "RUN", num_args = 1.., help_heading = "Baseline", conflicts_with = "baseline")]
    against: Vec<PathBuf>,
    /// Show where metrics changed over the baseline files in this folder; the newest is the baseline if none is given
    #[arg(long, value_name = "DIR", help_heading = "Baseline")]
    history: Option<PathBuf>,
    /// Let a baseline of one or two runs decide
    #[arg(long, help_heading = "Baseline")]
    single_run: bool,
    /// Compare runs of different machines, shapes or profiler flags
    #[arg(long, help_heading = "Baseline")]
    ignore_fingerprint: bool,
    #[arg(long, help = "Write the verdicts as JUnit to FILE", value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Write the answer as Markdown to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    md: Option<PathBuf>,
    #[command(flatten)]
    metrics: MetricOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let inputs = inputs(&options);
    let target = Target::of(options.output.output.as_deref(), &inputs)?;
    let at = |file: &Option<PathBuf>| file.as_ref().map(|file| Output::at(file, &inputs)).transpose();
    let (junit_file, markdown_file) = (at(&options.junit)?, at(&options.md)?);
    let metrics = options.metrics.chosen()?;
    let settings = options.input.settings().of_window(options.part.window);
    let question = options.part.question();
    let history = options.history.as_deref().map(history).transpose()?.unwrap_or_default();
    let baseline = match (&options.baseline, history.last()) {
        (Some(file), _) => baseline::read(file)?.runs,
        (None, _) if !options.against.is_empty() => {
            measured(&options.against, &metrics, &question, &settings, context)?
        }
        (None, Some(newest)) => newest.clone(),
        (None, None) => return Err(Failure::usage("the history has no baseline files")),
    };
    let runs = measured(&options.paths, &metrics, &question, &settings, context)?;
    let gate = GateOptions { single_run: options.single_run, ignore_fingerprint: options.ignore_fingerprint };
    let earlier: Vec<GateRun> = history.into_iter().flatten().collect();
    let checked = check(&baseline, &runs, &metrics, gate, &earlier);
    let mut for_people = checked.report.clone();
    shorten_check(&mut for_people, SHOWN);
    if let Some(file) = junit_file {
        file.write(junit::render(&checked.metrics).as_bytes())?;
    }
    if let Some(file) = markdown_file {
        file.write(markdown::render(&for_people).as_bytes())?;
    }
    let is_for_people = matches!(options.output.format, OutputFormat::Table | OutputFormat::Md);
    let report = if is_for_people { for_people } else { checked.report };
    output::write(Answer::new(report), &target, &options.output, context)?;
    Ok(checked.outcome.exit())
}

/// Everything that is read.
fn inputs(options: &Options) -> Vec<PathBuf> {
    let mut inputs = options.input.inputs(&options.paths);
    inputs.extend(options.against.iter().chain(&options.baseline).cloned());
    inputs
}

/// The runs of each baseline file in a folder, the oldest first.
fn history(folder: &Path) -> Result<Vec<Vec<GateRun>>, Failure> {
    let shown = folder.display().to_string();
    let unreadable = |error: std::io::Error| Failure::unreadable("read the history", &shown, &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push((path.clone(), baseline::read(&path)?.runs));
        }
    }
    if files.is_empty() {
        let hint = "`stepscope baseline save RUN… -o FILE` writes one; a history is a folder of them";
        return Err(Failure::usage("the history has no baseline files").at(shown).with_hint(hint));
    }
    files.sort_by_key(|(path, runs)| (runs.iter().map(|run| run.saved_unix_s).max(), path.clone()));
    Ok(files.into_iter().map(|(_, runs)| runs).collect())
}
