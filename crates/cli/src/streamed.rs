//! Writes the rows of a query while they are made, so that an answer of any size takes little memory.

use std::error::Error;
use std::io::{self, BufWriter, Write};

use stepscope_model::{LeftOut, ReportTable};
use stepscope_report::arrow::{ArrowError, ArrowStream};
use stepscope_report::csv::CsvStream;
use stepscope_report::json::JsonStream;
use stepscope_report::markdown::MarkdownStream;
use stepscope_report::parquet::{ParquetError, ParquetStream};
use stepscope_report::text::TextStream;
use stepscope_report::{Document, TableStream, TextOptions, safe_text};
use stepscope_workspace::{Rows, Workspace};

use crate::Context;
use crate::failure::Failure;
use crate::options::{OutputFormat, OutputOptions};
use crate::output::{self, Target};

/// Rows that decide how all of them look: widths, units, sides.
const HEAD_ROWS: usize = 2_000;
/// Bytes that are written at one time.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes all rows. `sorted_by` is the column that `--sort` named, as tables know it.
pub(crate) fn write(
    mut rows: Rows<&Workspace>,
    sorted_by: Option<String>,
    target: &Target,
    options: &OutputOptions,
    context: Context,
    document: &Document<'_>,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, target.open()?);
    match options.format {
        OutputFormat::Arrow => {
            let fail = |error: ArrowError| typed("arrow", &error, target);
            let mut stream = ArrowStream::new(&mut out, rows.schema()).map_err(fail)?;
            for batch in rows {
                stream.write(&batch?).map_err(fail)?;
            }
            stream.finish().map_err(fail)?;
        }
        OutputFormat::Parquet => {
            let fail = |error: ParquetError| typed("parquet", &error, target);
            let mut stream = ParquetStream::new(&mut out, rows.schema()).map_err(fail)?;
            for batch in rows {
                stream.write(&batch?).map_err(fail)?;
            }
            stream.finish().map_err(fail)?;
        }
        format => {
            let mut stream: Box<dyn TableStream> = match format {
                OutputFormat::Json => Box::new(JsonStream::new(document)),
                OutputFormat::Md => Box::new(MarkdownStream::default()),
                OutputFormat::Csv if output::is_on_terminal(options) => Box::new(Safe(CsvStream)),
                OutputFormat::Csv => Box::new(CsvStream),
                _ => {
                    let look = TextOptions { raw: true, ..output::text_options(options, context) };
                    Box::new(TextStream::new(look))
                }
            };
            texts(
                &mut rows,
                sorted_by,
                &mut |text: &str| out.write_all(text.as_bytes()).map_err(|error| target.failure(error)),
                stream.as_mut(),
            )?;
        }
    }
    let sink = out.into_inner().map_err(|error| target.failure(error.into_error()))?;
    sink.finish()
}

fn texts(
    rows: &mut Rows<&Workspace>,
    sorted_by: Option<String>,
    put: &mut dyn FnMut(&str) -> Result<(), Failure>,
    stream: &mut dyn TableStream,
) -> Result<(), Failure> {
    let mut head = Some(ReportTable { sorted_by, ..rows.empty_table()? });
    let mut shown = 0;
    while let Some(batch) = rows.next().transpose()? {
        for table in rows.tables(&batch) {
            let table = table?;
            shown += table.rows.len() as u64;
            let Some(so_far) = &mut head else {
                put(&stream.rows(&table))?;
                continue;
            };
            so_far.rows.extend(table.rows);
            if so_far.rows.len() >= HEAD_ROWS {
                put(&stream.head(so_far))?;
                head = None;
            }
        }
    }
    if let Some(head) = head {
        put(&stream.head(&head))?;
    }
    put(&stream.end(rows.left_out(shown)))
}

/// A failure of the file rather than of the rows is reported as such, however deep it is.
fn typed(format: &str, error: &(dyn Error + 'static), target: &Target) -> Failure {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(source) = error.downcast_ref::<io::Error>() {
            return target.failure(io::Error::new(source.kind(), source.to_string()));
        }
        next = error.source();
    }
    Failure::usage(format!("cannot write the rows as {format}: {error}"))
        .with_hint("pass `-f json` or `-f csv`, which write any rows")
}

/// What a terminal cannot act on.
struct Safe<S>(S);

impl<S: TableStream> TableStream for Safe<S> {
    fn head(&mut self, head: &ReportTable) -> String {
        safe_text::lines(&self.0.head(head)).into_owned()
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        safe_text::lines(&self.0.rows(rows)).into_owned()
    }

    fn end(&mut self, left_out: LeftOut) -> String {
        safe_text::lines(&self.0.end(left_out)).into_owned()
    }
}
