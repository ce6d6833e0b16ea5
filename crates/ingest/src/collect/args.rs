//! Splits the arguments of an event into typed cells and a JSON rest.

use hashbrown::HashMap;
use stepscope_formats::{Args, Value};
use stepscope_model::args::{ArgForm, SPAN_ARGS, SpanArg, SpanArgColumn};

use super::record::{Cell, CellValue, IdOrder};
use crate::spill::strings::{Strings, Text};

/// Splits arguments.
#[derive(Debug)]
pub(crate) struct ArgSplitter {
    by_key: HashMap<&'static str, Target>,
    /// Where the arguments of events of a shape go: looked up once a shape.
    shapes: Vec<Option<Shape>>,
    /// The same for an event without a shape.
    unshaped: Shape,
    /// Cells of the current event.
    cells: Vec<Cell>,
    /// For each of them the rank of the name that gave it: the newest generation's name wins.
    ranks: Vec<usize>,
    /// Arguments of the current event without a column, and their values.
    rest: Vec<usize>,
    raw_rest: Vec<u8>,
    /// Linking ids of the current event that fit no column.
    wide: Vec<WideId>,
    /// Where its External id stands among others.
    id_order: IdOrder,
    wide_ids: HashMap<String, i64>,
}

/// An id beyond 64 signed bits, and the rank of the name that gave it.
#[derive(Clone, Copy, Debug)]
struct WideId {
    column: SpanArgColumn,
    rank: usize,
    stand_in: i64,
    order: IdOrder,
}

/// Where the arguments of an event go, one by one.
#[derive(Clone, Debug, Default)]
struct Shape {
    targets: Vec<Option<Target>>,
    /// No two arguments have one key or one column.
    is_simple: bool,
    /// Values without a column of the last event of this shape, and the JSON that they became: they often stay the same.
    last_rest: Vec<u8>,
    last_json: Option<Text>,
}

/// Where an argument goes: its column, and the rank of this one of its names.
#[derive(Clone, Copy, Debug)]
struct Target {
    arg: &'static SpanArg,
    rank: usize,
}

/// What the arguments of one event say, beside the cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SplitArgs {
    /// Arguments without a column, as JSON text.
    pub rest: Option<Text>,
    pub correlation: Option<i64>,
    pub external_id: Option<i64>,
    pub is_module: bool,
    pub names_collective: bool,
}

impl ArgSplitter {
    pub(crate) fn new() -> Self {
        let targets =
            |arg: &'static SpanArg| arg.keys.iter().enumerate().map(move |(rank, &key)| (key, Target { arg, rank }));
        Self {
            by_key: SPAN_ARGS.iter().flat_map(targets).collect(),
            shapes: Vec::new(),
            unshaped: Shape::default(),
            cells: Vec::new(),
            ranks: Vec::new(),
            rest: Vec::new(),
            raw_rest: Vec::new(),
            wide: Vec::new(),
            id_order: IdOrder::NONE,
            wide_ids: HashMap::new(),
        }
    }

    /// Takes the arguments of an event; its cells are then in `cells`. Texts without a number go `behind`.
    pub(crate) fn split(
        &mut self,
        args: Args<'_>,
        shape: Option<u32>,
        strings: &mut Strings,
        behind: &mut Vec<u8>,
    ) -> SplitArgs {
        self.cells.clear();
        self.ranks.clear();
        self.rest.clear();
        self.raw_rest.clear();
        self.wide.clear();
        self.id_order = IdOrder::NONE;
        let mut split = SplitArgs::default();
        if args.is_empty() {
            return split;
        }
        let (mut shape, number) = self.take_shape(args, shape);
        for (index, &target) in shape.targets.iter().enumerate() {
            let value = args.value(index);
            let typed = target.and_then(|target| cell_value(target.arg.form, &value, strings, behind));
            match (target, typed) {
                (Some(Target { arg, rank }), Some(value)) => {
                    self.put(Cell { column: arg.column, value }, rank, shape.is_simple);
                }
                _ if shape.is_simple || !(index + 1..args.len()).any(|later| args.key(later) == args.key(index)) => {
                    self.put_rest(index, &value, target);
                }
                // The last entry of a key wins.
                _ => {}
            }
        }
        for &cell in &self.cells {
            match (cell.column, cell.value) {
                (SpanArgColumn::correlation, CellValue::Int(id)) => {
                    split.correlation = Some(linking_id(id, &mut self.wide_ids));
                }
                (SpanArgColumn::external_id, CellValue::Int(id)) => {
                    split.external_id = Some(linking_id(id, &mut self.wide_ids));
                    self.id_order = IdOrder::of(id.into());
                }
                (SpanArgColumn::python_module_id, _) => split.is_module = true,
                (SpanArgColumn::collective_name, CellValue::Text(name)) => {
                    split.names_collective = !strings.resolve(name, behind).is_empty();
                }
                _ => {}
            }
        }
        for wide in &self.wide {
            if wide.column == SpanArgColumn::correlation {
                split.correlation = Some(wide.stand_in);
            } else {
                split.external_id = Some(wide.stand_in);
                self.id_order = wide.order;
            }
        }
        split.rest = self.rest_of(args, &mut shape, strings, behind);
        self.give_back(shape, number);
        split
    }

    /// The JSON of the arguments without a column.
    fn rest_of(
        &mut self,
        args: Args<'_>,
        shape: &mut Shape,
        strings: &mut Strings,
        behind: &mut Vec<u8>,
    ) -> Option<Text> {
        if self.rest.is_empty() {
            return None;
        }
        if shape.last_json.is_some() && shape.last_rest == self.raw_rest {
            return shape.last_json;
        }
        let mut json = Vec::new();
        for &index in &self.rest {
            append_json(&mut json, &args.key(index), &args.value(index));
        }
        let json = finish_json(&mut json, strings, behind);
        // A text that lies behind its record is not there for the next one.
        shape.last_json = json.filter(|json| matches!(json, Text::Id(_)));
        std::mem::swap(&mut shape.last_rest, &mut self.raw_rest);
        json
    }

    /// The typed arguments of the last event.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Where the External id of the last event stands among others.
    pub(crate) fn id_order(&self) -> IdOrder {
        self.id_order
    }

    /// Adds what is known from elsewhere, unless the event says it itself.
    pub(crate) fn add_if_missing(&mut self, column: SpanArgColumn, value: Option<i64>) {
        if let Some(value) = value
            && !self.cells.iter().any(|cell| cell.column == column)
        {
            self.cells.push(Cell { column, value: CellValue::Int(value) });
        }
    }

    /// Where the arguments go. The shape is lent, so that the splitter can be changed meanwhile.
    fn take_shape(&mut self, args: Args<'_>, number: Option<u32>) -> (Shape, Option<u32>) {
        if let Some(Some(shape)) = number.and_then(|number| self.shapes.get_mut(number as usize)) {
            return (std::mem::take(shape), number);
        }
        let mut shape = std::mem::take(&mut self.unshaped);
        shape.last_json = None;
        shape.targets.clear();
        shape.targets.extend((0..args.len()).map(|index| self.by_key.get(&*args.key(index)).copied()));
        let is_new = |index: usize| {
            let column = |index: usize| shape.targets[index].map(|target| target.arg.column);
            let same_column = |known: usize| column(known).is_some() && column(known) == column(index);
            !(0..index).any(|known| same_column(known) || args.key(known) == args.key(index))
        };
        // An argument list of hostile length is not worth the look at every pair.
        shape.is_simple = number.is_some() && args.len() <= 256 && (0..args.len()).all(is_new);
        (shape, number)
    }

    fn give_back(&mut self, shape: Shape, number: Option<u32>) {
        let Some(index) = number.map(|number| number as usize) else {
            self.unshaped = shape;
            return;
        };
        if self.shapes.len() <= index {
            self.shapes.resize(index + 1, None);
        }
        self.shapes[index] = Some(shape);
    }

    /// A later entry of a column replaces an earlier one, unless that had the newer name.
    #[inline]
    fn put(&mut self, cell: Cell, rank: usize, is_simple: bool) {
        let known = if is_simple { None } else { self.cells.iter().position(|known| known.column == cell.column) };
        if !is_simple && !self.outranks_wide(cell.column, rank) {
            return;
        }
        match known {
            Some(index) if self.ranks[index] < rank => {}
            Some(index) => {
                self.cells[index] = cell;
                self.ranks[index] = rank;
            }
            None => {
                self.cells.push(cell);
                self.ranks.push(rank);
            }
        }
    }

    /// An argument without a column, or one that does not fit it.
    fn put_rest(&mut self, index: usize, value: &Value<'_>, target: Option<Target>) {
        if let Some(Target { arg, rank }) = target {
            let column = arg.column;
            let links = matches!(column, SpanArgColumn::correlation | SpanArgColumn::external_id);
            let digits = match value {
                Value::Number(digits) if links && value.is_integer() => Some(*digits),
                _ => None,
            };
            if let Some(known) = self.cells.iter().position(|cell| cell.column == column)
                && (self.ranks[known] == rank || (digits.is_some() && self.ranks[known] > rank))
            {
                self.cells.remove(known);
                self.ranks.remove(known);
            }
            // An id beyond 64 signed bits counts like any other; its digits stay in the JSON rest.
            if let Some(digits) = digits
                && !self.cells.iter().any(|cell| cell.column == column)
                && self.outranks_wide(column, rank)
            {
                let stand_in = stand_in(digits, &mut self.wide_ids);
                self.wide.push(WideId { column, rank, stand_in, order: IdOrder::of_digits(digits) });
            }
        }
        self.rest.push(index);
        append_raw(&mut self.raw_rest, index, value);
    }

    /// Whether no wide id of the column has a newer name; one with an older name gives way.
    fn outranks_wide(&mut self, column: SpanArgColumn, rank: usize) -> bool {
        self.wide.retain(|wide| wide.column != column || wide.rank < rank);
        !self.wide.iter().any(|wide| wide.column == column)
    }
}

/// Ids below this are stand-ins.
const STAND_INS_END: i64 = i64::MIN + (1 << 32);

/// An id as links compare it: itself, unless it lies where the stand-ins do.
fn linking_id(id: i64, wide_ids: &mut HashMap<String, i64>) -> i64 {
    if id < STAND_INS_END { stand_in(&id.to_string(), wide_ids) } else { id }
}

/// An id beyond 64 signed bits gets a stand-in at the far end of the range, so that equal ids stay equal and different
/// ones different.
fn stand_in(digits: &str, wide_ids: &mut HashMap<String, i64>) -> i64 {
    let next = i64::MIN + wide_ids.len() as i64;
    *wide_ids.entry_ref(digits).or_insert(next)
}

/// Arguments whose key is not in `known`, as JSON text.
pub(crate) fn rest_json(args: Args<'_>, known: &[&str], strings: &mut Strings, behind: &mut Vec<u8>) -> Option<Text> {
    let mut json = Vec::new();
    for (key, value) in args.iter().filter(|(key, _)| !known.contains(&&**key)) {
        append_json(&mut json, &key, &value);
    }
    finish_json(&mut json, strings, behind)
}

/// Joins the JSON rests of the two ends of a span.
pub(crate) fn join_json(first: &str, second: &str) -> String {
    format!("{},{}", &first[..first.len() - 1], &second[1..])
}

#[inline]
fn cell_value(form: ArgForm, value: &Value<'_>, strings: &mut Strings, behind: &mut Vec<u8>) -> Option<CellValue> {
    Some(match (form, value) {
        (ArgForm::Int, value) => CellValue::Int(value.as_i64()?),
        (ArgForm::Float, value) => CellValue::Float(value.as_f64().filter(|number| number.is_finite())?),
        (ArgForm::Text, Value::Text(text)) => CellValue::Text(strings.text(text, behind)),
        (ArgForm::List, Value::Json(text)) if text.starts_with('[') => CellValue::Text(strings.text(text, behind)),
        (ArgForm::Digits, Value::Number(text)) if value.is_integer() => CellValue::Text(strings.text(text, behind)),
        _ => return None,
    })
}

/// Appends a value so that equal bytes mean equal values.
fn append_raw(raw: &mut Vec<u8>, index: usize, value: &Value<'_>) {
    let (kind, text) = match value {
        Value::Missing | Value::Null => (b'n', ""),
        Value::Bool(false) => (b'f', ""),
        Value::Bool(true) => (b't', ""),
        Value::Number(text) => (b'0', *text),
        Value::Text(text) => (b'"', &**text),
        Value::Json(text) => (b'{', &**text),
    };
    raw.push(kind);
    raw.extend_from_slice(&(index as u32).to_le_bytes());
    raw.extend_from_slice(&(text.len() as u32).to_le_bytes());
    raw.extend_from_slice(text.as_bytes());
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

fn finish_json(json: &mut Vec<u8>, strings: &mut Strings, behind: &mut Vec<u8>) -> Option<Text> {
    if json.is_empty() {
        return None;
    }
    json.push(b'}');
    Some(match std::str::from_utf8(json) {
        Ok(text) => strings.text(text, behind),
        Err(_) => strings.text(&String::from_utf8_lossy(json), behind),
    })
}
