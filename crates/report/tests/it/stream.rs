//! A table that is written piece by piece looks as it does in one piece.

use stepscope_model::{Cell, LeftOut, Part, Report, ReportTable};
use stepscope_report::csv::{self, CsvStream};
use stepscope_report::json::{self, JsonStream};
use stepscope_report::markdown::{self, MarkdownStream};
use stepscope_report::text::{self, TextOptions, TextStream};
use stepscope_report::{Document, TableStream};

use crate::data::table;

fn rows(count: i64) -> ReportTable {
    let row = |place: i64| {
        let name = format!("aten::mm<{}>", "x".repeat(place as usize % 7));
        vec![Cell::Text(name), Cell::Int(place * 1_000), Cell::Float(place as f64 / 8.0), Cell::Null]
    };
    table(&["name", "dur_ns", "share", "nothing"], (0..count).map(row).collect())
}

/// Head, rows and end; the head has the first rows.
fn streamed(stream: &mut dyn TableStream, table: &ReportTable, head: usize, left_out: LeftOut) -> String {
    let part = |rows: &[Vec<Cell>]| ReportTable { rows: rows.to_vec(), ..table.clone() };
    let mut text = stream.head(&part(&table.rows[..head]));
    for rows in table.rows[head..].chunks(3) {
        text.push_str(&stream.rows(&part(rows)));
    }
    text + &stream.end(left_out)
}

fn check(count: i64, head: usize, left_out: LeftOut) {
    let table = rows(count);
    let report = Report::new("sql", vec![Part::Table(ReportTable { left_out, ..table.clone() })]);
    let raw = TextOptions { raw: true, ..TextOptions::default() };
    let document = Document {
        name: "sql",
        version: "1",
        before: vec![("run", serde_json::json!({"a": [1]}))],
        ..Document::default()
    };
    let whole = Document { report: Some(&report), ..document.clone() };
    let all: [(&str, Box<dyn TableStream>, String); 4] = [
        ("csv", Box::new(CsvStream), csv::render(&report)),
        ("json", Box::new(JsonStream::new(&document)), json::render(&whole)),
        ("md", Box::new(MarkdownStream::default()), markdown::render(&report)),
        ("table", Box::new(TextStream::new(raw)), text::render(&report, raw)),
    ];
    for (name, mut stream, want) in all {
        assert_eq!(streamed(stream.as_mut(), &table, head, left_out), want, "{name}, {count} rows, {head} in the head");
    }
}

#[test]
fn pieces_are_the_whole() {
    check(0, 0, LeftOut::Nothing);
    check(1, 1, LeftOut::Nothing);
    check(20, 20, LeftOut::Rows(5));
    check(20, 20, LeftOut::Uncounted);
    // The first rows show everything that decides how the others look.
    check(40, 20, LeftOut::Nothing);
}

#[test]
fn what_is_wider_than_the_first_rows_is_never_cut_if_it_is_a_number() {
    let narrow = table(&["name", "dur_ns"], vec![vec![Cell::Text("a".into()), Cell::Int(1)]]);
    let wide = table(&["name", "dur_ns"], vec![vec![Cell::Text("b".repeat(40)), Cell::Int(123_456_789)]]);
    let mut stream = TextStream::new(TextOptions { raw: true, ..TextOptions::default() });
    let text = stream.head(&narrow) + &stream.rows(&wide) + &stream.end(LeftOut::Nothing);
    assert!(text.contains("123456789") && !text.contains(&"b".repeat(40)), "{text}");
}

#[test]
fn numbers_that_json_does_not_have_are_named_without_end() {
    let rows = |count| table(&["x"], vec![vec![Cell::Float(f64::NAN)]; count]);
    let mut stream = JsonStream::new(&Document { name: "sql", ..Document::default() });
    let text =
        stream.head(&rows(9_999)) + &stream.rows(&rows(500)) + &stream.rows(&rows(500)) + &stream.end(LeftOut::Nothing);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let nulls = document["nulls"].as_object().unwrap();
    assert_eq!((nulls.len(), nulls.contains_key("rows[9999].x"), nulls.contains_key("rows[].x")), (10_001, true, true));
}
