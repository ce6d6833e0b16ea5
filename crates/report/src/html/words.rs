//! Words of the pages: sentence case where the terminal has capitals, classes by name, steps by number.

use stepscope_model::{Cell, Class, Piece, ReportTable, Sentence, Unit};

use crate::number::NumberStyle;
use crate::{figure, sentence};

/// What people call a class of time, or what else a span can be.
pub(super) fn class_label(class: &str) -> &str {
    match class {
        "kernel" => "Kernel",
        "memcpy" => "Memcpy",
        "memset" => "Memset",
        "communication" => "Communication",
        "runtime" => "Runtime",
        "dataloader" => "DataLoader",
        "cpu_exec" => "CPU execution",
        "python" => "Python",
        "annotation" => "Annotation",
        _ => "Other",
    }
}

/// The class of that name for the style of an element; never a text of the trace.
pub(super) fn class_of(name: &str) -> &'static str {
    match name {
        "python" => "python",
        "annotation" => "annotation",
        name => Class::of_text(name).unwrap_or(Class::Other).as_text(),
    }
}

/// With a capital, unless it begins with a name such as `num_workers` or `p50`.
pub(super) fn sentence_case(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or(text);
    let is_name = word.contains(['_', '=', '(', ':', '.']) && !word.ends_with('.');
    let is_percentile = word.starts_with('p') && word[1..].starts_with(|letter: char| letter.is_ascii_digit());
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !is_name && !is_percentile => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// The heading of a table that has one: `STEP BREAKDOWN` is for terminals.
pub(super) fn title_of(table: &ReportTable) -> Option<String> {
    let name = || (!matches!(table.name.as_str(), "" | "rows")).then(|| table.name.replace('_', " "));
    table.title.clone().or_else(name).map(|title| sentence_case(&title.to_lowercase()))
}

/// `ProfilerStep#7` → `step 7`; a step without a number keeps its name.
#[must_use]
pub fn step_label(name: &str) -> String {
    match name.rsplit_once('#') {
        Some((_, number)) if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("step {number}")
        }
        _ => name.to_owned(),
    }
}

/// A sentence that never breaks between a figure and its unit.
pub(super) fn unbroken(sentence: &Sentence) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Figure(figure) => held_together(&figure::written(figure)),
        other => sentence::piece(other).into_owned(),
    };
    sentence.0.iter().map(piece).collect()
}

/// With spaces behind digits that no line breaks at.
fn held_together(figure: &str) -> String {
    let mut held = String::with_capacity(figure.len());
    for letter in figure.chars() {
        let is_behind_digit = held.ends_with(|before: char| before.is_ascii_digit());
        held.push(if letter == ' ' && is_behind_digit { '\u{a0}' } else { letter });
    }
    held
}

/// A figure for itself, and its unit: `177.6` and `ms`.
pub(super) fn figure(cell: &Cell, unit: Unit) -> (String, String) {
    let text = NumberStyle::of_figures(unit, &[cell]).show(cell);
    match split_unit(&text) {
        Some((digits, unit)) => (digits.to_owned(), unit.to_owned()),
        None => (text, String::new()),
    }
}

/// The figure in one piece.
pub(super) fn figure_text(cell: &Cell, unit: Unit) -> String {
    NumberStyle::of_figures(unit, &[cell]).show(cell)
}

/// A duration in one piece.
pub(super) fn duration(ns: i64) -> String {
    figure_text(&Cell::Int(ns), Unit::Nanoseconds)
}

/// The number and the unit behind it, if the text is both.
pub(super) fn split_unit(text: &str) -> Option<(&str, &str)> {
    let is_unit = |unit: &str| !unit.is_empty() && !unit.contains(|letter: char| letter.is_ascii_digit());
    let is_number = |digits: &str| digits.ends_with(|letter: char| letter.is_ascii_digit());
    text.rsplit_once(' ').filter(|(digits, unit)| is_unit(unit) && is_number(digits))
}

#[cfg(test)]
mod tests {
    use stepscope_model::say;

    use super::*;

    #[test]
    fn capitals_are_for_terminals() {
        let check = |text: &str, want: &str| assert_eq!(sentence_case(text), want);
        check("device self", "Device self");
        check("p99", "p99");
        check("num_workers=0; loading is slow", "num_workers=0; loading is slow");
        check("est. occup.", "Est. occup.");
        check("", "");
        let table = ReportTable { title: Some("LAUNCH TIMES".to_owned()), ..ReportTable::default() };
        assert_eq!(title_of(&table).as_deref(), Some("Launch times"));
    }

    #[test]
    fn steps_go_by_number() {
        assert_eq!(step_label("ProfilerStep#7"), "step 7");
        assert_eq!(step_label("Optimizer.step#SGD.step"), "Optimizer.step#SGD.step");
        assert_eq!(step_label(""), "");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let said =
            say!("A step takes {}: {} of {}, 5 ms.", say::ns(177.6e6), say::ratio(0.0001), say::counted(4, "step"));
        assert_eq!(unbroken(&said), "A step takes 177.6\u{a0}ms: < 0.1\u{a0}% of 4 steps, 5 ms.");
        assert_eq!(unbroken(&say::ns(725e9).into()), "12\u{a0}min 05\u{a0}s");
    }

    #[test]
    fn a_figure_is_digits_and_a_unit() {
        let both = |cell: Cell, unit| figure(&cell, unit);
        assert_eq!(both(Cell::Int(177_592_000), Unit::Nanoseconds), ("177.6".to_owned(), "ms".to_owned()));
        assert_eq!(both(Cell::Float(0.0001), Unit::Ratio), ("< 0.1".to_owned(), "%".to_owned()));
        assert_eq!(both(Cell::Null, Unit::Bytes), ("–".to_owned(), String::new()));
        assert_eq!(split_unit("not recorded"), None);
    }

    #[test]
    fn no_text_of_a_trace_becomes_a_class() {
        assert_eq!(class_of("kernel"), "kernel");
        assert_eq!(class_of("\" onload=\"x"), "other");
    }
}
