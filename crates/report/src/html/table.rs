//! Tables: looks become bars, swatches and small pictures; what is missing says why; long ones fold.

use std::fmt::Write as _;

use stepscope_model::{Cell, LeftOut, Look, Missing, ReportColumn, ReportTable, Unit};

use super::chart::{meter, percent, sparks, stack};
use super::escape::{escaped, shortened};
use super::words::{class_label, class_of, sentence_case, split_unit};
use crate::kernel_name;
use crate::number::{Format, NULL, grouped, number};
use crate::text::{self, TextOptions};

/// How many rows a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Rows that are seen at once; the others fold.
    pub open: usize,
    /// Rows at most.
    pub most: usize,
}

/// A page is as wide as so many columns of a terminal: what needs more is left out there, too.
const PAGE_COLUMNS: u16 = 110;
/// Columns of sentences.
const PROSE_COLUMNS: [&str; 3] = ["doc", "meaning", "reason"];
/// Names in mono: they come from a trace, or are names of figures.
const NAME_COLUMNS: [&str; 4] = ["name", "figure", "operator", "device"];
/// Bytes of markup of a text in a cell, and of what it says when pointed at.
const LONGEST_TEXT: usize = 160;
const LONGEST_TITLE: usize = 400;
/// Pixels of a column: a letter, the space beside it, a picture, and the least that a name needs.
const LETTER_PX: usize = 7;
const GAP_PX: usize = 16;
const PICTURE_PX: usize = 160;
const NAME_PX: usize = 200;
const WIDEST_TEXT: usize = 26;

/// The whole table with its notes; rows beyond the first fold.
#[must_use]
pub fn table(table: &ReportTable, missing: &[Missing], rows: Rows) -> String {
    let columns: Vec<Column<'_>> = shown(table).map(|place| Column::of(table, place, missing)).collect();
    if columns.is_empty() {
        return String::new();
    }
    let count = table.rows.len().min(rows.most);
    // A fold of one or two rows is no help.
    let open = if count <= rows.open + 2 { count } else { rows.open };
    let painter = Painter { table, columns: &columns };
    let mut markup = painter.part(0..open, true);
    if open < count {
        let more = grouped((count - open) as i128, 0);
        let _ =
            write!(markup, "<details><summary>{more} more</summary>\n{}</details>\n", painter.part(open..count, false));
    }
    let notes = notes(table, count);
    if !notes.is_empty() {
        let _ = writeln!(markup, "<p class=\"note\">{}</p>", notes.join(" · "));
    }
    markup
}

/// The places of the columns that a page shows.
fn shown(table: &ReportTable) -> impl Iterator<Item = usize> {
    let is_shown = |column: &ReportColumn| column.look != Look::Hidden && column.from_width <= PAGE_COLUMNS;
    table.columns.iter().enumerate().filter(move |(_, column)| is_shown(column)).map(|(place, _)| place)
}

fn notes(table: &ReportTable, shown: usize) -> Vec<String> {
    let more = table.rows.len() - shown;
    let all = |left_out: u64| grouped(i128::from(left_out) + table.rows.len() as i128, 0);
    let count = match table.left_out {
        LeftOut::Nothing if table.rows.is_empty() => Some("no rows".to_owned()),
        LeftOut::Nothing if more == 0 => None,
        LeftOut::Nothing => Some(format!("{} of {} shown", grouped(shown as i128, 0), all(0))),
        LeftOut::Rows(left_out) => Some(format!("{} of {} shown", grouped(shown as i128, 0), all(left_out))),
        LeftOut::Uncounted => Some(format!("the first {} rows; there are more", grouped(shown as i128, 0))),
    };
    count.into_iter().chain(table.notes.iter().map(|note| shortened(note, LONGEST_TITLE))).collect()
}

/// How a column takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A name: takes the room that is left, and loses its end.
    Name,
    /// Sentences: broken into lines.
    Prose,
    /// Numbers on the right, and short texts.
    Fixed,
    /// Drawn.
    Picture,
    /// On a line of its own below the row.
    Detail,
}

struct Column<'a> {
    of: &'a ReportColumn,
    place: usize,
    header: String,
    format: Format,
    kind: Kind,
    is_right: bool,
    is_mono: bool,
    /// Pixels; none for what takes the room that is left.
    width: Option<usize>,
    /// The largest value, for bars.
    largest: f64,
    /// Why values are missing.
    reason: &'a str,
}

impl<'a> Column<'a> {
    fn of(table: &'a ReportTable, place: usize, missing: &'a [Missing]) -> Self {
        let column = &table.columns[place];
        let cells: Vec<&Cell> = table.rows.iter().map(|row| row.get(place).unwrap_or(&Cell::Null)).collect();
        let header = text::header_of(column, TextOptions::default());
        let total = table.total.as_ref().and_then(|total| total.get(place));
        let format = text::format_of(column, &header, &cells, total, false);
        let has_numbers = cells.iter().any(|cell| matches!(cell, Cell::Int(_) | Cell::Float(_)));
        let is_text =
            !has_numbers && (cells.iter().any(|cell| !matches!(cell, Cell::Null)) || column.unit == Unit::Plain);
        let is_prose = PROSE_COLUMNS.contains(&column.name.as_str());
        let kind = match column.look {
            Look::Length | Look::Stack | Look::Spark => Kind::Picture,
            Look::Detail => Kind::Detail,
            Look::Operator | Look::Kernel => Kind::Name,
            Look::Value if is_text && is_prose => Kind::Prose,
            Look::Value if is_text && place == 0 => Kind::Name,
            _ => Kind::Fixed,
        };
        let is_right = match column.look {
            Look::Figure | Look::Bar(_) => true,
            Look::Value => !is_text && (place > 0 || column.unit != Unit::Id),
            _ => false,
        };
        let width = match kind {
            Kind::Name | Kind::Prose | Kind::Detail => None,
            Kind::Picture => Some(PICTURE_PX),
            Kind::Fixed => {
                let longest = cells.iter().copied().chain(total).map(|cell| format.show(cell).chars().count());
                let longest = longest.max().unwrap_or(0);
                let longest = if is_text { longest.min(WIDEST_TEXT) } else { longest };
                let arrow = if sorted_arrow(table, column).is_empty() { 0 } else { 2 };
                Some(longest.max(header.chars().count() + arrow) * LETTER_PX + GAP_PX)
            }
        };
        let is_mono = matches!(column.look, Look::Operator | Look::Kernel)
            || (is_text && NAME_COLUMNS.contains(&column.name.as_str()));
        let extent = |cell: &&Cell| match cell {
            Cell::Numbers(numbers) => numbers.iter().filter(|part| part.is_finite()).sum(),
            cell => number(cell).unwrap_or(0.0).abs(),
        };
        let largest = cells.iter().map(extent).fold(0.0, f64::max);
        let path = format!(".{}", column.name);
        let told = missing.iter().find(|missing| missing.path == column.name || missing.path.ends_with(&path));
        let reason = told.map_or("not recorded", |missing| missing.reason.as_str());
        let header = format!("{}{}", escaped(&sentence_case(&header)), sorted_arrow(table, column));
        Self { of: column, place, header, format, kind, is_right, is_mono, width, largest, reason }
    }

    fn class(&self) -> &'static str {
        match (self.kind, self.is_right, self.is_mono) {
            (_, true, _) => " class=\"num\"",
            (Kind::Prose, ..) => " class=\"prose\"",
            (_, _, true) => " class=\"mono\"",
            _ => "",
        }
    }

    /// The markup of one cell.
    fn cell(&self, cell: &Cell, row: &[Cell], table: &ReportTable) -> String {
        match (self.of.look, cell) {
            (_, Cell::Null) => null(self.reason),
            (Look::Kernel, Cell::Text(name)) => named(&kernel_name::short(name), name),
            (Look::Operator, Cell::Text(name)) => named(name, name),
            (Look::Class, Cell::Text(class)) => swatch(class),
            (Look::Spark, Cell::Numbers(values)) => sparks(values),
            (Look::Stack, Cell::Numbers(shares)) => stack(shares, self.largest),
            (Look::Length, cell) => {
                let class = table.columns.iter().position(|column| column.look == Look::Class);
                let class = class.and_then(|place| row.get(place)).and_then(|cell| match cell {
                    Cell::Text(class) => Some(class_of(class)),
                    _ => None,
                });
                meter(number(cell).unwrap_or(0.0) / self.largest, class)
            }
            (Look::Bar(class), cell) => {
                let width = percent(number(cell).unwrap_or(0.0).abs(), self.largest) * 0.7;
                let class = class.map_or("neutral", stepscope_model::Class::as_text);
                let bar = if width > 0.0 {
                    format!("<i class=\"share {class}\" style=\"width:{width:.1}%\"></i>")
                } else {
                    String::new()
                };
                format!("{}{bar}", self.value(cell))
            }
            _ => self.value(cell),
        }
    }

    /// The written value; its unit steps back, and so does a zero.
    fn value(&self, cell: &Cell) -> String {
        let text = self.format.show(cell);
        if text == NULL {
            return null(self.reason);
        }
        if matches!(cell, Cell::Text(_) | Cell::Json(_)) && !self.is_right {
            return if self.kind == Kind::Prose { shortened(&text, LONGEST_TITLE) } else { named(&text, &text) };
        }
        let zero = if number(cell) == Some(0.0) { " class=\"zero\"" } else { "" };
        match split_unit(&text) {
            Some((digits, unit)) => format!("<span{zero}>{}<u>{}</u></span>", escaped(digits), escaped(unit)),
            None => format!("<span{zero}>{}</span>", shortened(&text, LONGEST_TEXT)),
        }
    }
}

/// What is not known, and why.
pub(super) fn null(reason: &str) -> String {
    format!("<span class=\"null\" title=\"{}\">{NULL}</span>", shortened(reason, LONGEST_TITLE))
}

/// A class with its colour.
pub(super) fn swatch(class: &str) -> String {
    let class = class_of(class);
    format!("<i class=\"sw {class}\"></i>{}", class_label(class))
}

/// A name; the whole of it shows when pointed at.
fn named(name: &str, whole: &str) -> String {
    let (shown, title) = (shortened(name, LONGEST_TEXT), shortened(whole, LONGEST_TITLE));
    if shown.len() < 24 && shown == title { shown } else { format!("<span title=\"{title}\">{shown}</span>") }
}

fn sorted_arrow(table: &ReportTable, column: &ReportColumn) -> &'static str {
    match table.sorted_by.as_deref().map(|name| (name.strip_prefix('-'), name)) {
        Some((Some(name), _)) if name == column.name => " ↓",
        Some((None, name)) if name == column.name => " ↑",
        _ => "",
    }
}

struct Painter<'a> {
    table: &'a ReportTable,
    columns: &'a [Column<'a>],
}

impl Painter<'_> {
    fn standing(&self) -> impl Iterator<Item = &Column<'_>> {
        self.columns.iter().filter(|column| column.kind != Kind::Detail)
    }

    /// Some of the rows below the header; sums stand below the first ones.
    fn part(&self, rows: std::ops::Range<usize>, has_total: bool) -> String {
        let fixed: usize = self.standing().filter_map(|column| column.width).sum();
        let free = self.standing().filter(|column| column.width.is_none()).count();
        let mut markup =
            format!("<div class=\"scroll\"><table style=\"min-width:{}px\">\n<colgroup>", fixed + free * NAME_PX);
        for column in self.standing() {
            let width = column.width.map(|width| format!(" style=\"width:{width}px\"")).unwrap_or_default();
            let _ = write!(markup, "<col{width}>");
        }
        // Without a column that takes the room that is left, all would be stretched.
        let has_filler = free == 0;
        markup.push_str(if has_filler { "<col></colgroup>\n<thead><tr>" } else { "</colgroup>\n<thead><tr>" });
        for column in self.standing() {
            let class = if column.is_right { " class=\"num\"" } else { "" };
            let _ = write!(markup, "<th{class}>{}</th>", column.header);
        }
        markup.push_str(if has_filler { "<td></td></tr></thead>\n<tbody>\n" } else { "</tr></thead>\n<tbody>\n" });
        for row in rows {
            self.push_row(&mut markup, row, has_filler);
        }
        markup.push_str("</tbody>");
        if let Some(total) = self.table.total.as_ref().filter(|_| has_total) {
            self.push_total(&mut markup, total);
        }
        markup.push_str("</table></div>\n");
        markup
    }

    fn push_row(&self, markup: &mut String, place: usize, has_filler: bool) {
        let row = &self.table.rows[place];
        let cell = |column: &Column<'_>| row.get(column.place).unwrap_or(&Cell::Null);
        markup.push_str("<tr>");
        for column in self.standing() {
            let _ = write!(markup, "<td{}>{}</td>", column.class(), column.cell(cell(column), row, self.table));
        }
        markup.push_str(if has_filler { "<td></td></tr>\n" } else { "</tr>\n" });
        let span = self.standing().count() + usize::from(has_filler);
        for detail in self.columns.iter().filter(|column| column.kind == Kind::Detail) {
            let text = detail.format.show(cell(detail));
            if !text.is_empty() && text != NULL {
                let text = shortened(&text, LONGEST_TITLE);
                let _ = writeln!(markup, "<tr class=\"detail\"><td colspan=\"{span}\">{text}</td></tr>");
            }
        }
        if let Some((_, gap)) = self.table.gap.as_ref().filter(|(before, _)| *before == place + 1) {
            let gap = shortened(gap, LONGEST_TITLE);
            let _ = writeln!(markup, "<tr class=\"detail\"><td colspan=\"{span}\">{gap}</td></tr>");
        }
    }

    fn push_total(&self, markup: &mut String, total: &[Cell]) {
        markup.push_str("\n<tfoot><tr>");
        for column in self.standing() {
            let is_drawn = matches!(column.kind, Kind::Picture);
            let text = match total.get(column.place) {
                Some(Cell::Text(text)) => shortened(text, LONGEST_TEXT),
                Some(cell) if !is_drawn && *cell != Cell::Null => column.value(cell),
                _ => String::new(),
            };
            let class = if column.is_right { " class=\"num\"" } else { "" };
            let _ = write!(markup, "<td{class}>{text}</td>");
        }
        markup.push_str("</tr></tfoot>");
    }
}
