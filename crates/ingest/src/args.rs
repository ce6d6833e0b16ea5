//! Splits the arguments of an event into typed cells and a JSON rest.

use std::borrow::Cow;
use std::collections::HashMap;

use stepscope_formats::Value;
use stepscope_model::args::{ArgForm, SPAN_ARGS, SpanArg, SpanArgColumn};

use crate::record::{Cell, CellValue};
use crate::strings::{Strings, TextId};

/// Entries of an `args` object, in the order of the file.
pub(crate) type Entries<'a> = &'a [(Cow<'a, str>, Value<'a>)];

/// Finds the typed column of an argument and writes the others as JSON.
#[derive(Debug)]
pub(crate) struct ArgSplitter {
    by_key: HashMap<&'static str, (&'static SpanArg, usize)>,
    /// Cells of the current event, with the rank of the name that gave them: the newest generation's name wins.
    cells: Vec<(Cell, usize)>,
    rest: Vec<u8>,
}

impl ArgSplitter {
    pub(crate) fn new() -> Self {
        let by_key = SPAN_ARGS
            .iter()
            .flat_map(|arg| arg.keys.iter().enumerate().map(move |(rank, &key)| (key, (arg, rank))))
            .collect();
        Self { by_key, cells: Vec::new(), rest: Vec::new() }
    }

    /// Appends the typed arguments of an event to `cells` and returns the rest as JSON text.
    pub(crate) fn split(
        &mut self,
        entries: Entries<'_>,
        strings: &mut Strings,
        cells: &mut Vec<Cell>,
    ) -> Option<TextId> {
        self.cells.clear();
        self.rest.clear();
        for (index, (key, value)) in entries.iter().enumerate() {
            // The last entry of a key wins, so one that comes again later does not count.
            if entries[index + 1..].iter().any(|(later, _)| later == key) {
                continue;
            }
            let typed = self
                .by_key
                .get(&**key)
                .and_then(|(arg, rank)| Some((arg, *rank, cell_value(arg.form, value, strings)?)));
            match typed {
                Some((arg, rank, value)) => self.put(Cell { column: arg.column, value }, rank),
                None => append_json(&mut self.rest, key, value),
            }
        }
        cells.extend(self.cells.iter().map(|(cell, _)| *cell));
        finish_json(&mut self.rest, strings)
    }

    fn put(&mut self, cell: Cell, rank: usize) {
        match self.cells.iter_mut().find(|(known, _)| known.column == cell.column) {
            Some((_, known_rank)) if *known_rank < rank => {}
            Some(known) => *known = (cell, rank),
            None => self.cells.push((cell, rank)),
        }
    }
}

/// Entries whose key is not in `known`, as JSON text.
pub(crate) fn rest_json(entries: Entries<'_>, known: &[&str], strings: &mut Strings) -> Option<TextId> {
    let mut json = Vec::new();
    for (key, value) in entries.iter().filter(|(key, _)| !known.contains(&&**key)) {
        append_json(&mut json, key, value);
    }
    finish_json(&mut json, strings)
}

/// The last value of `key`.
pub(crate) fn last<'a, 'b>(entries: Entries<'b>, key: &str) -> Option<&'a Value<'b>>
where
    'b: 'a,
{
    entries.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
}

/// The value of a typed column among the cells of an event.
pub(crate) fn find_cell(cells: &[Cell], column: SpanArgColumn) -> Option<CellValue> {
    cells.iter().find(|cell| cell.column == column).map(|cell| cell.value)
}

/// Joins the JSON rests of the two ends of a span.
pub(crate) fn join_json(first: &str, second: &str) -> String {
    format!("{},{}", &first[..first.len() - 1], &second[1..])
}

fn cell_value(form: ArgForm, value: &Value<'_>, strings: &mut Strings) -> Option<CellValue> {
    Some(match (form, value) {
        (ArgForm::Int, value) => CellValue::Int(value.as_i64()?),
        (ArgForm::Float, value) => CellValue::Float(value.as_f64().filter(|number| number.is_finite())?),
        (ArgForm::Text, Value::Text(text)) => CellValue::Text(strings.intern(text)),
        (ArgForm::List, Value::Json(text)) if text.starts_with('[') => CellValue::Text(strings.intern(text)),
        (ArgForm::Digits, Value::Number(text)) if value.is_integer() => CellValue::Text(strings.intern(text)),
        _ => return None,
    })
}

fn append_json(json: &mut Vec<u8>, key: &str, value: &Value<'_>) {
    json.push(if json.is_empty() { b'{' } else { b',' });
    append_string(json, key);
    json.push(b':');
    match value {
        Value::Missing | Value::Null => json.extend_from_slice(b"null"),
        Value::Bool(flag) => json.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Value::Number(text) => json.extend_from_slice(text.as_bytes()),
        Value::Text(text) => append_string(json, text),
        Value::Json(text) => json.extend_from_slice(text.as_bytes()),
    }
}

fn append_string(json: &mut Vec<u8>, text: &str) {
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(json, text);
}

fn finish_json(json: &mut Vec<u8>, strings: &mut Strings) -> Option<TextId> {
    if json.is_empty() {
        return None;
    }
    json.push(b'}');
    Some(strings.intern(&String::from_utf8_lossy(json)))
}
