//! `stepscope schema [TABLE]`: the tables, views and columns that SQL knows.

use clap::{ArgMatches, Args};
use stepscope_model::{Cell, Exit, Part, Report};
use stepscope_report::shape;
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::OutputOptions;
use crate::output::{self, Answer, Target};

pub(super) static COMMAND: Command = Command {
    name: "schema",
    options: |command| {
        Options::augment_args(command).about("List the tables, views and columns for SQL").after_help(
            "\
Examples:
  stepscope schema
  stepscope schema spans
  stepscope schema -f json -o schema.json",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// Show only this table or view
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    #[command(flatten)]
    output: OutputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let target = Target::of(options.output.output.as_deref(), &[])?;
    output::write(Answer::new(schema(options.table.as_deref())?), &target, &options.output, context)?;
    Ok(Exit::Done)
}

/// The schema of everything, or of one table.
pub(crate) fn schema(table: Option<&str>) -> Result<Report, Failure> {
    let mut report = Workspace::schema()?;
    let Some(wanted) = table else { return Ok(report) };
    let mut names: Vec<String> = Vec::new();
    let mut found = false;
    for part in &mut report.parts {
        let Part::Table(rows) = part else { continue };
        let Some(column) = rows.columns.iter().position(|column| column.name == "table") else { continue };
        names.extend(
            rows.rows
                .iter()
                .filter_map(|row| if let Cell::Text(name) = &row[column] { Some(name.clone()) } else { None }),
        );
        rows.rows.retain(|row| matches!(&row[column], Cell::Text(name) if name.eq_ignore_ascii_case(wanted)));
        found |= !rows.rows.is_empty();
        // The name is known, so its column would only take room.
        rows.columns.remove(column);
        for row in &mut rows.rows {
            row.remove(column);
        }
    }
    if found { Ok(report) } else { Err(unknown_table(wanted, names)) }
}

fn unknown_table(wanted: &str, mut names: Vec<String>) -> Failure {
    names.dedup();
    let nearest = names.iter().map(|name| (shape::distance(wanted, name), name)).min();
    let guess = nearest.filter(|(distance, _)| *distance <= 2 + wanted.len() / 5);
    let guess = guess.map_or(String::new(), |(_, name)| format!("did you mean {name}?\n"));
    Failure::usage(format!("found no table or view: {wanted}"))
        .with_hint(format!("{guess}tables and views: {}", names.join(", ")))
}
