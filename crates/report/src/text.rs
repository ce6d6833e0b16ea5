//! Text for people: tables without boxes, numbers on the right, small pictures where the screen can draw them.
//!
//! A column's header is its label, else its JSON name without the unit (`device_self_ns` → `device self`); the unit
//! stands behind each value, one for the whole column. `raw` leaves names and values as they are, which is what
//! somebody who wrote SQL wants. Numbers are never cut: names give way first, then whole columns at the right, which
//! the footer names. Nothing here knows a command: looks, units and texts say it all.

mod column;
mod fit;
mod line;
mod name;
mod picture;
mod table;
mod words;

use stepscope_model::{Cell, Metric, Part, Report, Text, Unit};

pub(crate) use self::column::{format_of, header, header_of};
pub use self::line::ColorMode;
use self::line::Line;
pub use self::table::TextStream;
pub(crate) use self::words::with_reasons;
use crate::number::NumberStyle;

/// How text should look. The default is for pipes and files: no colors, no pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the screen.
    pub width: usize,
    /// Names and values as they are: no units, no grouping.
    pub raw: bool,
    /// Escape sequences that may be used.
    pub color: ColorMode,
    /// Whether bars and sparks are drawn.
    pub pictures: bool,
    /// Whether the screen shows nothing but ASCII.
    pub ascii: bool,
    /// How to see what is not shown.
    pub ways: Ways,
}

/// What to do about rows and columns that are not shown, in the words of whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// To see all rows.
    pub rows: &'static str,
    /// To see other columns of the main table.
    pub columns: &'static str,
    /// To see other columns of any other table.
    pub columns_beside: &'static str,
}

impl Ways {
    /// The options of the command.
    pub const OPTIONS: Self = Self {
        rows: "--limit 0 shows all",
        columns: "--columns picks, -f csv has all",
        columns_beside: "-f json has all",
    };
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 120, raw: false, color: ColorMode::None, pictures: false, ascii: false, ways: Ways::OPTIONS }
    }
}

impl TextOptions {
    /// For a terminal that is `columns` wide.
    #[must_use]
    pub fn screen(columns: usize, color: ColorMode) -> Self {
        Self { width: Self::screen_width(columns), color, pictures: true, ..Self::default() }
    }

    /// The width to use on a terminal that is `columns` wide: at least 40, at most 160.
    #[must_use]
    pub fn screen_width(columns: usize) -> usize {
        columns.clamp(40, 160)
    }

    /// The text in the characters that the screen has.
    fn spell(self, text: &str) -> String {
        if self.ascii { name::in_ascii(text) } else { text.to_owned() }
    }
}

/// The whole report, with a line end behind every line and an empty line between parts.
#[must_use]
pub fn render(report: &Report, options: TextOptions) -> String {
    let parts = with_reasons(report);
    let mut blocks: Vec<String> = Vec::new();
    let mut rest = parts.as_slice();
    while let Some(part) = rest.first() {
        let (lines, taken) = block(part, rest, options);
        if !lines.is_empty() {
            blocks.push(lines.iter().map(|line| line.paint(options.color)).collect());
        }
        rest = &rest[taken..];
    }
    blocks.join("\n")
}

/// A name in at most `width` cells, without its middle if it has more.
#[must_use]
pub fn shortened(name: &str, width: usize) -> String {
    name::shorten(name, width, name::Cut::Middle, false)
}

/// One value with a unit of its own, for where values of different kinds stand below each other.
#[must_use]
pub fn value(cell: &Cell, unit: Unit) -> String {
    NumberStyle::of(unit, &[cell]).show(cell)
}

/// One figure in a sentence: at most four digits that count.
#[must_use]
pub fn figure(cell: &Cell, unit: Unit) -> String {
    NumberStyle::of_figures(unit, &[cell]).show(cell)
}

/// The next lines without a gap, and how many parts they take.
fn block(first: &Part, parts: &[Part], options: TextOptions) -> (Vec<Line>, usize) {
    match first {
        Part::Text(text) if text.role.label().is_some() => {
            let texts: Vec<Text> = run(parts, |part| match part {
                Part::Text(text) if text.role.label().is_some() => Some(text.clone()),
                _ => None,
            });
            (words::labeled(&texts, options), texts.len())
        }
        Part::Text(text) => (words::lines(text, options), 1),
        Part::Metric(_) => {
            let mut metrics: Vec<&Metric> = run(parts, |part| match part {
                Part::Metric(metric) => Some(metric),
                _ => None,
            });
            let taken = metrics.len();
            metrics.retain(|metric| !metric.is_for_programs);
            (words::metrics(&metrics, options), taken)
        }
        Part::Series(series) => (words::series(series, options), 1),
        Part::Table(left) => match parts.get(1) {
            Some(Part::Table(right)) if right.is_beside => match table::lines_beside(left, right, options) {
                Some(lines) => (lines, 2),
                None => (table::lines(left, options), 1),
            },
            _ => (table::lines(left, options), 1),
        },
    }
}

/// What the parts at the beginning have in common.
fn run<'a, T>(parts: &'a [Part], take: impl Fn(&'a Part) -> Option<T>) -> Vec<T> {
    parts.iter().map_while(take).collect()
}
