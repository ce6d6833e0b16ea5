//! `stepscope ops PATH…` and all other analyses: their options, help and answers come from the list of analyses.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_model::{Exit, Expected, Role, StepRange, arguments};
use stepscope_report::sentence;
use stepscope_workspace::{Analysis, Progress as _, Question, Thresholds, Workspace};

use crate::Context;
use crate::command;
use crate::failure::Failure;
use crate::interrupt;
use crate::options::{InputOptions, OutputFormat, OutputOptions, RulesOptions, parse_nanoseconds, parsed};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;
use crate::shell_words;

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    rules: RulesOptions,
    /// Show what grew since this earlier memory snapshot
    #[arg(long, value_name = "SNAPSHOT")]
    against: Option<PathBuf>,
    #[command(flatten)]
    input: InputOptions,
}

/// Analyses that show findings.
const WITH_FINDINGS: [&str; 2] = ["summary", "diagnose"];

/// Which part of a run.
#[derive(Args)]
#[command(next_help_heading = "Part of the run")]
pub(crate) struct PartOptions {
    /// Select ranks, such as 0,3 or 2-5
    #[arg(long, value_name = "RANKS", value_parser = ranks)]
    rank: Vec<Ranks>,
    /// Select a window: one capture cycle of a rank, from 0
    #[arg(long, value_name = "N")]
    pub(crate) window: Option<u32>,
    /// Select a step, or steps such as 2-5, numbered as in the trace: 16 is ProfilerStep#16
    #[arg(long, value_name = "STEPS", value_parser = arguments::steps)]
    step: Option<StepRange>,
    /// Select what starts at this time or later: 150ms, 1.5s or a number of nanoseconds, from the first event
    #[arg(long, value_name = "TIME", value_parser = parse_nanoseconds)]
    from: Option<i64>,
    /// Select what starts before this time
    #[arg(long, value_name = "TIME", value_parser = parse_nanoseconds)]
    to: Option<i64>,
    /// Group rows by these, separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    group_by: Vec<String>,
    /// Set the samples per step, to show throughput
    #[arg(long, value_name = "N", value_parser = parse_samples)]
    samples_per_step: Option<f64>,
}

/// The ranks of one option; several add up.
#[derive(Clone, Debug)]
struct Ranks(Vec<u32>);

fn ranks(text: &str) -> Result<Ranks, Expected> {
    arguments::ranks(text).map(Ranks)
}

impl PartOptions {
    /// What is asked for.
    pub(crate) fn question(self) -> Question {
        let Self { rank, window, step, from, to, group_by, samples_per_step } = self;
        Question {
            ranks: rank.into_iter().flat_map(|Ranks(ranks)| ranks).collect(),
            window,
            steps: step,
            from_ns: from,
            to_ns: to,
            group_by,
            thresholds: Thresholds::default(),
            samples_per_step,
            cancel: interrupt::flag().clone(),
        }
    }

    /// The options that select the part, as typed.
    pub(crate) fn in_words(&self) -> String {
        let ranks: Vec<String> = self.rank.iter().flat_map(|Ranks(ranks)| ranks).map(u32::to_string).collect();
        let words =
            [
                (!ranks.is_empty()).then(|| format!(" --rank {}", ranks.join(","))),
                self.window.map(|window| format!(" --window {window}")),
                self.step.map(|StepRange { first, last }| {
                    if first == last { format!(" --step {first}") } else { format!(" --step {first}-{last}") }
                }),
                self.from.map(|from| format!(" --from {from}")),
                self.to.map(|to| format!(" --to {to}")),
            ];
        words.into_iter().flatten().collect()
    }
}

/// The options of an analysis.
pub(crate) fn options(analysis: &Analysis) -> clap::Command {
    let width = analysis.examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let examples: Vec<String> =
        analysis.examples.iter().map(|(line, purpose)| format!("  {line:width$}  {purpose}")).collect();
    let command = Options::augment_args(clap::Command::new(analysis.name))
        .about(analysis.about)
        .after_help(format!("Examples:\n{}", examples.join("\n")));
    let command = if analysis.has_rows {
        command
    } else {
        let command = command.mut_arg("format", |argument| argument.help("Choose the format: table, json or md"));
        ["sort", "limit", "columns"]
            .into_iter()
            .fold(command, |command, name| command.mut_arg(name, |it| it.hide(true)))
    };
    let command = command.mut_arg("against", |argument| argument.hide(analysis.name != "memory"));
    let has_findings = WITH_FINDINGS.contains(&analysis.name);
    let command = command.mut_arg("rules", |argument| argument.hide(!has_findings));
    if analysis.groupings.is_empty() {
        command.mut_arg("group_by", |argument| argument.hide(true))
    } else {
        let help = format!("Group rows by these, separated by commas: {}", analysis.groupings.join(", "));
        command.mut_arg("group_by", |argument| argument.help(help))
    }
}

/// Answers.
pub(crate) fn run(analysis: &Analysis, matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    if !analysis.has_rows {
        refuse_picking(analysis, &options.output)?;
    }
    if options.rules.is_given() && !WITH_FINDINGS.contains(&analysis.name) {
        return Err(Failure::usage(format!("{} has no findings, so --rules does not apply", analysis.name))
            .with_hint("use it with `stepscope diagnose PATH`"));
    }
    if options.against.is_some() && analysis.name != "memory" {
        return Err(Failure::usage(format!("{} compares nothing, so --against does not apply", analysis.name))
            .with_hint("compare two runs with `stepscope diff A B`, two memory snapshots with `stepscope memory A --against B`"));
    }
    let thresholds = options.rules.thresholds()?;
    let target = Target::of(options.output.output.as_deref(), &options.input.inputs(&options.paths))?;
    let progress = TerminalProgress::new(context);
    let workspace =
        Workspace::open(&options.paths, &options.input.settings().of_window(options.part.window), &progress)?;
    let [part, input] = [options.part.in_words(), options.input.in_words()];
    let rest = format!("{}{part}{input}", shell_words::of_paths(&options.paths));
    let question = Question { thresholds, ..options.part.question() };
    let mut report = match &options.against {
        Some(earlier) => {
            let earlier = Workspace::open(std::slice::from_ref(earlier), &options.input.settings(), &progress)?;
            workspace.memory_growth(&earlier, &question)?
        }
        None => workspace.analyze(analysis, &question)?,
    };
    report.spell(&|target| command::line(target, &rest));
    let notices = report.texts().filter(|text| text.role == Role::Steps).flat_map(|text| &text.lines);
    notices.for_each(|line| progress.notice(&sentence::written(line)));
    let answer = Answer {
        before: output::about(&workspace, &options.output),
        usual_limit: analysis.usual_rows,
        ..Answer::new(report)
    };
    output::write(answer, &target, &options.output, context)?;
    Ok(Exit::Done)
}

/// An answer of many tables has no rows to pick from, and no one table to write.
fn refuse_picking(analysis: &Analysis, output: &OutputOptions) -> Result<(), Failure> {
    let name = analysis.name;
    let picked = [
        ("--sort", output.sort.is_some()),
        ("--limit", output.limit.is_some()),
        ("--columns", !output.columns.is_empty()),
    ];
    if let Some((option, _)) = picked.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("{name} prints several tables, so {option} does not apply"))
            .with_hint("use it with a command that prints one table, for example `stepscope ops PATH`"));
    }
    let format = match output.format {
        OutputFormat::Csv => "csv",
        OutputFormat::Arrow => "arrow",
        OutputFormat::Parquet => "parquet",
        OutputFormat::Table | OutputFormat::Json | OutputFormat::Md => return Ok(()),
    };
    Err(Failure::usage(format!("{name} prints several tables, {format} holds one")).with_hint(format!(
        "pass `-f json` or `-f md`, or write one table, for example `stepscope ops PATH -f {format}`"
    )))
}

pub(crate) fn parse_samples(text: &str) -> Result<f64, String> {
    let samples: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if samples.is_finite() && samples > 0.0 { Ok(samples) } else { Err("must be greater than 0".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;
    use serde_json::{Value, json};

    use super::*;

    /// What the options make of a text, or what they say about it.
    #[track_caller]
    fn check(option: &str, case: &Value, meaning: impl FnOnce(&Question) -> Value) {
        let text = case["text"].as_str().unwrap();
        let command = PartOptions::augment_args(clap::Command::new("stepscope"));
        let parsed = command.try_get_matches_from(["stepscope", &format!("--{option}={text}")]);
        match parsed.and_then(|matches| PartOptions::from_arg_matches(&matches)) {
            Ok(options) => assert_eq!(meaning(&options.question()), case["is"], "{text}"),
            Err(error) => {
                let (error, wanted) = (error.to_string(), case["error"].as_str());
                assert!(wanted.is_some_and(|wanted| error.contains(wanted)), "{text}: {error}");
            }
        }
    }

    #[test]
    fn ranks_and_steps_mean_what_they_mean_everywhere() {
        let cases: Value = serde_json::from_str(include_str!("../../model/tests/arguments.json")).unwrap();
        for case in cases["ranks"].as_array().unwrap() {
            check("rank", case, |question| json!(question.ranks));
        }
        for case in cases["steps"].as_array().unwrap() {
            check("step", case, |question| json!(question.steps.map(|steps| [steps.first, steps.last])));
        }
    }
}
