//! `stepscope sql PATH [STATEMENT]`: one statement, or a shell without one.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_report::{Document, shape};
use stepscope_workspace::{Order, Pick, Rows, Workspace};

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{InputOptions, OutputOptions};
use crate::output::{self, Target};
use crate::progress::TerminalProgress;
use crate::{VERSION, interrupt, shell, streamed};

pub(super) static COMMAND: Command = Command {
    name: "sql",
    options: |command| {
        Options::augment_args(command).about("Query with SQL: run one statement, or start a shell").after_help(
            "\
A table shows 100 rows; --limit changes that. json, csv and -o have all rows.
`stepscope schema` lists the tables and their columns.

Examples:
  stepscope sql trace.json.gz 'SELECT kind, count(*) FROM spans GROUP BY kind'
  stepscope sql trace.json.gz --file query.sql -f csv -o result.csv
  echo 'SELECT count(*) FROM spans' | stepscope sql trace.json.gz
  stepscope sql trace.json.gz                          a shell: \\h for help, \\q to quit",
        )
    },
    run,
};

/// Rows that a table shows by default.
pub(crate) const USUAL_LIMIT: usize = 100;

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The statement; without it, standard input is read, or a shell starts on a terminal
    #[arg(value_name = "STATEMENT")]
    statement: Option<String>,
    /// Read the statement from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "statement")]
    file: Option<PathBuf>,
    /// Open one window of a run: one capture cycle of each rank
    #[arg(long, value_name = "N", help_heading = "Input")]
    window: Option<u32>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    input: InputOptions,
}

impl Options {
    fn path_and_statement(&self) -> Vec<PathBuf> {
        [&self.path].into_iter().chain(&self.file).cloned().collect()
    }
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let statement = statement(&options)?;
    let paths = [options.path.clone()];
    let read = options.path_and_statement();
    let target = Target::of(options.output.output.as_deref(), &options.input.inputs(&read))?;
    let workspace =
        Workspace::open(&paths, &options.input.settings().of_window(options.window), &TerminalProgress::new(context))?;
    match statement {
        Some(statement) => answer(&workspace, &statement, &target, &options.output, context)?,
        None => shell::run(&workspace, &target, &options.output, context)?,
    }
    Ok(Exit::Done)
}

/// Runs one statement and writes its rows.
pub(crate) fn answer(
    workspace: &Workspace,
    statement: &str,
    target: &Target,
    options: &OutputOptions,
    context: Context,
) -> Result<(), Failure> {
    output::refuse_terminal(options)?;
    let cancel = interrupt::flag();
    let names = if picks(options) { workspace.column_names(statement, cancel)? } else { Vec::new() };
    let order = options.sort.as_deref().map(|sort| shape::place(&names, sort, "--sort", "sql")).transpose()?;
    let columns = options.columns.iter().map(|name| shape::place(&names, name, "--columns", "sql"));
    let pick = Pick {
        order: order.map(|(column, is_descending)| Order { column, is_descending }),
        columns: columns.map(|found| found.map(|(place, _)| place)).collect::<Result<_, _>>()?,
    };
    let sorted_by = order.map(|(column, is_descending)| {
        let sign = if is_descending { "-" } else { "" };
        format!("{sign}{}", names[column])
    });
    let rows = Rows::of(workspace, statement, pick, output::limit(options, Some(USUAL_LIMIT)), cancel)?;
    let document =
        Document { name: "sql", version: VERSION, before: output::about(workspace, options), ..Document::default() };
    streamed::write(rows, sorted_by, target, options, context, &document)
}

fn picks(options: &OutputOptions) -> bool {
    options.sort.is_some() || !options.columns.is_empty()
}

/// The statement from wherever it was given; `None` asks for a shell.
fn statement(options: &Options) -> Result<Option<String>, Failure> {
    let text = if let Some(statement) = &options.statement {
        statement.clone()
    } else if let Some(path) = &options.file {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::unreadable("read the statement", &path.display().to_string(), &error))?
    } else if options.path.as_os_str() == "-" {
        let failure = Failure::usage("found a trace on standard input, expected the statement as an argument");
        return Err(failure.with_hint("stepscope sql - 'SELECT count(*) FROM spans' < trace.json"));
    } else if std::io::stdin().is_terminal() {
        return Ok(None);
    } else {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Failure::unreadable("read the statement", "standard input", &error))?;
        text
    };
    let statement = text.trim().trim_end_matches(';').trim_end();
    if statement.is_empty() {
        return Err(
            Failure::usage("the statement is empty").with_hint("pass one, for example `SELECT count(*) FROM spans`")
        );
    }
    Ok(Some(statement.to_owned()))
}
