//! Tables of figures for people: each value with the unit that its figure's name carries.

use stepscope_model::{Cell, Part, Report, ReportTable, Unit};
use stepscope_report::text;

/// The report with the values of its figures written out. Columns that say nothing are left out: reasons where none
/// is missing, and rank and window where there is one recording.
pub(crate) fn for_people(report: &Report) -> Report {
    let part = |part: &Part| match part {
        Part::Table(table) => Part::Table(written_out(table)),
        other => other.clone(),
    };
    Report { parts: report.parts.iter().map(part).collect(), ..report.clone() }
}

fn written_out(table: &ReportTable) -> ReportTable {
    let mut table = table.clone();
    let place = |table: &ReportTable, name: &str| table.columns.iter().position(|column| column.name == name);
    if let (Some(figure), Some(value)) = (place(&table, "figure"), place(&table, "value")) {
        for row in &mut table.rows {
            let unit = match &row[figure] {
                Cell::Text(name) => Unit::of_name(name.rsplit(['.', ']']).next().unwrap_or(name)),
                _ => Unit::Plain,
            };
            row[value] = Cell::Text(text::value(&row[value], unit));
        }
    }
    for name in ["rank", "window", "reason"] {
        let Some(column) = place(&table, name) else { continue };
        if table.rows.iter().all(|row| row[column] == table.rows[0][column]) {
            table.columns.remove(column);
            for row in &mut table.rows {
                row.remove(column);
            }
        } else if name == "reason" {
            // A figure that is there needs no reason, which is no gap to people.
            for row in table.rows.iter_mut().filter(|row| row[column] == Cell::Null) {
                row[column] = Cell::Text(String::new());
            }
        }
    }
    table
}
