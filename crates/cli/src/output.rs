//! Where data goes and how it is written: `-f`, `-o`, `--sort`, `--limit`, `--columns`.

use std::io::{IsTerminal, Write};

use serde_json::Value;
use stepscope_model::{Exit, Part, Report};
use stepscope_report::shape::{self, Shape};
use stepscope_report::text::ColorMode;
use stepscope_report::{Document, TextOptions, arrow, csv, json, markdown, parquet, safe_text, text};

use crate::color;
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
    let is_binary = matches!(options.format, Format::Arrow | Format::Parquet);
    if is_binary && options.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("a terminal cannot show this format").with_hint("-o FILE writes it to a file"));
    }
    let rendered = render(answer, options, context)?;
    match &options.output {
        Some(path) => std::fs::write(path, rendered).map_err(|error| {
            Failure::io("write the output", &path.display().to_string(), &error).with_exit(Exit::Usage)
        }),
        None => bytes_to_stdout(&rendered),
    }
}

/// Writes to standard output; a reader that went away is reported as such.
pub(crate) fn to_stdout(text: &str) -> Result<(), Failure> {
    bytes_to_stdout(text.as_bytes())
}

fn bytes_to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("write the output", "standard output", &error))
}

fn render(mut answer: Answer, options: &OutputOptions, context: Context) -> Result<Vec<u8>, Failure> {
    let shape = Shape {
        columns: options.columns.clone(),
        sort: options.sort.clone(),
        limit: limit(options, answer.usual_limit),
        is_usual_limit: options.limit.is_none(),
        only: std::mem::take(&mut answer.only),
    };
    let mut report = match answer.for_people {
        Some(report) if options.format == Format::Table => report,
        _ => answer.report,
    };
    shape::apply(&mut report, &shape)?;
    let to_terminal = options.output.is_none() && std::io::stdout().is_terminal();
    let text = match options.format {
        Format::Table => {
            let has_color = options.output.is_none() && context.color.on_stdout();
            let options = TextOptions {
                width: width(to_terminal),
                raw: answer.is_raw,
                color: if has_color { color::mode() } else { ColorMode::None },
                pictures: to_terminal,
                ascii: to_terminal && color::is_ascii(),
                ..TextOptions::default()
            };
            text::render(&report, options)
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
        Format::Md => markdown::render(&report),
        Format::Arrow => return arrow::render(&report).map_err(|error| unwritable("arrow", &error.to_string())),
        Format::Parquet => return parquet::render(&report).map_err(|error| unwritable("parquet", &error.to_string())),
    };
    Ok(text.into_bytes())
}

fn unwritable(format: &str, why: &str) -> Failure {
    Failure::usage(format!("cannot write the rows as {format}: {why}")).with_hint("-f json and -f csv write any rows")
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
