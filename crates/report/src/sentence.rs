//! Sentences, and what stands at the end of a line, as text.

use std::borrow::Cow;

use stepscope_model::{Cell, Grade, Part, Piece, ReportTable, Sentence, Status, Text, say};

use crate::figure;

/// The sentence as text. A question that nobody spelled is told by its name.
#[must_use]
pub fn written(sentence: &Sentence) -> String {
    sentence.0.iter().map(piece).collect()
}

/// The lines of a text, below each other; the grade that it explains stands before the first.
pub(crate) fn lines(text: &Text) -> Vec<String> {
    let mut lines: Vec<String> = text.lines.iter().map(written).collect();
    if let (Some(grade), Some(first)) = (text.explains, lines.first_mut()) {
        first.insert_str(0, &format!("{}: ", grade.as_text()));
    }
    lines
}

/// One piece as text.
pub(crate) fn piece(piece: &Piece) -> Cow<'_, str> {
    match piece {
        Piece::Words(words) => words.into(),
        Piece::Figure(figure) => figure::written(figure).into(),
        Piece::Target(target) => target.ask.into(),
        Piece::Separator(()) => " · ".into(),
    }
}

/// What is at the right end: words, the one that says how good it is, and words after that.
pub(crate) fn status(status: Status) -> (&'static str, &'static str, String) {
    const HEALTH: &str = "trace health: ";
    match status {
        Status::Health(grade) => (HEALTH, grade.map_or("unknown", Grade::as_text), String::new()),
        Status::Good { good, all } => (HEALTH, Grade::Good.as_text(), format!(" in {good} of {all}")),
        Status::AtStake(ns) => ("", "", format!("{} per step at stake", figure::written(&say::ns(ns)))),
        Status::Saving(ns) => ("", "", format!("saves {} per step", figure::written(&say::ns(ns)))),
    }
}

/// The same in one piece.
pub(crate) fn status_text(of: Status) -> String {
    let (before, word, after) = status(of);
    format!("{before}{word}{after}")
}

/// A cell with its sentences as text.
pub(crate) fn cell(cell: &Cell) -> Cow<'_, Cell> {
    match cell {
        Cell::Sentence(sentence) => Cow::Owned(Cell::Text(written(sentence))),
        Cell::Sentences(sentences) => Cow::Owned(Cell::Json(sentences.iter().map(written).collect::<Vec<_>>().into())),
        other => Cow::Borrowed(other),
    }
}

/// A table with the sentences in its cells as text.
pub(crate) fn table(table: &ReportTable) -> ReportTable {
    let row = |cells: &Vec<Cell>| cells.iter().map(|of| cell(of).into_owned()).collect();
    ReportTable { rows: table.rows.iter().map(row).collect(), total: table.total.as_ref().map(row), ..table.clone() }
}

/// A part with the sentences in its cells as text.
pub(crate) fn part(part: &Part) -> Part {
    if let Part::Table(of) = part { Part::Table(table(of)) } else { part.clone() }
}
