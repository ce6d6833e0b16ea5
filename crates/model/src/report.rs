//! What an analysis says, before anybody decides how it looks.
//!
//! Everything that Stepscope shows is a `Report` made of generic parts, so that a new analysis changes no line of the
//! terminal, the server, Python or the browser.

/// One answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Name of the command, for the `schema` member of JSON: `stepscope.<name>/1`.
    pub name: String,
    /// The parts, in reading order.
    pub parts: Vec<Part>,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A sentence.
    Text(String),
    /// One figure.
    Metric(Metric),
    /// Rows and columns.
    Table(Table),
    /// A curve.
    Series(Series),
}

/// One figure with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name in JSON, with its unit.
    pub name: String,
    /// Value.
    pub value: Cell,
    /// Unit to show.
    pub unit: Unit,
    /// Why the value is missing.
    pub reason: Option<String>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name in JSON; the main table of a command is `rows`.
    pub name: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows; each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that a limit left out.
    pub left_out: LeftOut,
}

/// Rows that a limit left out of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeftOut {
    /// None.
    #[default]
    Nothing,
    /// So many.
    Rows(u64),
    /// Some; counting them would have meant to work them all out.
    Uncounted,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in JSON and CSV, with its unit.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
}

impl Column {
    /// A column whose unit follows from its name: `_ns`, `_bytes` (also `bytes_in` and the like), `_ratio`, an id
    /// (`_id`, `rank`, `window`, `step`, `pid`, `tid`…); otherwise plain.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), unit: Unit::of_name(name) }
    }
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in JSON, with its unit.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Points as (time in nanoseconds, value).
    pub points: Vec<(i64, f64)>,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Time or duration in nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A share from 0 to 1.
    Ratio,
    /// Nothing: the digits are a name, so they are never grouped, rounded or summed.
    Id,
}

/// Names of sizes that do not end in their unit.
const BYTES_NAMES: [&str; 4] = ["bytes", "bytes_in", "bytes_plain", "bytes_out"];

/// Columns that hold the number of something, not how many.
static ID_NAMES: [&str; 11] =
    ["rank", "window", "step", "id", "pid", "tid", "device", "stream", "bucket", "position", "line"];

impl Unit {
    /// The unit that a name in JSON or SQL carries.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        if name.ends_with("_ns") {
            Self::Nanoseconds
        } else if name.ends_with("_bytes") || BYTES_NAMES.contains(&name) {
            Self::Bytes
        } else if name.ends_with("_ratio") {
            Self::Ratio
        } else if name.ends_with("_id") || ID_NAMES.contains(&name) {
            Self::Id
        } else {
            Self::Plain
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not known.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text from the trace or from us; never markup.
    Text(String),
    /// A value with parts of its own, for example reason → count. Text shows it as compact JSON.
    Json(serde_json::Value),
}
