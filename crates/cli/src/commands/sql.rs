//! `stepscope sql PATH [STATEMENT]`: one statement, or a shell without one.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_analysis::Workspace;
use stepscope_model::Exit;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{InputOptions, OutputOptions};
use crate::output::{self, Answer};
use crate::progress::TerminalProgress;
use crate::{interrupt, shell};

pub(super) static COMMAND: Command = Command {
    name: "sql",
    options: |command| {
        Options::augment_args(command).about("Ask with SQL: one statement, or a shell without one").after_help(
            "\
A table shows 100 rows unless --limit says otherwise; json, csv and -o have all.
`stepscope schema` lists the tables and their columns.

Examples:
  stepscope sql trace.json.gz 'SELECT kind, count(*) FROM spans GROUP BY kind'
  stepscope sql trace.json.gz --file query.sql -f csv -o result.csv
  echo 'SELECT count(*) FROM spans' | stepscope sql trace.json.gz
  stepscope sql trace.json.gz                          a shell; \\h helps, \\q leaves",
        )
    },
    run,
};

/// Rows that a table shows unless told otherwise.
pub(crate) const USUAL_LIMIT: usize = 100;

#[derive(Args)]
struct Options {
    /// A trace file, a folder of them, a store, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The statement; without it, it is read from standard input, or a shell starts on a terminal
    #[arg(value_name = "STATEMENT")]
    statement: Option<String>,
    /// Read the statement from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "statement")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let statement = statement(&options)?;
    let paths = [options.path.clone()];
    let workspace = Workspace::open(&paths, &options.input.settings(), &TerminalProgress::new(context))?;
    match statement {
        Some(statement) => answer(&workspace, &statement, &options.output, context)?,
        None => shell::run(&workspace, &options.output, context)?,
    }
    Ok(Exit::Done)
}

/// Runs one statement and writes its rows.
pub(crate) fn answer(
    workspace: &Workspace,
    statement: &str,
    options: &OutputOptions,
    context: Context,
) -> Result<(), Failure> {
    // Rows that are sorted here must all be there first.
    let max_rows = if options.sort.is_some() { None } else { output::limit(options, Some(USUAL_LIMIT)) };
    let report = workspace.sql(statement, max_rows, interrupt::flag())?;
    let answer = Answer {
        before: vec![("run", workspace.run_info()), ("health", workspace.health_info())],
        usual_limit: Some(USUAL_LIMIT),
        is_raw: true,
        ..Answer::new(report)
    };
    output::write(answer, options, context)
}

/// The statement from wherever it was given; `None` asks for a shell.
fn statement(options: &Options) -> Result<Option<String>, Failure> {
    let text = if let Some(statement) = &options.statement {
        statement.clone()
    } else if let Some(path) = &options.file {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::io("read the statement", &path.display().to_string(), &error))?
    } else if options.path.as_os_str() == "-" {
        let failure = Failure::usage("standard input is the trace, so the statement must be given");
        return Err(failure.with_hint("stepscope sql - 'SELECT count(*) FROM spans' < trace.json"));
    } else if std::io::stdin().is_terminal() {
        return Ok(None);
    } else {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Failure::io("read the statement", "standard input", &error))?;
        text
    };
    let statement = text.trim().trim_end_matches(';').trim_end();
    if statement.is_empty() {
        return Err(Failure::usage("the statement is empty").with_hint("for example: SELECT count(*) FROM spans"));
    }
    Ok(Some(statement.to_owned()))
}
