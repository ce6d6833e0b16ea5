//! One SQL statement: a report for the page, or a document in a format of `stepscope sql` for who downloads it. Rows are
//! sent while they are made.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use serde::Deserialize;
use stepscope_model::{LeftOut, Part, Report, ReportTable};
use stepscope_report::arrow::ArrowStream;
use stepscope_report::csv::CsvStream;
use stepscope_report::json::JsonStream;
use stepscope_report::{Document, TableStream};
use stepscope_workspace::{Pick, Rows, Workspace};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::POST, path: "api/runs/{run}/sql", answer };

/// Rows of an answer unless asked otherwise.
const USUAL_ROWS: usize = 10_000;
/// Rows of an answer to the page at most; a download has no such limit.
const MOST_ROWS: usize = 100_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    statement: String,
    limit: Option<usize>,
    format: Option<DownloadFormat>,
}

/// What a download can be.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DownloadFormat {
    Json,
    Csv,
    Arrow,
}

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let content_type = asked.request.header(CONTENT_TYPE.as_str()).unwrap_or_default();
    // A form of another page cannot send this type.
    if !content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected the content type: application/json"));
    }
    let body: Body = serde_json::from_slice(&asked.request.body).map_err(|error| {
        Failure::malformed(format!("cannot read the body: {error}"))
            .with_hint("send {\"statement\": \"SELECT 1\", \"limit\": 100, \"format\": \"csv\"}")
    })?;
    let workspace = asked.workspace()?;
    let limit = body.limit.filter(|limit| *limit > 0);
    let max_rows = match body.format {
        Some(_) => limit,
        None => Some(limit.unwrap_or(USUAL_ROWS).min(MOST_ROWS)),
    };
    let rows = Rows::of(Arc::clone(&workspace), &body.statement, Pick::default(), max_rows, &asked.request.cancel)?;
    match body.format {
        None => Response::of_pieces("application/json", Pieces::new(rows, Box::new(ReportStream::default()))?),
        Some(DownloadFormat::Csv) => {
            Response::of_pieces("text/csv; charset=utf-8", Pieces::new(rows, Box::new(CsvStream))?)
        }
        Some(DownloadFormat::Json) => {
            let document = Document {
                name: "sql",
                version: env!("CARGO_PKG_VERSION"),
                before: vec![("run", workspace.run_info()), ("health", workspace.health_info())],
                ..Document::default()
            };
            Response::of_pieces("application/json", Pieces::new(rows, Box::new(JsonStream::new(&document)))?)
        }
        Some(DownloadFormat::Arrow) => {
            Response::of_pieces("application/vnd.apache.arrow.file", ArrowPieces::new(rows)?)
        }
    }
}

/// Text, made of one batch at a time.
struct Pieces {
    rows: Rows<Arc<Workspace>>,
    stream: Box<dyn TableStream>,
    head: Option<ReportTable>,
    is_done: bool,
}

impl Pieces {
    fn new(rows: Rows<Arc<Workspace>>, stream: Box<dyn TableStream>) -> Result<Self, Failure> {
        let head = Some(rows.empty_table()?);
        Ok(Self { rows, stream, head, is_done: false })
    }

    fn next_piece(&mut self) -> Result<Option<String>, Failure> {
        if let Some(head) = self.head.take() {
            return Ok(Some(self.stream.head(&head)));
        }
        if let Some(batch) = self.rows.next().transpose()? {
            let mut text = String::new();
            for table in self.rows.tables(&batch) {
                text.push_str(&self.stream.rows(&table?));
            }
            return Ok(Some(text));
        }
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(None);
        }
        // How many more there are would take as long again.
        let left_out = if self.rows.is_truncated() { LeftOut::Uncounted } else { LeftOut::Nothing };
        Ok(Some(self.stream.end(left_out)))
    }
}

impl Iterator for Pieces {
    type Item = Result<Vec<u8>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_piece();
        self.is_done |= next.is_err();
        next.map(|piece| piece.map(String::into_bytes)).transpose()
    }
}

/// What stands before the rows of a report.
const ROWS: &str = "\"rows\":[";

/// The report of a query as the page takes it.
#[derive(Default)]
struct ReportStream {
    table: ReportTable,
    rows: u64,
}

impl ReportStream {
    /// The report around its rows.
    fn around(&self) -> (String, String) {
        let report = Report::new("sql", vec![Part::Table(self.table.clone())]);
        let text = serde_json::to_string(&report).unwrap_or_default();
        let (before, after) = text.split_once(ROWS).unwrap_or((&text, ""));
        (format!("{before}{ROWS}"), after.to_owned())
    }
}

impl TableStream for ReportStream {
    fn head(&mut self, head: &ReportTable) -> String {
        self.table = ReportTable { rows: Vec::new(), ..head.clone() };
        self.around().0 + &self.rows(head)
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        let mut text = String::new();
        for row in &rows.rows {
            if self.rows > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(row).unwrap_or_default());
            self.rows += 1;
        }
        text
    }

    fn end(&mut self, left_out: LeftOut) -> String {
        self.table.left_out = left_out;
        self.around().1
    }
}

/// An Arrow file, made of one batch at a time.
struct ArrowPieces {
    rows: Rows<Arc<Workspace>>,
    stream: Option<ArrowStream<Buffer>>,
    written: Buffer,
}

impl ArrowPieces {
    fn new(rows: Rows<Arc<Workspace>>) -> Result<Self, Failure> {
        let written = Buffer::default();
        let stream = ArrowStream::new(written.clone(), rows.schema()).map_err(|error| unwritable(&error))?;
        Ok(Self { rows, stream: Some(stream), written })
    }

    fn next_piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(mut stream) = self.stream.take() else { return Ok(None) };
        if let Some(batch) = self.rows.next().transpose()? {
            stream.write(&batch).map_err(|error| unwritable(&error))?;
            self.stream = Some(stream);
        } else {
            stream.finish().map_err(|error| unwritable(&error))?;
        }
        Ok(Some(self.written.take()))
    }
}

impl Iterator for ArrowPieces {
    type Item = Result<Vec<u8>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_piece().transpose()
    }
}

fn unwritable(error: &dyn std::error::Error) -> Failure {
    Failure::malformed(format!("cannot write the rows as arrow: {error}")).with_hint("csv and json take any rows")
}

/// What was written and not sent yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
