//! JSON for programs: one object, stable order of keys and rows, one row per line.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use stepscope_model::{Cell, LeftOut, Part, Report, ReportTable};

use crate::rows::distinct_names;
use crate::safe_text::acts_on_terminal;
use crate::sentence;
use crate::stream::TableStream;

/// A report and what stands beside its rows.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    /// Rows, figures and texts; its name is part of the member `schema`.
    pub report: Option<&'a Report>,
    /// Name for `schema` when there is no report.
    pub name: &'a str,
    /// Version of Stepscope.
    pub version: &'a str,
    /// Members before the rows, such as `run` and `health`.
    pub before: Vec<(&'a str, Value)>,
    /// Members behind the rows, such as `metrics`.
    pub after: Vec<(&'a str, Value)>,
    /// Why values are missing, by path, beside what the report says itself.
    pub nulls: Vec<(String, String)>,
}

/// The document as text, with a line end at its end. It always has `rows`.
#[must_use]
pub fn render(document: &Document) -> String {
    let name = document.report.map_or(document.name, |report| &report.name);
    let mut nulls: Vec<(String, String)> = Vec::new();
    let mut members: Vec<(String, String)> = vec![
        ("schema".to_owned(), Value::from(format!("stepscope.{name}/1")).to_string()),
        ("stepscope".to_owned(), Value::from(document.version).to_string()),
    ];
    members.extend(document.before.iter().map(|(name, value)| ((*name).to_owned(), pretty(value))));
    if !document.report.is_some_and(has_rows) {
        members.push(("rows".to_owned(), "[]".to_owned()));
    }
    for part in document.report.iter().flat_map(|report| &report.parts) {
        members.extend(member(part, &mut nulls));
    }
    members.extend(document.after.iter().map(|(name, value)| ((*name).to_owned(), pretty(value))));
    for (name, cell) in document.report.iter().flat_map(|report| &report.data) {
        members.push(((*name).to_owned(), pretty(&value(cell, name, &mut nulls))));
    }
    let missing = document.report.iter().flat_map(|report| &report.missing);
    nulls.extend(missing.map(|missing| (missing.path.clone(), sentence::written(&missing.reason))));
    nulls.extend(document.nulls.iter().cloned());
    if !nulls.is_empty() {
        let object: Map<String, Value> = nulls.into_iter().map(|(path, reason)| (path, Value::from(reason))).collect();
        members.push(("nulls".to_owned(), pretty(&Value::Object(object))));
    }
    let lines: Vec<String> =
        members.iter().map(|(name, value)| format!("  {}: {value}", Value::from(name.as_str()))).collect();
    safe(format!("{{\n{}\n}}\n", lines.join(",\n")))
}

fn has_rows(report: &Report) -> bool {
    report.parts.iter().any(|part| matches!(part, Part::Table(table) if table.name == "rows"))
}

/// The member that a part becomes; sentences are for people and have none.
fn member(part: &Part, nulls: &mut Vec<(String, String)>) -> Option<(String, String)> {
    match part {
        Part::Text(_) => None,
        Part::Metric(metric) => {
            let reason = metric.reason.as_ref().map(|reason| (metric.name.clone(), sentence::written(reason)));
            nulls.extend(reason.filter(|_| matches!(metric.value, Cell::Null)));
            Some((metric.name.clone(), value(&metric.value, &metric.name, nulls).to_string()))
        }
        Part::Table(table) => Some((table.name.clone(), rows(table, nulls))),
        Part::Series(series) => {
            let points = series
                .points
                .iter()
                .map(|(time_ns, value)| Value::from(vec![Value::from(*time_ns), Value::from(*value)]));
            Some((series.name.clone(), Value::from(points.collect::<Vec<_>>()).to_string()))
        }
    }
}

fn rows(table: &ReportTable, nulls: &mut Vec<(String, String)>) -> String {
    let names = distinct_names(table);
    let lines: Vec<String> =
        table.rows.iter().enumerate().map(|(index, row)| line(&names, row, &table.name, index, nulls)).collect();
    for (place, (column, name)) in table.columns.iter().zip(&names).enumerate() {
        if let Some(reason) = &column.null_reason
            && table.rows.iter().any(|row| row.get(place) == Some(&Cell::Null))
        {
            nulls.push((format!("{}[].{name}", table.name), reason.clone()));
        }
    }
    if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", lines.join(",\n")) }
}

/// One row on one line, indented.
fn line(names: &[String], row: &[Cell], table: &str, index: usize, nulls: &mut Vec<(String, String)>) -> String {
    let mut line = String::from("    {");
    for (place, (name, cell)) in names.iter().zip(row).enumerate() {
        let path = match cell {
            Cell::Float(number) if !number.is_finite() => format!("{table}[{index}].{name}"),
            _ => String::new(),
        };
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(line, "{comma}{}:{}", Value::from(name.as_str()), value(cell, &path, nulls));
    }
    line.push('}');
    line
}

/// Paths that `nulls` names one by one while rows are streamed; of more, each column is named once.
const MOST_PATHS: usize = 10_000;

/// The document of one table, with its rows as they come.
#[derive(Debug, Default)]
pub struct JsonStream {
    opening: String,
    names: Vec<String>,
    rows: usize,
    nulls: Vec<(String, String)>,
}

impl JsonStream {
    /// A document that has no report yet.
    #[must_use]
    pub fn new(document: &Document) -> Self {
        let mut opening = format!(
            "{{\n  \"schema\": {},\n  \"stepscope\": {}",
            Value::from(format!("stepscope.{}/1", document.name)),
            Value::from(document.version)
        );
        for (name, value) in &document.before {
            let _ = write!(opening, ",\n  {}: {}", Value::from(*name), pretty(value));
        }
        Self { opening: safe(opening + ",\n  \"rows\": ["), ..Self::default() }
    }

    /// Keeps what is said about missing values from growing with the rows.
    fn shorten_nulls(&mut self) {
        if self.nulls.len() <= MOST_PATHS {
            return;
        }
        let rest = self.nulls.split_off(MOST_PATHS);
        for (path, reason) in rest {
            let column = path.split_once("].").map_or(path.as_str(), |(_, column)| column);
            let all = (format!("rows[].{column}"), reason);
            if !self.nulls[MOST_PATHS..].contains(&all) {
                self.nulls.push(all);
            }
        }
    }
}

impl TableStream for JsonStream {
    fn head(&mut self, head: &ReportTable) -> String {
        self.names = distinct_names(head);
        std::mem::take(&mut self.opening) + &self.rows(head)
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        let mut text = String::new();
        for row in &rows.rows {
            text.push_str(if self.rows == 0 { "\n" } else { ",\n" });
            text.push_str(&line(&self.names, row, "rows", self.rows, &mut self.nulls));
            self.rows += 1;
        }
        self.shorten_nulls();
        safe(text)
    }

    fn end(&mut self, _left_out: LeftOut) -> String {
        let mut text = String::from(if self.rows == 0 { "]" } else { "\n  ]" });
        let nulls = std::mem::take(&mut self.nulls);
        if !nulls.is_empty() {
            let object: Map<String, Value> =
                nulls.into_iter().map(|(path, reason)| (path, Value::from(reason))).collect();
            let _ = write!(text, ",\n  \"nulls\": {}", pretty(&Value::Object(object)));
        }
        safe(text + "\n}\n")
    }
}

fn value(cell: &Cell, path: &str, nulls: &mut Vec<(String, String)>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::from(*value),
        Cell::Int(value) => Value::from(*value),
        Cell::Float(value) if value.is_finite() => Value::from(*value),
        Cell::Float(value) => {
            let reason = if value.is_nan() { "not a number" } else { "infinite" };
            nulls.push((path.to_owned(), reason.to_owned()));
            Value::Null
        }
        Cell::Text(text) => Value::from(text.as_str()),
        Cell::Sentence(_) | Cell::Sentences(_) => value(&sentence::cell(cell), path, nulls),
        Cell::Json(value) => value.clone(),
        Cell::Numbers(numbers) => Value::from(numbers.clone()),
    }
}

/// Indented to stand inside the document.
fn pretty(value: &Value) -> String {
    format!("{value:#}").replace('\n', "\n  ")
}

/// JSON escapes only what is below space. Delete, the second block of control characters and the marks that reorder
/// text stand in strings alone, so they can be escaped in the finished text.
fn safe(text: String) -> String {
    let acts = |character: char| character > '~' && acts_on_terminal(character);
    if !text.chars().any(acts) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            let _ = write!(escaped, "\\u{:04x}", character as u32);
        } else {
            escaped.push(character);
        }
    }
    escaped
}
