//! Where data goes and how it is written: `-f`, `-o`, `--sort`, `--limit`, `--columns`.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_model::{Part, Report};
use stepscope_report::shape::{self, Shape};
use stepscope_report::text::ColorMode;
use stepscope_report::{Document, TextOptions, arrow, csv, json, markdown, parquet, safe_text, text};
use stepscope_workspace::{Output, OutputFile, Workspace};

use crate::color;
use crate::failure::Failure;
use crate::options::{OutputFormat, OutputOptions};
use crate::{Context, VERSION, standard_output};

/// An answer on its way out.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// What JSON and CSV carry, and text too unless it has a separate look.
    pub(crate) report: Report,
    /// What people see, where it differs from the rows of JSON.
    pub(crate) for_people: Option<Report>,
    /// Members of the JSON document before `rows`.
    pub(crate) before: Vec<(&'static str, Value)>,
    /// Members of the JSON document after `rows`.
    pub(crate) after: Vec<(&'static str, Value)>,
    /// Rows that people see by default; all when missing.
    pub(crate) usual_limit: Option<usize>,
    /// The recordings whose rows are wanted.
    pub(crate) only: Vec<(&'static str, i64)>,
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
        None if options.format == OutputFormat::Table && options.output.is_none() => usual,
        None => None,
    }
}

/// Where an answer goes. Made before any work, so that a place that cannot be is refused at once.
#[derive(Clone, Debug)]
pub(crate) struct Target(Option<Output>);

impl Target {
    /// A file, or standard output without one; `inputs` are what the command reads.
    pub(crate) fn of(file: Option<&Path>, inputs: &[PathBuf]) -> Result<Self, Failure> {
        Ok(Self(file.map(|file| Output::at(file, inputs)).transpose()?))
    }

    /// Begins to write what comes piece by piece.
    pub(crate) fn open(&self) -> Result<Sink, Failure> {
        match &self.0 {
            Some(output) => Ok(Sink::File(output.create()?)),
            None => Ok(Sink::Standard(standard_output::open().map_err(standard_output::failure)?)),
        }
    }

    /// What went wrong while it was written.
    pub(crate) fn failure(&self, error: std::io::Error) -> Failure {
        match &self.0 {
            Some(output) => Failure::unwritable(output.path(), error),
            None => standard_output::failure(error),
        }
    }

    /// Writes something that is complete.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.0 {
            Some(output) => Ok(output.write(bytes)?),
            None => standard_output::write(bytes),
        }
    }
}

/// Something that is being written.
pub(crate) enum Sink {
    File(OutputFile),
    Standard(File),
}

impl Sink {
    /// Puts a file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.finish()?),
            Self::Standard(_) => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Renders and writes.
pub(crate) fn write(answer: Answer, target: &Target, options: &OutputOptions, context: Context) -> Result<(), Failure> {
    refuse_terminal(options)?;
    target.write(&render(answer, options, context)?)
}

/// What a JSON document says about the run before its rows. Other formats have no place for it, and that of a fleet is
/// long.
pub(crate) fn about(workspace: &Workspace, options: &OutputOptions) -> Vec<(&'static str, Value)> {
    if options.format != OutputFormat::Json {
        return Vec::new();
    }
    vec![("run", workspace.run_info()), ("health", workspace.health_info())]
}

/// Some formats are for programs alone.
pub(crate) fn refuse_terminal(options: &OutputOptions) -> Result<(), Failure> {
    let is_binary = matches!(options.format, OutputFormat::Arrow | OutputFormat::Parquet);
    if is_binary && options.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("a terminal cannot show this format").with_hint("write it to a file: `-o FILE`"));
    }
    Ok(())
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
        Some(report) if options.format == OutputFormat::Table => report,
        _ => answer.report,
    };
    shape::apply(&mut report, &shape)?;
    let text = match options.format {
        OutputFormat::Table => text::render(&report, text_options(options, context)),
        OutputFormat::Json => json::render(&Document {
            report: Some(&report),
            version: VERSION,
            before: answer.before,
            after: answer.after,
            ..Document::default()
        }),
        OutputFormat::Csv if is_on_terminal(options) => safe_text::lines(&csv::render(&report)).into_owned(),
        OutputFormat::Csv => csv::render(&report),
        OutputFormat::Md => markdown::render(&report),
        OutputFormat::Arrow => return arrow::render(&report).map_err(|error| unwritable("arrow", &error.to_string())),
        OutputFormat::Parquet => {
            return parquet::render(&report).map_err(|error| unwritable("parquet", &error.to_string()));
        }
    };
    Ok(text.into_bytes())
}

/// Whether a person reads it while it is written.
pub(crate) fn is_on_terminal(options: &OutputOptions) -> bool {
    options.output.is_none() && std::io::stdout().is_terminal()
}

/// How text looks where it goes.
pub(crate) fn text_options(options: &OutputOptions, context: Context) -> TextOptions {
    let to_terminal = is_on_terminal(options);
    let has_color = options.output.is_none() && context.color.on_stdout();
    TextOptions {
        width: width(to_terminal),
        color: if has_color { color::mode() } else { ColorMode::None },
        pictures: to_terminal,
        ascii: to_terminal && color::is_ascii(),
        ..TextOptions::default()
    }
}

fn unwritable(format: &str, why: &str) -> Failure {
    Failure::usage(format!("cannot write the rows as {format}: {why}"))
        .with_hint("pass `-f json` or `-f csv`, which write any rows")
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
