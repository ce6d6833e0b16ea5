//! Tables: looks become bars, swatches and small pictures; what is missing says why; long ones fold.

use std::collections::HashMap;
use std::fmt::Write as _;

use stepscope_model::{Cell, LeftOut, Look, Missing, ReportColumn, ReportTable, Unit};

use super::chart::{meter, percent, sparks, stack};
use super::escape::{escaped, shortened};
use super::words::{class_label, class_of, sentence_case, split_unit};
use crate::number::{NULL, NumberStyle, grouped, number};
use crate::text::{self, TextOptions};
use crate::{kernel_label, sentence};

/// How many rows a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Rows that are seen at once; the others fold.
    pub open: usize,
    /// Rows at most.
    pub most: usize,
}

/// A page is as wide as so many columns of a terminal: what needs more is left out there, too.
const PAGE_COLUMNS: u16 = 120;
/// Columns of sentences.
const PROSE_COLUMNS: [&str; 2] = ["doc", "meaning"];
/// Names in mono: they come from a trace, or are names of figures.
const NAME_COLUMNS: [&str; 3] = ["name", "figure", "operator"];
/// Bytes of markup of a text in a cell, and of what it says when pointed at.
const LONGEST_TEXT: usize = 160;
const LONGEST_TITLE: usize = 400;
/// Pixels of a column: a letter, the space beside it, a picture, the least of a sentence; letters of names and texts.
const LETTER_PX: usize = 8;
const GAP_PX: usize = 18;
const PICTURE_PX: usize = 160;
const PROSE_PX: usize = 200;
const WIDEST_NAME: usize = 24;
const WIDEST_TEXT: usize = 34;

/// The whole table with its notes; rows beyond the first fold.
#[must_use]
pub fn table(table: &ReportTable, missing: &[Missing], rows: Rows) -> String {
    let table = &sentence::table(table);
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
    count.into_iter().chain(table.notes.iter().map(|note| shortened(&sentence::written(note), LONGEST_TITLE))).collect()
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
    format: NumberStyle,
    kind: Kind,
    is_right: bool,
    is_mono: bool,
    /// Pixels that it takes at least.
    width: usize,
    /// The largest value, for bars.
    largest: f64,
    /// Why values are missing.
    reason: String,
    /// What kernels are called, by their full names.
    kernels: HashMap<&'a str, String>,
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
        let is_prose = place > 0 && PROSE_COLUMNS.contains(&column.name.as_str());
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
        let longest = cells.iter().copied().chain(total).map(|cell| format.show(cell).chars().count());
        let longest = longest.max().unwrap_or(0);
        let arrow = if sorted_arrow(table, column).is_empty() { 0 } else { 2 };
        let letters = |most: usize| longest.min(most).max(header.chars().count() + arrow) * LETTER_PX + GAP_PX;
        let width = match kind {
            Kind::Picture => PICTURE_PX,
            Kind::Prose | Kind::Detail => PROSE_PX,
            Kind::Name => letters(WIDEST_NAME),
            Kind::Fixed if is_text => letters(WIDEST_TEXT),
            Kind::Fixed => letters(usize::MAX),
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
        let reason = told.map_or_else(|| "not recorded".to_owned(), |missing| sentence::written(&missing.reason));
        let header = format!("{}{}", escaped(&sentence_case(&header)), sorted_arrow(table, column));
        let kernels = kernel_label::of_cells(cells.iter().copied().filter(|_| column.look == Look::Kernel));
        Self { of: column, place, header, format, kind, is_right, is_mono, width, largest, reason, kernels }
    }

    /// Whether it takes the room that is left.
    fn is_free(&self) -> bool {
        matches!(self.kind, Kind::Name | Kind::Prose)
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
            (_, Cell::Null) => null(&self.reason),
            (Look::Kernel, Cell::Text(name)) => named(self.kernels.get(name.as_str()).unwrap_or(name), name),
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
            return null(&self.reason);
        }
        if matches!(cell, Cell::Text(_) | Cell::Json(_)) && !self.is_right {
            return if self.kind == Kind::Prose { shortened(&text, LONGEST_TITLE) } else { named(&text, &text) };
        }
        let zero = if number(cell) == Some(0.0) && self.of.unit != Unit::Id { " class=\"zero\"" } else { "" };
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

/// A class with its color.
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
        let needed: usize = self.standing().map(|column| column.width).sum();
        // Without a column that takes the room that is left the table is as wide as it needs to be.
        let rule = if self.standing().any(Column::is_free) { "min-width" } else { "width" };
        let mut markup = format!("<div class=\"scroll\"><table style=\"{rule}:{needed}px\">\n<colgroup>");
        for column in self.standing() {
            match column.width {
                _ if column.is_free() => markup.push_str("<col>"),
                width => _ = write!(markup, "<col style=\"width:{width}px\">"),
            }
        }
        markup.push_str("</colgroup>\n<thead><tr>");
        for column in self.standing() {
            let class = if column.is_right { " class=\"num\"" } else { "" };
            let _ = write!(markup, "<th{class}>{}</th>", column.header);
        }
        markup.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.push_row(&mut markup, row);
        }
        markup.push_str("</tbody>");
        if let Some(total) = self.table.total.as_ref().filter(|_| has_total) {
            self.push_total(&mut markup, total);
        }
        markup.push_str("</table></div>\n");
        markup
    }

    fn push_row(&self, markup: &mut String, place: usize) {
        let row = &self.table.rows[place];
        let cell = |column: &Column<'_>| row.get(column.place).unwrap_or(&Cell::Null);
        markup.push_str("<tr>");
        for column in self.standing() {
            let _ = write!(markup, "<td{}>{}</td>", column.class(), column.cell(cell(column), row, self.table));
        }
        markup.push_str("</tr>\n");
        let details = self.columns.iter().filter(|column| column.kind == Kind::Detail);
        let details = details.map(|detail| detail.format.show(cell(detail)));
        let gap = self.table.gap.as_ref().filter(|(before, _)| *before == place + 1).map(|(_, gap)| gap.clone());
        for text in details.filter(|text| !text.is_empty() && text != NULL).chain(gap) {
            let (span, text) = (self.standing().count(), shortened(&text, LONGEST_TITLE));
            let _ = writeln!(markup, "<tr class=\"detail\"><td colspan=\"{span}\">{text}</td></tr>");
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

#[cfg(test)]
mod tests {
    use stepscope_model::Class;

    use super::*;

    const ROWS: Rows = Rows { open: 2, most: 5 };

    fn kernels(names: &[(&str, Option<i64>)]) -> ReportTable {
        let columns = vec![
            ReportColumn::named("name").label("kernel").look(Look::Kernel),
            ReportColumn::named("total_ns").look(Look::Bar(Some(Class::Kernel))),
            ReportColumn::named("rank").look(Look::Hidden),
        ];
        let row = |(name, total): &(&str, Option<i64>)| {
            vec![Cell::Text((*name).to_owned()), total.map_or(Cell::Null, Cell::Int), Cell::Int(0)]
        };
        let total = Some(vec![Cell::Text("7 kernels".to_owned()), Cell::Int(90_000_000), Cell::Null]);
        let sorted_by = Some("-total_ns".to_owned());
        ReportTable { total, sorted_by, ..ReportTable::rows(columns, names.iter().map(row).collect()) }
    }

    #[test]
    fn numbers_look_as_on_a_terminal_with_a_bar_below() {
        let markup = table(&kernels(&[("void at::relu<float>(int)", Some(80_000_000)), ("tiny", Some(0))]), &[], ROWS);
        for part in [
            "<th>Kernel</th><th class=\"num\">Total ↓</th>",
            "<span title=\"void at::relu&lt;float&gt;(int)\">relu&lt;float&gt;</span>",
            "<span>80.00<u>ms</u></span><i class=\"share kernel\" style=\"width:70.0%\"></i>",
            "<span class=\"zero\">0<u>ms</u></span></td>",
            "<tfoot><tr><td>7 kernels</td><td class=\"num\"><span>90.00<u>ms</u></span></td></tr></tfoot>",
        ] {
            assert!(markup.contains(part), "{part}\n{markup}");
        }
        assert!(!markup.contains("Rank"), "{markup}");
    }

    #[test]
    fn what_is_missing_says_why_and_is_never_zero() {
        let missing = [Missing {
            path: "rows[].total_ns".to_owned(),
            label: "total".to_owned(),
            reason: "no \"device\" events".into(),
        }];
        let markup = table(&kernels(&[("a", None)]), &missing, ROWS);
        assert!(markup.contains("title=\"no &quot;device&quot; events\">–</span>"), "{markup}");
    }

    #[test]
    fn long_tables_fold_and_very_long_ones_are_cut() {
        let row = ("a", Some(1_000));
        let fits = table(&kernels(&[row; 4]), &[], ROWS);
        assert!(!fits.contains("<details>") && !fits.contains("shown"), "{fits}");
        let folds = table(&kernels(&[row; 5]), &[], ROWS);
        assert!(folds.contains("<summary>3 more</summary>") && folds.matches("<tfoot>").count() == 1, "{folds}");
        let cut = table(&ReportTable { left_out: LeftOut::Rows(1_000), ..kernels(&[row; 7]) }, &[], ROWS);
        assert!(cut.contains("5 of 1,007 shown"), "{cut}");
    }

    #[test]
    fn texts_below_rows_and_gaps_have_lines_of_their_own() {
        let mut shown = kernels(&[("a", Some(1)), ("b", Some(1))]);
        shown.columns.push(ReportColumn::named("stack").look(Look::Detail));
        shown.rows[0].push(Cell::Text("<main>".to_owned()));
        shown.gap = Some((1, "… 9 kernels".to_owned()));
        let markup = table(&shown, &[], ROWS);
        let below = "<tr class=\"detail\"><td colspan=\"2\">&lt;main&gt;</td></tr>\n<tr class=\"detail\"><td colspan=\"2\">… 9 kernels</td></tr>";
        assert!(markup.contains(below), "{markup}");
    }

    #[test]
    fn a_table_of_nothing_to_see_is_left_out() {
        let hidden = ReportTable::rows(vec![ReportColumn::named("rule").look(Look::Hidden)], vec![vec![Cell::Null]]);
        assert_eq!(table(&hidden, &[], ROWS), "");
    }
}
