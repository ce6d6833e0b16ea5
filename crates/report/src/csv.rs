//! CSV for spreadsheets and scripts: quoted as RFC 4180 says, raw values, a header row.
//!
//! Lines end in LF, as the tools of a pipe expect. A missing value is an empty field, an empty text is `""`: the crate
//! `csv` writes both alike, so fields are quoted here.

use stepscope_model::{Cell, LeftOut, Report, ReportTable};

use crate::rows;
use crate::stream::TableStream;

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
#[must_use]
pub fn render(report: &Report) -> String {
    CsvStream.head(&rows::main_table(report))
}

/// The same piece by piece.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsvStream;

impl TableStream for CsvStream {
    fn head(&mut self, head: &ReportTable) -> String {
        let mut text = String::new();
        push_record(&mut text, head.columns.iter().map(|column| quoted(&column.name)));
        text + &self.rows(head)
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        let mut text = String::new();
        for row in &rows.rows {
            push_record(&mut text, row.iter().map(field));
        }
        text
    }

    fn end(&mut self, _left_out: LeftOut) -> String {
        String::new()
    }
}

fn push_record(text: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&field);
    }
    text.push('\n');
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Bool(value) => value.to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) if value.is_finite() => value.to_string(),
        Cell::Null | Cell::Float(_) => String::new(),
        Cell::Text(text) if text.is_empty() => "\"\"".to_owned(),
        Cell::Text(text) => quoted(text),
        Cell::Sentence(_) | Cell::Sentences(_) => field(&crate::sentence::cell(cell)),
        Cell::Json(value) => quoted(&value.to_string()),
        Cell::Numbers(numbers) => quoted(&serde_json::Value::from(numbers.clone()).to_string()),
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
