//! Markdown for issues and merge requests: tables as GitHub draws them, texts as paragraphs, titles as headings.
//!
//! Numbers look as they do in text, with the unit behind each value. Nothing is shortened but the names of kernels,
//! and there are no pictures.

use std::collections::HashMap;
use std::fmt::Write as _;

use stepscope_model::{Cell, LeftOut, Look, Metric, Part, Report, ReportTable, Sentence, Series, Text, Tone};

use crate::number::{NULL, NumberStyle, grouped};
use crate::stream::TableStream;
use crate::text::{self, TextOptions};
use crate::{kernel_label, safe_text, sentence};

/// The whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let parts = text::with_reasons(report);
    let mut blocks: Vec<String> = Vec::new();
    let mut rest = parts.as_slice();
    while let Some(part) = rest.first() {
        let mut taken = 1;
        match part {
            Part::Text(text) => blocks.push(paragraph(text)),
            Part::Table(table) => blocks.extend(table_blocks(table)),
            Part::Series(series) => blocks.push(curve(series)),
            Part::Metric(_) => {
                let metrics: Vec<&Metric> = rest
                    .iter()
                    .map_while(|part| if let Part::Metric(metric) = part { Some(metric) } else { None })
                    .collect();
                taken = metrics.len();
                let shown: Vec<&Metric> = metrics.into_iter().filter(|metric| !metric.is_for_programs).collect();
                if !shown.is_empty() {
                    blocks.push(figures(&shown));
                }
            }
        }
        rest = &rest[taken..];
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

fn paragraph(text: &Text) -> String {
    if text.is_code {
        return code(text);
    }
    let lines: Vec<String> = sentence::lines(text).iter().map(|line| escaped(line)).collect();
    let mut paragraph = lines.join("  \n");
    if text.tone == Tone::Strong {
        paragraph = format!("**{paragraph}**");
    }
    if let Some(label) = text.role.label() {
        paragraph = format!("*{}* {paragraph}", escaped(label));
    }
    if let Some(right) = text.right {
        let _ = write!(paragraph, "  \n{}", escaped(&sentence::status_text(right)));
    }
    format!("{paragraph}\n")
}

/// A block that GitHub leaves as it is. Tildes, as code may hold backticks.
fn code(text: &Text) -> String {
    let label = text.role.label().map(|label| format!("*{}*\n\n", escaped(label))).unwrap_or_default();
    format!("{label}~~~\n{}\n~~~\n", safe_text::lines(&sentence::lines(text).join("\n")))
}

fn curve(series: &Series) -> String {
    format!("{}: {} points\n", escaped(&series.name), grouped(series.points.len() as i128, 0))
}

fn figures(metrics: &[&Metric]) -> String {
    let mut text = String::from("| metric | value |\n|---|---:|\n");
    for metric in metrics {
        let value = NumberStyle::of_figures(metric.unit, &[&metric.value]).show(&metric.value);
        let reason = metric
            .reason
            .as_ref()
            .map(|reason| format!(" ({})", escaped(&sentence::written(reason))))
            .unwrap_or_default();
        let name = text::header(&metric.name, metric.unit, TextOptions::default());
        let _ = writeln!(text, "| {} | {}{reason} |", escaped(&name), escaped(&value));
    }
    text
}

/// Heading, rows with sums, notes.
fn table_blocks(table: &ReportTable) -> Vec<String> {
    let mut blocks = Vec::new();
    let is_titled = table.title.is_some() || !matches!(table.name.as_str(), "" | "rows");
    if is_titled {
        let heading = table.title.clone().unwrap_or_else(|| table.name.replace('_', " ").to_uppercase());
        blocks.push(format!("### {}\n", escaped(&heading)));
    }
    let columns = Column::all(table);
    if columns.is_empty() {
        return blocks;
    }
    let mut text = top(&columns) + &lines(&columns, table);
    if let Some(total) = &table.total {
        let bold = |total: String| if total.is_empty() { total } else { format!("**{total}**") };
        let cell = |column: &Column| total.get(column.place).map_or_else(String::new, |cell| bold(column.write(cell)));
        push_row(&mut text, columns.iter().map(cell));
    }
    blocks.push(text);
    let notes = notes(table.rows.len() as u64, table.left_out, &table.notes);
    if !notes.is_empty() {
        blocks.push(format!("{}\n", notes.join(" · ")));
    }
    blocks
}

/// A table as its rows come.
#[derive(Debug, Default)]
pub struct MarkdownStream {
    columns: Vec<Column>,
    rows: u64,
}

impl TableStream for MarkdownStream {
    fn head(&mut self, head: &ReportTable) -> String {
        self.columns = Column::all(head);
        if self.columns.is_empty() { String::new() } else { top(&self.columns) + &self.rows(head) }
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        self.rows += rows.rows.len() as u64;
        lines(&self.columns, rows)
    }

    fn end(&mut self, left_out: LeftOut) -> String {
        let notes = notes(self.rows, left_out, &[]);
        if notes.is_empty() || self.columns.is_empty() { String::new() } else { format!("\n{}\n", notes.join(" · ")) }
    }
}

/// The header and the line that says on which side columns stand.
fn top(columns: &[Column]) -> String {
    let mut text = String::new();
    push_row(&mut text, columns.iter().map(|column| column.header.clone()));
    let marks = columns.iter().map(|column| if column.is_right { "---:" } else { "---" });
    let _ = writeln!(text, "|{}|", marks.collect::<Vec<_>>().join("|"));
    text
}

fn lines(columns: &[Column], table: &ReportTable) -> String {
    let mut text = String::new();
    for row in &table.rows {
        push_row(&mut text, columns.iter().map(|column| column.write(row.get(column.place).unwrap_or(&Cell::Null))));
    }
    text
}

fn push_row(text: &mut String, cells: impl Iterator<Item = String>) {
    let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
}

fn notes(rows: u64, left_out: LeftOut, notes: &[Sentence]) -> Vec<String> {
    let shown = grouped(i128::from(rows), 0);
    let count = match left_out {
        LeftOut::Nothing => None,
        LeftOut::Rows(more) => Some(format!("{shown} of {} shown", grouped(i128::from(rows + more), 0))),
        LeftOut::Uncounted => Some(format!("the first {shown} rows; there are more")),
    };
    count.into_iter().chain(notes.iter().map(|note| escaped(&sentence::written(note)))).collect()
}

/// How a column is written.
#[derive(Debug)]
struct Column {
    place: usize,
    header: String,
    format: NumberStyle,
    /// What kernels are called, by their full names.
    kernels: HashMap<String, String>,
    is_right: bool,
}

impl Column {
    fn all(table: &ReportTable) -> Vec<Self> {
        (0..table.columns.len()).filter_map(|place| Self::of(table, place)).collect()
    }

    /// The column, if it has something to read.
    fn of(table: &ReportTable, place: usize) -> Option<Self> {
        let column = &table.columns[place];
        if matches!(column.look, Look::Hidden | Look::Length | Look::Spark | Look::Stack) {
            return None;
        }
        let cells: Vec<&Cell> = table.rows.iter().map(|row| row.get(place).unwrap_or(&Cell::Null)).collect();
        let header = text::header_of(column, TextOptions::default());
        let total = table.total.as_ref().and_then(|total| total.get(place));
        let format = text::format_of(column, &header, &cells, total, false);
        let has_numbers = cells.iter().any(|cell| matches!(cell, Cell::Int(_) | Cell::Float(_)));
        let is_right = has_numbers || matches!(column.look, Look::Figure | Look::Bar(_));
        let cells = cells.into_iter().filter(|_| column.look == Look::Kernel);
        let kernels = kernel_label::of_cells(cells).into_iter().map(|(name, label)| (name.to_owned(), label)).collect();
        Some(Self { place, header: escaped(&header), format, kernels, is_right })
    }

    fn write(&self, cell: &Cell) -> String {
        let label = if let Cell::Text(name) = cell { self.kernels.get(name) } else { None };
        label.map_or_else(|| escaped(&self.format.show(cell)), |label| escaped(label))
    }
}

/// What Markdown would take for markup stays text: a pipe ends a cell, `<float>` is a tag, stars and lines emphasize.
fn escaped(text: &str) -> String {
    let text = safe_text::one_line(text);
    if text == NULL {
        return text.into_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let is_letter = |place: Option<usize>| {
        place.and_then(|place| letters.get(place)).is_some_and(|letter| letter.is_alphanumeric())
    };
    let mut escaped = String::with_capacity(text.len());
    for (place, letter) in letters.iter().enumerate() {
        let is_inside_word = is_letter(place.checked_sub(1)) && is_letter(Some(place + 1));
        match letter {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '_' if is_inside_word => escaped.push('_'),
            '|' | '\\' | '`' | '*' | '_' | '[' | '~' => escaped.extend(['\\', *letter]),
            '#' if place == 0 => escaped.push_str("\\#"),
            other => escaped.push(*other),
        }
    }
    escaped
}
