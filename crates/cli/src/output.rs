//! Where data goes and how it is written: `-f`, `-o`, `--sort`, `--limit`, `--columns`.

use std::io::{IsTerminal, Write};

use serde_json::Value;
use stepscope_model::{Exit, Part, Report};
use stepscope_report::shape::{self, Shape};
use stepscope_report::{Document, TextOptions, csv, json, safe_text, text};

use crate::failure::Failure;
use crate::options::{Format, OutputOptions};
use crate::{Context, VERSION};

/// An answer on its way out.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// What JSON and CSV carry, and text too unless there is a look of its own.
    pub(crate) report: Report,
    /// What people see, where it differs from the rows of JSON.
    pub(crate) for_people: Option<Report>,
    /// Members of the JSON document before `rows`.
    pub(crate) before: Vec<(&'static str, Value)>,
    /// Members of the JSON document behind `rows`.
    pub(crate) after: Vec<(&'static str, Value)>,
    /// Rows that people see unless they say otherwise; all when missing.
    pub(crate) usual_limit: Option<usize>,
    /// The recordings whose rows are wanted.
    pub(crate) only: Vec<(&'static str, i64)>,
    /// Text without units and grouping.
    pub(crate) is_raw: bool,
}

impl Answer {
    pub(crate) fn new(report: Report) -> Self {
        Self { report, ..Self::default() }
    }
}

/// How many rows are wanted: `--limit`, else the usual number on a screen and all in a file or for a program.
pub(crate) fn limit(options: &OutputOptions, usual: Option<usize>) -> Option<usize> {
    match options.limit {
        Some(0) => None,
        Some(limit) => Some(limit),
        None if options.format == Format::Table && options.output.is_none() => usual,
        None => None,
    }
}

/// Renders and writes.
pub(crate) fn write(answer: Answer, options: &OutputOptions, context: Context) -> Result<(), Failure> {
    let rendered = render(answer, options, context)?;
    match &options.output {
        Some(path) => std::fs::write(path, rendered).map_err(|error| {
            Failure::io("write the output", &path.display().to_string(), &error).with_exit(Exit::Usage)
        }),
        None => to_stdout(&rendered),
    }
}

/// Writes to standard output; a reader that went away is reported as such.
pub(crate) fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("write the output", "standard output", &error))
}

fn render(mut answer: Answer, options: &OutputOptions, context: Context) -> Result<String, Failure> {
    let shape = Shape {
        columns: options.columns.clone(),
        sort: options.sort.clone(),
        limit: limit(options, answer.usual_limit),
        only: std::mem::take(&mut answer.only),
    };
    let mut report = match answer.for_people {
        Some(report) if options.format == Format::Table => report,
        _ => answer.report,
    };
    shape::apply(&mut report, &shape)?;
    let to_terminal = options.output.is_none() && std::io::stdout().is_terminal();
    Ok(match options.format {
        Format::Table => {
            let color = options.output.is_none() && context.color.on_stdout();
            let screen = TextOptions { width: width(to_terminal), pictures: to_terminal, ..TextOptions::default() };
            text::render(&report, TextOptions { raw: answer.is_raw, color: color.into(), ..screen })
        }
        Format::Json => json::render(&Document {
            report: Some(&report),
            version: VERSION,
            before: answer.before,
            after: answer.after,
            ..Document::default()
        }),
        Format::Csv if to_terminal => safe_text::lines(&csv::render(&report)).into_owned(),
        Format::Csv => csv::render(&report),
    })
}

/// The width of the terminal within reason; in a pipe or a file 120.
pub(crate) fn width(to_terminal: bool) -> usize {
    let size = if to_terminal { terminal_size::terminal_size() } else { None };
    size.map_or(120, |(columns, _)| TextOptions::screen_width(usize::from(columns.0)))
}

/// The table `rows` of a report.
pub(crate) fn rows(report: &Report) -> Option<&stepscope_model::ReportTable> {
    report.parts.iter().find_map(|part| match part {
        Part::Table(table) if table.name == "rows" => Some(table),
        _ => None,
    })
}
