//! A column on its way to the screen: header, written values, and the picture beside them.

use std::borrow::Cow;
use std::collections::HashMap;

use stepscope_model::{Cell, Class, Look, ReportColumn, ReportTable, Severity, Unit};
use unicode_width::UnicodeWidthStr;

use super::TextOptions;
use super::line::{Line, Style};
use super::name::{Cut, shorten};
use super::picture::{self, Picture};
use crate::number::{NULL, NumberStyle, number};
use crate::{kernel_label, safe_text};

/// Columns of sentences: broken into lines instead of shortened.
const PROSE_COLUMNS: [&str; 3] = ["doc", "meaning", "reason"];
/// Cells before a class or a severity.
const CLASS_LEAD: usize = 2;
const SEVERITY_LEAD: usize = 3;
/// A text among numbers is cut to this, as nobody can narrow its column.
const LONGEST_AMONG_NUMBERS: usize = 40;
/// Rows below a title step in.
const TITLE_INDENT: usize = 2;

/// What a column does when room is scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Is shortened.
    Name(Cut),
    /// Is broken into lines.
    Prose,
    /// Is never cut.
    Fixed,
    /// Is drawn as large as there is room, or not at all.
    Picture,
    /// A text on a line of its own below the row.
    Detail,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// Which column of the table.
    pub(super) place: usize,
    /// Name in JSON, for the line that says what did not fit.
    pub(super) name: String,
    pub(super) header: String,
    pub(super) short_header: Option<String>,
    pub(super) header_style: Style,
    /// Whether rows are sorted by it.
    pub(super) is_sorted: bool,
    /// Whether the header may reach over the next column, which has none.
    pub(super) header_spans: bool,
    pub(super) kind: Kind,
    pub(super) is_right: bool,
    /// What stands before each value: a glyph, an indent.
    pub(super) leads: Vec<Line>,
    pub(super) lead_width: usize,
    pub(super) cells: Vec<Line>,
    pub(super) total: Option<Line>,
    pub(super) picture: Option<Picture>,
    /// The widest value.
    pub(super) content_width: usize,
    /// Cells that a bar beside a number gets; worked out when the table is fitted.
    pub(super) bar_width: usize,
    /// Cells for values and bar; worked out when the table is fitted.
    pub(super) width: usize,
}

impl Shown {
    fn empty(rows: usize) -> Self {
        Self {
            place: usize::MAX,
            name: String::new(),
            header: String::new(),
            short_header: None,
            header_style: Style::Plain,
            is_sorted: false,
            header_spans: false,
            kind: Kind::Fixed,
            is_right: false,
            leads: Vec::new(),
            lead_width: 0,
            cells: vec![Line::default(); rows],
            total: None,
            picture: None,
            content_width: 0,
            bar_width: 0,
            width: 0,
        }
    }

    /// Where a total begins: below the rows, not below what stands before them.
    pub(super) fn indent(&self) -> usize {
        if self.header_style == Style::Bold { self.lead_width.min(TITLE_INDENT) } else { 0 }
    }

    /// Puts something before each value.
    fn lead_with(&mut self, leads: &[Line], width: usize) {
        let rows = self.cells.len();
        let old = std::mem::replace(&mut self.leads, vec![Line::default(); rows]);
        for (row, lead) in self.leads.iter_mut().enumerate() {
            lead.append(leads.get(row).unwrap_or(&Line::default()));
            lead.pad_to(width);
            lead.append(old.get(row).unwrap_or(&Line::default()));
        }
        self.lead_width += width;
    }
}

/// Whether a column is for people and more than a picture of other columns.
pub(super) fn is_number(column: &ReportColumn) -> bool {
    !matches!(column.look, Look::Hidden | Look::Length | Look::Spark | Look::Stack | Look::Severity | Look::Detail)
}

/// The columns that this screen shows, the title in its place.
pub(super) fn columns(table: &ReportTable, options: TextOptions) -> Vec<Shown> {
    let is_shown = |column: &ReportColumn| match column.look {
        Look::Hidden => false,
        Look::Length | Look::Spark | Look::Stack if !options.pictures => false,
        _ => usize::from(column.from_width) <= options.width,
    };
    let mut columns: Vec<Shown> = Vec::new();
    let mut severities: Option<Vec<Line>> = None;
    for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| is_shown(column)) {
        let mut shown = shown(table, index, column, options);
        if column.look == Look::Severity && !options.raw {
            severities = Some(shown.cells);
            continue;
        }
        if let Some(severities) = severities.take() {
            shown.lead_with(&severities, SEVERITY_LEAD);
        }
        columns.push(shown);
    }
    if let Some(title) = &table.title
        && !columns.is_empty()
    {
        place_title(&mut columns, &options.spell(&safe_text::one_line(title)), table.rows.len());
    }
    columns
}

/// The title stands in the header of the first column if that is on the left, else in a column of its own.
fn place_title(columns: &mut Vec<Shown>, title: &str, rows: usize) {
    if columns.first().is_none_or(|first| first.is_right || matches!(first.kind, Kind::Picture | Kind::Detail)) {
        columns.insert(0, Shown::empty(rows));
    } else if let Some(first) = columns.first_mut() {
        first.lead_with(&[], TITLE_INDENT);
    }
    let spans = columns.get(1).is_some_and(|next| next.header.is_empty() && next.kind != Kind::Detail);
    if let Some(first) = columns.first_mut() {
        first.header_spans = spans;
        title.clone_into(&mut first.header);
        first.short_header = None;
        first.header_style = Style::Bold;
    }
}

fn shown(table: &ReportTable, index: usize, column: &ReportColumn, options: TextOptions) -> Shown {
    let look = if options.raw { Look::Value } else { column.look };
    let values: Vec<&Cell> = table.rows.iter().map(|row| row.get(index).unwrap_or(&Cell::Null)).collect();
    let header = header_of(column, options);
    let total = table.total.as_ref().and_then(|total| total.get(index));
    let format = format_of(column, &header, &values, total, options.raw);
    let mut shown = Shown {
        place: index,
        name: safe_text::one_line(&column.name).into_owned(),
        header: with_arrow(header, table.sorted_by.as_deref(), column, options),
        short_header: column.short_label.as_deref().map(|label| {
            with_arrow(options.spell(&safe_text::one_line(label)), table.sorted_by.as_deref(), column, options)
        }),
        is_sorted: table.sorted_by.as_deref().is_some_and(|name| name.trim_start_matches('-') == column.name),
        ..Shown::empty(0)
    };
    let has_numbers = values.iter().any(|cell| matches!(cell, Cell::Int(_) | Cell::Float(_)));
    let is_text = !has_numbers && (values.iter().any(|cell| !matches!(cell, Cell::Null)) || column.unit == Unit::Plain);
    let is_prose = PROSE_COLUMNS.contains(&column.name.as_str()) && index + 1 == table.columns.len();
    let kernels = if look == Look::Kernel { kernel_label::of_cells(values.iter().copied()) } else { HashMap::new() };
    (shown.kind, shown.is_right) = match look {
        Look::Value if !is_text => (Kind::Fixed, index > 0 || column.unit != Unit::Id || options.raw),
        Look::Value if is_prose => (Kind::Prose, false),
        Look::Value | Look::Operator => (Kind::Name(Cut::Middle), false),
        Look::Kernel => (Kind::Name(kernel_cut(&kernels)), false),
        Look::Figure | Look::Bar(_) => (Kind::Fixed, true),
        Look::Length | Look::Stack => (Kind::Picture, false),
        Look::Detail => (Kind::Detail, false),
        Look::Class | Look::Spark | Look::Severity | Look::Hidden => (Kind::Fixed, false),
    };
    let is_fixed = shown.kind == Kind::Fixed;
    let write = |cell: &Cell| {
        let text = options.spell(&format.show(cell));
        let is_number = matches!(cell, Cell::Int(_) | Cell::Float(_));
        let is_free = !is_fixed || is_number;
        if is_free { text } else { shorten(&text, LONGEST_AMONG_NUMBERS, Cut::Middle, options.ascii) }
    };
    shown.cells = match look {
        Look::Length | Look::Stack => vec![Line::default(); values.len()],
        Look::Spark => values.iter().map(|cell| Line::plain(spark_of(cell, options))).collect(),
        Look::Severity => values.iter().map(|cell| severity_mark(cell)).collect(),
        Look::Kernel => values.iter().map(|cell| name_line(&write(&kernel_of(cell, &kernels)), options)).collect(),
        _ if shown.kind == Kind::Fixed && shown.is_right => {
            let severe = severe_rows(table);
            let lines = values.iter().enumerate().map(|(row, cell)| {
                let line = number_line(&write(cell), cell, options);
                if severe.contains(&row) { line.restyled(Style::High) } else { line }
            });
            lines.collect()
        }
        _ => values.iter().map(|cell| name_line(&write(cell), options)).collect(),
    };
    shown.content_width = shown.cells.iter().map(Line::width).max().unwrap_or(0);
    let has_total = !matches!(look, Look::Length | Look::Stack | Look::Spark | Look::Severity | Look::Detail);
    shown.total = table.total.as_ref().map(|_| match total {
        Some(cell) if has_total && shown.is_right => number_line(&write(cell), cell, options),
        Some(cell) if has_total => name_line(&write(cell), options),
        _ => Line::default(),
    });
    if options.pictures {
        shown.picture = picture_of(look, &values, table);
    }
    if look == Look::Class {
        let glyphs: Vec<Line> = values.iter().map(|cell| class_mark(cell, options)).collect();
        shown.lead_with(&glyphs, CLASS_LEAD);
    }
    shown
}

/// How the numbers of a column and their sum are written.
pub(crate) fn format_of(
    column: &ReportColumn,
    header: &str,
    values: &[&Cell],
    total: Option<&Cell>,
    raw: bool,
) -> NumberStyle {
    let is_figure = column.look == Look::Figure;
    let sum = total.and_then(|total| sum_for_unit(values, total));
    let values = &values.iter().copied().chain(&sum).collect::<Vec<_>>()[..];
    match NumberStyle::of_header(column.unit, header, is_figure) {
        _ if raw => NumberStyle::Raw,
        Some(format) => format,
        None if is_figure => NumberStyle::of_figures(column.unit, values),
        None => NumberStyle::of(column.unit, values),
    }
}

/// A sum takes part in choosing the unit, but only so far that the rows keep their digits.
fn sum_for_unit(values: &[&Cell], total: &Cell) -> Option<Cell> {
    let largest = 10.0 * values.iter().filter_map(|cell| number(cell)).map(f64::abs).fold(0.0, f64::max);
    match total {
        Cell::Int(sum) => Some(Cell::Int((*sum).clamp(-largest as i64, largest as i64))),
        Cell::Float(sum) if sum.is_finite() => Some(Cell::Float(sum.clamp(-largest, largest))),
        _ => None,
    }
}

fn picture_of(look: Look, values: &[&Cell], table: &ReportTable) -> Option<Picture> {
    let length = |cell: &Cell| number(cell).unwrap_or(0.0);
    match look {
        Look::Bar(class) => {
            let style = class.map_or(Style::Plain, Style::Class);
            Some(Picture::Bar(values.iter().map(|cell| (length(cell), style)).collect()))
        }
        Look::Length => {
            let place = table.columns.iter().position(|column| column.look == Look::Class);
            let class = |row: usize| place.and_then(|place| class_of(table.rows[row].get(place)?));
            let style = |row: usize| class(row).map_or(Style::Plain, Style::Class);
            let bars = values.iter().enumerate().map(|(row, cell)| (length(cell), style(row)));
            Some(Picture::Bar(bars.collect()))
        }
        Look::Stack => Some(Picture::Stack(values.iter().map(|cell| numbers_of(cell).to_vec()).collect())),
        _ => None,
    }
}

fn numbers_of(cell: &Cell) -> &[f64] {
    if let Cell::Numbers(numbers) = cell { numbers } else { &[] }
}

fn spark_of(cell: &Cell, options: TextOptions) -> String {
    match cell {
        Cell::Null => options.spell(NULL),
        cell => picture::spark(numbers_of(cell), picture::LONGEST_SPARK, options.ascii),
    }
}

fn class_of(cell: &Cell) -> Option<Class> {
    if let Cell::Text(text) = cell { Class::of_text(text) } else { None }
}

fn class_mark(cell: &Cell, options: TextOptions) -> Line {
    let mark = |class| Line::new(picture::glyph(class, options).to_string(), Style::Class(class));
    class_of(cell).map_or_else(Line::default, mark)
}

fn severity_of(cell: &Cell) -> Option<Severity> {
    if let Cell::Text(text) = cell { Severity::of_text(text) } else { None }
}

fn severity_mark(cell: &Cell) -> Line {
    match severity_of(cell) {
        Some(Severity::High) => Line::new("!!", Style::High),
        Some(Severity::Medium) => Line::new("!", Style::Medium),
        Some(Severity::Low) | None => Line::default(),
    }
}

/// Rows whose numbers deserve a look first.
fn severe_rows(table: &ReportTable) -> Vec<usize> {
    let Some(place) = table.columns.iter().position(|column| column.look == Look::Severity) else { return Vec::new() };
    let is_severe = |row: &[Cell]| row.get(place).and_then(severity_of) == Some(Severity::High);
    (0..table.rows.len()).filter(|row| is_severe(&table.rows[*row])).collect()
}

/// What tells kernels of one short name apart stands at the end, and must not be cut.
fn kernel_cut(kernels: &HashMap<&str, String>) -> Cut {
    if kernels.values().any(|label| label.ends_with(']')) { Cut::Middle } else { Cut::End }
}

fn kernel_of<'a>(cell: &'a Cell, kernels: &HashMap<&str, String>) -> Cow<'a, Cell> {
    match cell {
        Cell::Text(name) => {
            kernels.get(name.as_str()).map_or(Cow::Borrowed(cell), |label| Cow::Owned(Cell::Text(label.clone())))
        }
        other => Cow::Borrowed(other),
    }
}

fn name_line(text: &str, options: TextOptions) -> Line {
    Line::new(text, if text == options.spell(NULL) { Style::Secondary } else { Style::Plain })
}

/// Units, zeros and gaps step back.
fn number_line(text: &str, cell: &Cell, options: TextOptions) -> Line {
    if number(cell) == Some(0.0) || text == options.spell(NULL) {
        return Line::new(text, Style::Secondary);
    }
    let is_unit = |unit: &str| !unit.is_empty() && !unit.contains(|letter: char| letter.is_ascii_digit());
    match text.rsplit_once(' ') {
        Some((value, unit)) if is_unit(unit) => {
            let mut line = Line::plain(value);
            line.push(" ", Style::Plain);
            line.push(unit, Style::Secondary);
            line
        }
        _ => Line::plain(text),
    }
}

/// The label, else the name without its unit. A picture has none unless it was given one.
pub(crate) fn header_of(column: &ReportColumn, options: TextOptions) -> String {
    match (&column.label, column.look) {
        _ if options.raw => header(&column.name, column.unit, options),
        (Some(label), _) => options.spell(&safe_text::one_line(label)),
        (None, Look::Length | Look::Spark | Look::Stack | Look::Severity | Look::Detail) => String::new(),
        (None, _) => header(&column.name, column.unit, options),
    }
}

pub(crate) fn header(name: &str, unit: Unit, options: TextOptions) -> String {
    let name = safe_text::one_line(name);
    if options.raw {
        return name.into_owned();
    }
    name.strip_suffix(unit.suffix()).unwrap_or(&name).replace('_', " ")
}

fn with_arrow(header: String, sorted_by: Option<&str>, column: &ReportColumn, options: TextOptions) -> String {
    let Some(sorted_by) = sorted_by.filter(|_| !options.raw && header.width() > 0) else { return header };
    match sorted_by.strip_prefix('-') {
        Some(name) if name == column.name => options.spell(&format!("{header} ↓")),
        None if sorted_by == column.name => options.spell(&format!("{header} ↑")),
        _ => header,
    }
}
