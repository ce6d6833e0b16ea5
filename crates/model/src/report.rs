//! What an analysis says, before anybody decides how it looks.
//!
//! Everything that Stepscope shows is a `Report` made of generic parts, so that a new analysis changes no line of the
//! terminal, the server, Python or the browser.

use serde::{Serialize, Serializer};

use crate::class::Class;
use crate::health::Grade;
use crate::say::{Sentence, Target};
use crate::unit::Unit;

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Report {
    /// Name of the command, for the `schema` member of JSON: `stepscope.<name>/1`.
    pub name: String,
    /// The parts, in reading order.
    pub parts: Vec<Part>,
    /// Values that are missing, and why.
    pub missing: Vec<Missing>,
    /// Members of the JSON document that are for programs only.
    #[serde(skip)]
    pub data: Vec<(&'static str, Cell)>,
}

impl Report {
    /// A report whose values are all there.
    #[must_use]
    pub fn new(name: &str, parts: Vec<Part>) -> Self {
        Self { name: name.to_owned(), parts, ..Self::default() }
    }

    /// Its texts, in reading order.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
    }

    /// Puts each question that it names into the words of whoever shows it.
    pub fn spell(&mut self, spelling: &dyn Fn(&Target) -> String) {
        for sentence in self.sentences() {
            sentence.spell(spelling);
        }
    }

    /// All that it says in words of ours.
    pub fn sentences(&mut self) -> Vec<&mut Sentence> {
        let of_parts = self.parts.iter_mut().flat_map(|part| match part {
            Part::Text(text) => text.lines.iter_mut().collect(),
            Part::Table(table) => {
                let cells = table.rows.iter_mut().chain(&mut table.total).flatten().flat_map(Cell::sentences);
                cells.chain(&mut table.notes).collect()
            }
            Part::Metric(metric) => metric.reason.iter_mut().collect(),
            Part::Series(_) => Vec::new(),
        });
        let of_data = self.data.iter_mut().flat_map(|(_, cell)| cell.sentences());
        let reasons = self.missing.iter_mut().map(|missing| &mut missing.reason);
        of_parts.chain(of_data).chain(reasons).collect()
    }
}

/// A value that is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Missing {
    /// Where it would be in JSON, such as `rows[0].peak_bytes` or `memory_peak_bytes`.
    pub path: String,
    /// What people call it.
    pub label: String,
    /// Why it is missing: one of the fixed reasons, or one with a figure.
    pub reason: Sentence,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
    /// Some lines.
    Text(Text),
    /// One figure.
    Metric(Metric),
    /// Rows and columns.
    Table(ReportTable),
    /// A curve.
    Series(Series),
}

/// Lines for people, made of pieces.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Text {
    /// What it is for; texts with a label that follow one another stand below each other.
    pub role: Role,
    /// The lines.
    pub lines: Vec<Sentence>,
    /// The grade that the first line gives the reason for; stands before it.
    pub explains: Option<Grade>,
    /// What stands at the right end of the first line.
    pub right: Option<Status>,
    /// How much it weighs.
    pub tone: Tone,
    /// Whether it is code or a command: never broken into lines, so that it can be copied.
    pub is_code: bool,
}

impl Text {
    /// The sentence that says it all.
    #[must_use]
    pub fn headline(sentence: impl Into<Sentence>) -> Self {
        Self { role: Role::Headline, lines: vec![sentence.into()], tone: Tone::Strong, ..Self::default() }
    }

    /// Lines with a word before them.
    #[must_use]
    pub fn labeled(role: Role, lines: Vec<Sentence>) -> Self {
        Self { role, lines, tone: Tone::Secondary, ..Self::default() }
    }

    /// Code or commands with a word before them.
    #[must_use]
    pub fn code(role: Role, lines: Vec<Sentence>) -> Self {
        Self { is_code: true, tone: Tone::Plain, ..Self::labeled(role, lines) }
    }
}

impl<T: Into<Sentence>> From<T> for Text {
    fn from(sentence: T) -> Self {
        Self { lines: vec![sentence.into()], ..Self::default() }
    }
}

/// What a text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To be read where it stands.
    #[default]
    Plain,
    /// The sentence that says it all.
    Headline,
    /// The name of the run, and facts about it below.
    Head,
    /// The title of a finding.
    Finding,
    /// How busy devices are.
    Utilization,
    /// What steps compute.
    Compute,
    /// How far the trace can be trusted.
    Health,
    /// What ranks have in common.
    Ranks,
    /// Which steps are not there.
    Steps,
    /// Why a value is missing.
    Null,
    /// The rule behind a finding.
    Rule,
    /// What that rule sees.
    What,
    /// Why that costs time.
    Why,
    /// What was measured.
    Evidence,
    /// What the change saves.
    Saving,
    /// What to change.
    Fix,
    /// When a finding is a false alarm.
    NotThis,
    /// What shows more of a finding.
    Show,
    /// What to ask next.
    Next,
}

impl Role {
    /// The word before the text.
    #[must_use]
    pub fn label(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain | Self::Headline | Self::Head | Self::Finding => return None,
            Self::Utilization => "utilization",
            Self::Compute => "compute",
            Self::Health => "health",
            Self::Ranks => "ranks",
            Self::Steps => "steps",
            Self::Null => "null",
            Self::Rule => "rule",
            Self::What => "what",
            Self::Why => "why",
            Self::Evidence => "evidence",
            Self::Saving => "saving",
            Self::Fix => "fix",
            Self::NotThis => "false alarm",
            Self::Show => "show",
            Self::Next => "next",
        })
    }
}

/// What stands at the right end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The health of one recording; null where it is not known.
    Health(Option<Grade>),
    /// In how many of several recordings the health is good.
    Good {
        /// Those.
        good: usize,
        /// All.
        all: usize,
    },
    /// Time of a step that is at stake, in nanoseconds.
    AtStake(f64),
    /// What a change saves per step, in nanoseconds.
    Saving(f64),
}

/// How much a text weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// As everything.
    #[default]
    Plain,
    /// Read first.
    Strong,
    /// Read last.
    Secondary,
}

/// One figure with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Metric {
    /// Name in JSON, with its unit.
    pub name: String,
    /// Value.
    #[cfg_attr(test, ts(type = "Cell"))]
    pub value: Cell,
    /// Unit to show.
    pub unit: Unit,
    /// Why the value is missing.
    pub reason: Option<Sentence>,
    /// Whether only programs get it, because a text says it to people.
    pub is_for_programs: bool,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Table"))]
pub struct ReportTable {
    /// Name in JSON; the main table of a command is `rows`.
    pub name: String,
    /// Heading for people, in place of the first column's; the name in capitals when missing.
    pub title: Option<String>,
    /// Columns.
    #[cfg_attr(test, ts(as = "Vec<WrittenColumn<'static>>"))]
    pub columns: Vec<ReportColumn>,
    /// Rows; each as long as `columns`.
    #[cfg_attr(test, ts(type = "Array<Array<Cell>>"))]
    pub rows: Vec<Vec<Cell>>,
    /// Sums, shown below a rule; as long as `columns`. Where there is nothing to sum a text may stand, or an empty one.
    #[cfg_attr(test, ts(type = "Array<Cell> | null"))]
    pub total: Option<Vec<Cell>>,
    /// The column that the rows are sorted by, for the arrow in its header; a leading `-` says from the largest.
    pub sorted_by: Option<String>,
    /// Names that `--sort` takes besides those of columns, and the columns behind them, separated by commas.
    #[serde(skip)]
    pub sort_keys: &'static [(&'static str, &'static str)],
    /// Rows that a limit left out.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub left_out: LeftOut,
    /// What rows are, such as `ranks`, if both ends of the order matter: the usual limit then leaves out the middle.
    #[serde(skip)]
    pub two_ended: Option<&'static str>,
    /// A line for the rows that were left out, and the number of rows before it.
    #[serde(skip)]
    pub gap: Option<(usize, String)>,
    /// What the line below the table says, in pieces.
    pub notes: Vec<Sentence>,
    /// Whether it may stand beside the table before it when the screen has room.
    pub is_beside: bool,
}

impl ReportTable {
    /// The main table of a command.
    #[must_use]
    pub fn rows(columns: Vec<ReportColumn>, rows: Vec<Vec<Cell>>) -> Self {
        Self::named("rows", columns, rows)
    }

    /// A table with a name in JSON.
    #[must_use]
    pub fn named(name: &str, columns: Vec<ReportColumn>, rows: Vec<Vec<Cell>>) -> Self {
        Self { name: name.to_owned(), columns, rows, ..Self::default() }
    }
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

impl Serialize for LeftOut {
    /// How many, or null for some.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_u64(0),
            Self::Rows(rows) => serializer.serialize_u64(*rows),
            Self::Uncounted => serializer.serialize_none(),
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportColumn {
    /// Name in JSON and CSV, with its unit.
    pub name: String,
    /// Header for people; follows from the name when missing.
    pub label: Option<String>,
    /// Header where the screen has no room for the other one.
    pub short_label: Option<String>,
    /// Unit of its values.
    pub unit: Unit,
    /// What its values look like on a screen.
    pub look: Look,
    /// Screens narrower than this do not show it; programs always get it.
    pub from_width: u16,
    /// What its values are, whether there are any or not; none where the values alone tell.
    pub holds: Option<Holds>,
    /// Why a value of it is missing, unless the report says otherwise.
    pub null_reason: Option<String>,
}

impl ReportColumn {
    /// A column whose unit and values follow from its name: `_ns`, `_bytes` (also `bytes_in` and the like), `_ratio`,
    /// an id (`_id`, `rank`, `window`, `step`, `pid`, `tid`…); otherwise plain.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            label: None,
            short_label: None,
            unit: Unit::of_name(name),
            look: Look::Value,
            from_width: 0,
            holds: Holds::of_name(name),
            null_reason: None,
        }
    }

    /// With values that its name does not tell.
    #[must_use]
    pub fn holds(self, holds: Holds) -> Self {
        Self { holds: Some(holds), ..self }
    }

    /// With the reason for every value that is missing.
    #[must_use]
    pub fn null(self, reason: impl Into<String>) -> Self {
        Self { null_reason: Some(reason.into()), ..self }
    }

    /// With a header of its own. One that begins with a unit (`ms per step`) takes it from the values.
    #[must_use]
    pub fn label(self, label: &str) -> Self {
        Self { label: Some(label.to_owned()), ..self }
    }

    /// With a shorter header for narrow screens.
    #[must_use]
    pub fn short_label(self, label: &str) -> Self {
        Self { short_label: Some(label.to_owned()), ..self }
    }

    /// With a unit that its name does not carry.
    #[must_use]
    pub fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// With a look of its own.
    #[must_use]
    pub fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// What people call it: the label, else the name without its unit.
    #[must_use]
    pub fn header(&self) -> String {
        let plain = || self.name.strip_suffix(self.unit.suffix()).unwrap_or(&self.name).replace('_', " ");
        self.label.clone().unwrap_or_else(plain)
    }

    /// Shown on screens of at least so many columns.
    #[must_use]
    pub fn from_width(self, from_width: u16) -> Self {
        Self { from_width, ..self }
    }
}

/// What the values of a column are in formats that carry types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// True or false.
    Flags,
    /// Integers.
    Integers,
    /// Numbers that need not be whole.
    Numbers,
    /// Lists of numbers.
    Lists,
    /// Texts.
    Texts,
}

impl Holds {
    /// What the name of a column tells: names are texts, means, shares and rates are numbers, other amounts and ids are
    /// integers, and what begins with `is_`, `has_` or `uses_` is true or false.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        if name.starts_with("mean_") || name.ends_with("_mean") || name.contains("_per_call_") {
            return Some(Self::Numbers);
        }
        if name == "name" || name.ends_with("_name") {
            return Some(Self::Texts);
        }
        if ["is_", "has_", "uses_"].iter().any(|start| name.starts_with(start)) {
            return Some(Self::Flags);
        }
        match Unit::of_name(name) {
            Unit::Ratio | Unit::GigabytesPerSecond | Unit::FlopsPerSecond => Some(Self::Numbers),
            Unit::Nanoseconds | Unit::Bytes | Unit::MovedBytes | Unit::Flops | Unit::Id => Some(Self::Integers),
            Unit::Plain => None,
        }
    }
}

/// A column as it is written: the look and the class of its color stand beside each other.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Column"))]
struct WrittenColumn<'a> {
    /// Name in JSON and CSV, with its unit.
    name: &'a str,
    /// Header for people; follows from the name when missing.
    label: Option<&'a str>,
    /// Unit of its values.
    unit: Unit,
    /// What its values look like on a screen.
    #[cfg_attr(test, ts(type = "Look"))]
    look: &'static str,
    /// The class whose color a bar has; neutral when missing.
    class: Option<Class>,
    /// Screens narrower than this do not show it, in columns of a terminal.
    from_width: u16,
}

impl Serialize for ReportColumn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, label, unit, look, from_width, .. } = self;
        let class = if let Look::Bar(class) = look { *class } else { None };
        let (unit, from_width, look) = (*unit, *from_width, look.as_text());
        WrittenColumn { name, label: label.as_deref(), unit, look, class, from_width }.serialize(serializer)
    }
}

/// What the values of a column look like on a screen. In JSON and tables for programs it makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// By its unit.
    #[default]
    Value,
    /// A figure for itself: at most four digits that count. A text such as `32 of 84` stands right, as numbers do.
    Figure,
    /// A name whose ends tell it apart: loses its middle.
    Operator,
    /// The name of a kernel: loses return type, namespaces and arguments.
    Kernel,
    /// A number with a short bar before it, scaled to the largest of the column, in the color of a class or neutral.
    Bar(Option<Class>),
    /// A number that is only drawn, as long as there is room, in the color of the row's class.
    Length,
    /// One of the classes of time, with its color.
    Class,
    /// A list of numbers: one block each.
    Spark,
    /// A list of eight numbers, one a class: a bar of them on a scale that all rows share.
    Stack,
    /// How bad: `high`, `medium` or `low`.
    Severity,
    /// A text on a line of its own below the row.
    Detail,
    /// For programs only.
    Hidden,
}

impl Look {
    /// The word in JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Figure => "figure",
            Self::Operator => "operator",
            Self::Kernel => "kernel",
            Self::Bar(_) => "bar",
            Self::Length => "length",
            Self::Class => "class",
            Self::Spark => "spark",
            Self::Stack => "stack",
            Self::Severity => "severity",
            Self::Detail => "detail",
            Self::Hidden => "hidden",
        }
    }
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Series {
    /// Name in JSON, with its unit.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Points as (time in nanoseconds, value).
    pub points: Vec<(i64, f64)>,
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
    /// Several numbers, for a small picture.
    Numbers(Vec<f64>),
    /// Words of ours with figures between.
    Sentence(Sentence),
    /// Several of them.
    Sentences(Vec<Sentence>),
    /// A value with parts of its own, for example reason → count. Text shows it as compact JSON.
    Json(serde_json::Value),
}

impl Cell {
    fn sentences(&mut self) -> &mut [Sentence] {
        match self {
            Self::Sentence(sentence) => std::slice::from_mut(sentence),
            Self::Sentences(sentences) => sentences,
            _ => &mut [],
        }
    }
}

/// The largest integer up to which a JavaScript number holds every one.
const LARGEST_EXACT: u64 = 1 << 53;

impl Serialize for Cell {
    /// The plain value. An integer that a JavaScript number cannot hold is written as text, digit by digit.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) if value.unsigned_abs() > LARGEST_EXACT => serializer.collect_str(value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Numbers(numbers) => numbers.serialize(serializer),
            Self::Sentence(sentence) => serializer.collect_map([("sentence", sentence)]),
            Self::Sentences(sentences) => serializer.collect_map([("sentences", sentences)]),
            Self::Json(value) => value.serialize(serializer),
        }
    }
}
