//! Small pictures made of characters: bars, stacks of classes, sparks.

use stepscope_model::Class;

use super::TextOptions;
use super::line::{ColorMode, Line, Style};

/// One to seven eighths of a cell, from the left.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_LEVELS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];
/// More values than this become buckets.
pub(super) const LONGEST_SPARK: usize = 24;

/// What is drawn in each row of a column, on a scale that all rows share.
#[derive(Clone, Debug)]
pub(super) enum Picture {
    /// One length a row, with its color.
    Bar(Vec<(f64, Style)>),
    /// One length a class and row.
    Stack(Vec<Vec<f64>>),
}

impl Picture {
    pub(super) fn draw(&self, row: usize, width: usize, options: TextOptions) -> Line {
        match self {
            Self::Bar(rows) => {
                let largest = rows.iter().map(|(value, _)| *value).fold(0.0, f64::max);
                rows.get(row).map_or_else(Line::default, |(value, style)| {
                    Line::new(bar(*value / largest, width, options.ascii), *style)
                })
            }
            Self::Stack(rows) => {
                let largest = rows.iter().map(|row| total(row)).fold(0.0, f64::max);
                rows.get(row).map_or_else(Line::default, |values| stack(values, largest, width, options))
            }
        }
    }
}

/// What is there but too short to see is still drawn.
fn bar(share: f64, width: usize, ascii: bool) -> String {
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    if ascii {
        return "#".repeat(((share * width as f64).round() as usize).clamp(1, width));
    }
    let eighths = ((share * width as f64 * 8.0).round() as usize).clamp(1, width * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Ends are rounded, not lengths, so that the whole is as long as its sum says.
fn stack(values: &[f64], largest: f64, width: usize, options: TextOptions) -> Line {
    let mut line = Line::default();
    let mut sum = 0.0;
    for (class, value) in Class::ALL.into_iter().zip(values) {
        sum += length(*value);
        let end = (sum / largest * width as f64).round();
        let end = if end.is_finite() { (end as usize).min(width) } else { 0 };
        let cells = end.saturating_sub(line.width());
        line.push(&glyph(class, options).to_string().repeat(cells), Style::Class(class));
    }
    line
}

fn total(values: &[f64]) -> f64 {
    values.iter().map(|value| length(*value)).sum()
}

fn length(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// What stands for a class: a block in its color, a sign of its own where there is none.
pub(super) fn glyph(class: Class, options: TextOptions) -> char {
    match (options.ascii, options.color) {
        (true, ColorMode::None) => ['#', 'c', 's', '=', 'r', '%', '+', '.'][class as usize],
        (false, ColorMode::None) => ['█', 'c', 's', '▓', 'r', '▒', '░', '·'][class as usize],
        (true, _) => '#',
        (false, _) => '█',
    }
}

/// One block a value, from the smallest to the largest; many become buckets of which the largest counts.
pub(super) fn spark(values: &[f64], longest: usize, ascii: bool) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let buckets = values.len().min(longest);
    let bucket = |index: usize| {
        let range = index * values.len() / buckets..(index + 1) * values.len() / buckets;
        values[range].iter().copied().fold(f64::NEG_INFINITY, f64::max)
    };
    let highest: Vec<f64> = (0..buckets).map(bucket).collect();
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let levels = if ascii { ASCII_LEVELS } else { LEVELS };
    let level = |value: f64| {
        let share = (value - smallest) / (largest - smallest);
        if share.is_finite() { (share * 7.0).round() as usize } else { 7 }
    };
    highest.into_iter().map(|value| levels[level(value).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_rounded_to_eighths() {
        assert_eq!(bar(1.0, 8, false), "████████");
        assert_eq!(bar(130.97 / 142.46, 8, false), "███████▍");
        assert_eq!(bar(1e-9, 8, false), "▏"); // There is something.
        assert_eq!(bar(0.0, 8, false), "");
        assert_eq!(bar(f64::NAN, 8, false), "");
        assert_eq!(bar(0.5, 9, true), "#####");
    }

    #[test]
    fn a_stack_is_as_long_as_its_sum() {
        let options = TextOptions { pictures: true, ..TextOptions::default() };
        let each = [0.5; 8];
        assert_eq!(stack(&each, 4.0, 4, options).text(), "█sr░");
        assert_eq!(stack(&each, 8.0, 16, options).width(), 8);
        assert_eq!(stack(&[], 0.0, 16, options).width(), 0);
    }

    #[test]
    fn sparks_go_from_smallest_to_largest() {
        assert_eq!(spark(&[187.9, 175.2, 179.7, 174.6, 182.2, 166.0], LONGEST_SPARK, false), "█▄▅▄▆▁");
        assert_eq!(spark(&[3.0, 3.0], LONGEST_SPARK, false), "██");
        assert_eq!(spark(&[], LONGEST_SPARK, false), "");
        let mut many = vec![0.0; 240];
        many[15] = 1.0;
        assert_eq!(spark(&many, LONGEST_SPARK, true), format!("_#{}", "_".repeat(22)));
    }
}
