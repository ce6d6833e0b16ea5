//! Text for people: tables without boxes, numbers on the right, names shortened in the middle.
//!
//! A column's header is its JSON name without the unit (`device_self_ns` → `device self`); the unit stands behind each
//! value, one for the whole column. `raw` leaves names and values as they are, which is what somebody who wrote SQL
//! wants. Numbers are never cut: text gives way first, then whole columns at the right, which the footer names.

use std::fmt::Write as _;

use stepscope_model::{Cell, LeftOut, Metric, Part, Report, ReportColumn, ReportTable, Series, Unit};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::number::{Look, NULL, grouped};
use crate::safe_text;

/// Space between two columns.
const GAP: usize = 2;
/// Text is not shortened below this.
const NARROWEST_TEXT: usize = 12;
/// Columns of sentences: broken into lines instead of shortened.
const PROSE_COLUMNS: [&str; 3] = ["doc", "meaning", "reason"];
const NARROWEST_PROSE: usize = 30;

/// How text should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the screen.
    pub width: usize,
    /// Names and values as they are: no units, no grouping.
    pub raw: bool,
    /// Whether escape sequences for bold and dim may be used.
    pub color: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 120, raw: false, color: false }
    }
}

impl TextOptions {
    /// The width to use on a terminal that is `columns` wide: at least 80, at most 160.
    #[must_use]
    pub fn screen_width(columns: usize) -> usize {
        columns.clamp(80, 160)
    }
}

/// The whole report, with a line end behind every line and an empty line between parts.
#[must_use]
pub fn render(report: &Report, options: TextOptions) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut metrics: Vec<&Metric> = Vec::new();
    for part in &report.parts {
        if !matches!(part, Part::Metric(_)) && !metrics.is_empty() {
            blocks.push(metric_lines(&std::mem::take(&mut metrics), options));
        }
        match part {
            Part::Text(text) => blocks.push(format!("{}\n", safe_text::lines(&text.text))),
            Part::Metric(metric) => metrics.push(metric),
            Part::Table(table) => blocks.push(table_lines(table, options)),
            Part::Series(series) => blocks.push(series_line(series)),
        }
    }
    if !metrics.is_empty() {
        blocks.push(metric_lines(&metrics, options));
    }
    blocks.join("\n")
}

/// One value with a unit of its own, for where values of different kinds stand below each other.
#[must_use]
pub fn value(cell: &Cell, unit: Unit) -> String {
    Look::of(unit, &[cell]).show(cell)
}

/// One figure a line: name, value, and why it is missing.
fn metric_lines(metrics: &[&Metric], options: TextOptions) -> String {
    let name_width = metrics.iter().map(|metric| header(&metric.name, metric.unit, options).width()).max().unwrap_or(0);
    let mut text = String::new();
    for metric in metrics {
        let look = if options.raw { Look::Raw } else { Look::of(metric.unit, &[&metric.value]) };
        let reason = metric.reason.as_deref().map(|reason| format!("  {}", safe_text::one_line(reason)));
        let name = pad_right(&header(&metric.name, metric.unit, options), name_width);
        let _ = writeln!(text, "{name}  {}{}", look.show(&metric.value), reason.unwrap_or_default());
    }
    text
}

/// A curve has no picture in plain text: how many points, from where to where.
fn series_line(series: &Series) -> String {
    let values = || series.points.iter().map(|(_, value)| *value);
    let ends = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)].map(Cell::Float);
    let look = Look::of(series.unit, &ends.iter().collect::<Vec<_>>());
    let count = grouped(series.points.len() as i128, 0);
    let name = header(&series.name, series.unit, TextOptions::default());
    format!("{name}: {count} points, {} to {}\n", look.show(&ends[0]), look.show(&ends[1]))
}

struct Shown {
    name: String,
    header: String,
    cells: Vec<String>,
    is_text: bool,
    is_prose: bool,
    width: usize,
}

fn table_lines(table: &ReportTable, options: TextOptions) -> String {
    let mut columns: Vec<Shown> =
        table.columns.iter().enumerate().map(|(index, column)| shown(table, index, column, options)).collect();
    let left_out = fit(&mut columns, options.width);
    let mut text = String::new();
    if !table.name.is_empty() && table.name != "rows" {
        let heading = safe_text::one_line(&table.name).replace('_', " ").to_uppercase();
        text.push_str(&styled(&heading, "1", options.color));
        text.push('\n');
    }
    let headers: Vec<String> = columns.iter().map(|column| column.header.clone()).collect();
    push_line(&mut text, &columns, &headers, false);
    for row in 0..table.rows.len() {
        push_row(&mut text, &columns, row, options.color);
    }
    text.push_str(&footer(table, &columns, &left_out, options));
    text
}

fn shown(table: &ReportTable, index: usize, column: &ReportColumn, options: TextOptions) -> Shown {
    let values: Vec<&Cell> = table.rows.iter().map(|row| row.get(index).unwrap_or(&Cell::Null)).collect();
    let look = if options.raw { Look::Raw } else { Look::of(column.unit, &values) };
    let cells: Vec<String> = values.iter().map(|cell| look.show(cell)).collect();
    let header = header(&column.name, column.unit, options);
    let width = cells.iter().map(|cell| cell.width()).chain([header.width()]).max().unwrap_or(0);
    let is_text = !values.iter().any(|cell| matches!(cell, Cell::Int(_) | Cell::Float(_)))
        && (values.iter().any(|cell| !matches!(cell, Cell::Null)) || column.unit == Unit::Plain);
    let is_prose = PROSE_COLUMNS.contains(&column.name.as_str()) && index + 1 == table.columns.len();
    Shown { name: safe_text::one_line(&column.name).into_owned(), header, cells, is_text, is_prose, width }
}

fn header(name: &str, unit: Unit, options: TextOptions) -> String {
    let name = safe_text::one_line(name);
    if options.raw {
        return name.into_owned();
    }
    let suffix = match unit {
        Unit::Nanoseconds => "_ns",
        Unit::Bytes | Unit::MovedBytes => "_bytes",
        Unit::Ratio => "_ratio",
        Unit::GigabytesPerSecond => "_gb_per_s",
        Unit::FlopsPerSecond => "_flops_per_s",
        Unit::Flops => "_flops",
        Unit::Plain | Unit::Id => "",
    };
    name.strip_suffix(suffix).unwrap_or(&name).replace('_', " ")
}

/// Narrows text until the table fits; what still does not fit goes, from the right. Returns the names that went.
fn fit(columns: &mut Vec<Shown>, width: usize) -> Vec<String> {
    let mut left_out = Vec::new();
    loop {
        let gaps = GAP * columns.len().saturating_sub(1);
        let narrowest: usize = columns.iter().map(narrowest).sum::<usize>() + gaps;
        if narrowest <= width || columns.len() <= 1 {
            break;
        }
        left_out.extend(columns.pop().map(|column| column.name));
    }
    left_out.reverse();
    // Sentences lose nothing in more lines, so they give way first; then the widest text, a cell at a time.
    let gaps = GAP * columns.len().saturating_sub(1);
    while columns.iter().map(|column| column.width).sum::<usize>() + gaps > width {
        let widest = columns
            .iter_mut()
            .filter(|column| column.width > narrowest(column))
            .max_by_key(|column| (column.is_prose, column.width));
        let Some(widest) = widest else { break };
        widest.width -= 1;
    }
    left_out
}

fn narrowest(column: &Shown) -> usize {
    let floor = match (column.is_text, column.is_prose) {
        (false, _) => column.width,
        (true, false) => NARROWEST_TEXT,
        (true, true) => NARROWEST_PROSE,
    };
    column.width.min(floor.max(column.header.width()))
}

fn push_row(text: &mut String, columns: &[Shown], row: usize, color: bool) {
    let Some((last, others)) = columns.split_last() else { return };
    let mut cells: Vec<String> = others.iter().map(|column| column.cells[row].clone()).collect();
    if !last.is_prose {
        cells.push(last.cells[row].clone());
        push_line(text, columns, &cells, color);
        return;
    }
    for (index, line) in wrap(&last.cells[row], last.width).into_iter().enumerate() {
        if index > 0 {
            cells.iter_mut().for_each(String::clear);
        }
        let with_prose: Vec<String> = cells.iter().cloned().chain([line]).collect();
        push_line(text, columns, &with_prose, color);
    }
}

fn push_line(text: &mut String, columns: &[Shown], cells: &[String], color: bool) {
    let mut line = String::new();
    for (index, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if index > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let cell = if column.is_text { shorten(cell, column.width) } else { cell.clone() };
        let space = " ".repeat(column.width.saturating_sub(cell.width()));
        let value = if cell == NULL { styled(&cell, "2", color) } else { cell };
        if column.is_text {
            line.push_str(&value);
            line.push_str(&space);
        } else {
            line.push_str(&space);
            line.push_str(&value);
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

fn footer(table: &ReportTable, columns: &[Shown], left_out: &[String], options: TextOptions) -> String {
    let mut notes = Vec::new();
    let rows = table.rows.len() as u64;
    let shown = grouped(i128::from(rows), 0);
    match table.left_out {
        LeftOut::Uncounted => notes.push(format!("the first {shown} rows; there are more (--limit 0 shows all)")),
        LeftOut::Rows(more) => {
            let all = grouped(i128::from(rows + more), 0);
            notes.push(format!("{shown} of {all} rows shown (--limit 0 shows all)"));
        }
        LeftOut::Nothing if rows == 0 && !columns.is_empty() => notes.push("no rows".to_owned()),
        LeftOut::Nothing => {}
    }
    if !left_out.is_empty() {
        let count = left_out.len();
        let plural = if count == 1 { "" } else { "s" };
        let some = left_out.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if count > 6 { ", …" } else { "" };
        notes.push(format!("{count} column{plural} did not fit: {some}{more} (--columns picks, -f csv has all)"));
    }
    notes.iter().flat_map(|note| [styled(note, "2", options.color), "\n".to_owned()]).collect()
}

fn styled(text: &str, code: &str, color: bool) -> String {
    if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// At most `width` cells: both ends stay, as they tell names apart.
fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let head = take_width(text.chars(), room - room / 2);
    let mut tail: Vec<char> = take_width(text.chars().rev(), room / 2).chars().collect();
    tail.reverse();
    format!("{head}…{}", tail.into_iter().collect::<String>())
}

fn take_width(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// Breaks a sentence at spaces.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
