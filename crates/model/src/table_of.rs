//! A table's columns together with what their cells say: each declared once, in one line.

use crate::report::{Cell, ReportColumn, ReportTable};
use crate::say::Sentence;

/// A table in the making: what it tells of, and the columns so far.
pub struct TableOf<R> {
    told: Vec<R>,
    table: ReportTable,
}

impl ReportTable {
    /// A table with a name in JSON, with a row for each of these.
    pub fn of<R>(name: &str, told: impl IntoIterator<Item = R>) -> TableOf<R> {
        let told: Vec<R> = told.into_iter().collect();
        let rows = told.iter().map(|_| Vec::new()).collect();
        TableOf { told, table: Self::named(name, Vec::new(), rows) }
    }
}

impl<R> TableOf<R> {
    /// With one more column, and what it says of each row.
    #[must_use]
    pub fn column<C: Into<Cell>>(mut self, column: ReportColumn, cell: impl Fn(&R) -> C) -> Self {
        self.table.columns.push(column);
        for (row, told) in self.table.rows.iter_mut().zip(&self.told) {
            row.push(cell(told).into());
        }
        self
    }

    /// What was made.
    #[must_use]
    pub fn table(self) -> ReportTable {
        self.table
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<f64>> for Cell {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl From<Sentence> for Cell {
    fn from(sentence: Sentence) -> Self {
        Self::Sentence(sentence)
    }
}

impl From<Vec<Sentence>> for Cell {
    fn from(sentences: Vec<Sentence>) -> Self {
        Self::Sentences(sentences)
    }
}

/// Not known where there is none.
impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(value: Option<C>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_and_its_cells_are_declared_together() {
        let table = ReportTable::of("steps", [(1_i64, Some("first")), (2, None)])
            .column(ReportColumn::named("step"), |row| row.0)
            .column(ReportColumn::named("name"), |row| row.1)
            .table();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["step", "name"]);
        assert_eq!(table.rows, [vec![Cell::Int(1), Cell::from("first")], vec![Cell::Int(2), Cell::Null]]);
    }
}
