//! Splits the arguments of an event into typed cells and a JSON rest.

use std::borrow::Cow;

use hashbrown::HashMap;
use stepscope_formats::Value;
use stepscope_model::args::{ArgForm, SPAN_ARGS, SpanArg, SpanArgColumn};

use crate::record::{Cell, CellValue};
use crate::strings::{Strings, TextId};

/// Entries of an `args` object, in the order of the file.
pub(crate) type Entries<'a> = &'a [(Cow<'a, str>, Value<'a>)];

/// Splits arguments.
#[derive(Debug)]
pub(crate) struct ArgSplitter {
    by_key: HashMap<&'static str, Target>,
    /// Keys of the last event and where they went. Profilers write events of a kind one after the other, with the same
    /// keys in the same order, so that most keys are found by one comparison.
    last_keys: Vec<(String, Option<Target>)>,
    /// Cells of the current event, with the rank of the name that gave them: the newest generation's name wins.
    cells: Vec<(Cell, usize)>,
    rest: Vec<u8>,
    wide_ids: Vec<TextId>,
}

/// Where an argument goes: its column, and the rank of this one of its names.
#[derive(Clone, Copy, Debug)]
struct Target {
    arg: &'static SpanArg,
    rank: usize,
}

/// The arguments of one event: its typed ones are in the cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SplitArgs {
    /// The others, as JSON text.
    pub rest: Option<TextId>,
    pub correlation: Option<i64>,
    pub external_id: Option<i64>,
}

impl ArgSplitter {
    pub(crate) fn new() -> Self {
        let targets =
            |arg: &'static SpanArg| arg.keys.iter().enumerate().map(move |(rank, &key)| (key, Target { arg, rank }));
        let by_key = SPAN_ARGS.iter().flat_map(targets).collect();
        Self { by_key, last_keys: Vec::new(), cells: Vec::new(), rest: Vec::new(), wide_ids: Vec::new() }
    }

    /// Appends the typed arguments of an event to `cells`.
    pub(crate) fn split(&mut self, entries: Entries<'_>, strings: &mut Strings, cells: &mut Vec<Cell>) -> SplitArgs {
        self.cells.clear();
        self.rest.clear();
        let mut split = SplitArgs::default();
        for (index, (key, value)) in entries.iter().enumerate() {
            let target = self.target(index, key);
            let typed = target.and_then(|target| cell_value(target.arg.form, value, strings));
            if let (Some(Target { arg, rank }), Some(value)) = (target, typed) {
                self.put(Cell { column: arg.column, value }, rank);
            } else {
                self.put_rest(entries, index, target, strings, &mut split);
            }
        }
        for &(cell, _) in &self.cells {
            match cell {
                Cell { column: SpanArgColumn::correlation, value: CellValue::Int(id) } => {
                    split.correlation = Some(linking_id(id, &mut self.wide_ids, strings));
                }
                Cell { column: SpanArgColumn::external_id, value: CellValue::Int(id) } => {
                    split.external_id = Some(linking_id(id, &mut self.wide_ids, strings));
                }
                _ => {}
            }
            cells.push(cell);
        }
        split.rest = finish_json(&mut self.rest, strings);
        split
    }

    fn target(&mut self, index: usize, key: &str) -> Option<Target> {
        match self.last_keys.get_mut(index) {
            Some((known, target)) if known == key => *target,
            Some((known, target)) => {
                key.clone_into(known);
                *target = self.by_key.get(key).copied();
                *target
            }
            None => {
                let target = self.by_key.get(key).copied();
                // Keys far behind are rare and looked up each time.
                if index == self.last_keys.len() && index < 64 {
                    self.last_keys.push((key.to_owned(), target));
                }
                target
            }
        }
    }

    /// A later entry of a column replaces an earlier one, unless that had the newer name.
    fn put(&mut self, cell: Cell, rank: usize) {
        match self.cells.iter_mut().find(|(known, _)| known.column == cell.column) {
            Some((_, known_rank)) if *known_rank < rank => {}
            Some(known) => *known = (cell, rank),
            None => self.cells.push((cell, rank)),
        }
    }

    /// An argument without a column, or one that does not fit it. The last entry of a key wins.
    fn put_rest(
        &mut self,
        entries: Entries<'_>,
        index: usize,
        target: Option<Target>,
        strings: &mut Strings,
        split: &mut SplitArgs,
    ) {
        let (key, value) = &entries[index];
        if entries[index + 1..].iter().any(|(later, _)| later == key) {
            return;
        }
        if let Some(Target { arg, rank }) = target {
            self.cells.retain(|(cell, known_rank)| cell.column != arg.column || *known_rank != rank);
            match arg.column {
                SpanArgColumn::correlation => split.correlation = self.wide_id(value, strings),
                SpanArgColumn::external_id => split.external_id = self.wide_id(value, strings),
                _ => {}
            }
        }
        append_json(&mut self.rest, key, value);
    }

    /// An id beyond 64 signed bits; its digits stay in the JSON rest.
    fn wide_id(&mut self, value: &Value<'_>, strings: &mut Strings) -> Option<i64> {
        match value {
            Value::Number(digits) if value.is_integer() => Some(stand_in(digits, &mut self.wide_ids, strings)),
            _ => None,
        }
    }
}

/// Ids below this are stand-ins.
const STAND_INS_END: i64 = i64::MIN + (1 << 32);

/// An id as links compare it: itself, unless it lies where the stand-ins do.
fn linking_id(id: i64, wide_ids: &mut Vec<TextId>, strings: &mut Strings) -> i64 {
    if id < STAND_INS_END { stand_in(&id.to_string(), wide_ids, strings) } else { id }
}

/// An id beyond 64 signed bits gets a stand-in at the far end of the range, so that equal ids stay equal and different
/// ones different.
fn stand_in(digits: &str, wide_ids: &mut Vec<TextId>, strings: &mut Strings) -> i64 {
    let text = strings.intern(digits);
    let index = wide_ids.iter().position(|&known| known == text).unwrap_or_else(|| {
        wide_ids.push(text);
        wide_ids.len() - 1
    });
    i64::MIN + index as i64
}

/// Entries whose key is not in `known`, as JSON text.
pub(crate) fn rest_json(entries: Entries<'_>, known: &[&str], strings: &mut Strings) -> Option<TextId> {
    let mut json = Vec::new();
    for (key, value) in entries.iter().filter(|(key, _)| !known.contains(&&**key)) {
        append_json(&mut json, key, value);
    }
    finish_json(&mut json, strings)
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
