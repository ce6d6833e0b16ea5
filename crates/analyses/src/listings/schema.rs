//! The tables, views and columns that SQL can name.

use stepscope_engine::{Engine, EngineOptions};
use stepscope_model::tables::TABLES;
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable};
use stepscope_runs::RunError;

/// One row per column of a table or a view.
pub fn report() -> Result<Report, RunError> {
    let mut rows = Vec::new();
    for table in TABLES {
        for column in table.columns() {
            let nullable = if column.nullable { "yes" } else { "no" };
            rows.push(row([table.name, column.name, column.column_type.as_text(), nullable, column.doc]));
        }
    }
    // The types of a view's columns follow from its query, so an engine has to plan it.
    let engine = Engine::without_run(&EngineOptions::default())?;
    for view in Engine::views() {
        let types = engine.columns_of(view.name)?;
        for ((name, column_type), (_, doc)) in types.iter().zip(&view.columns) {
            rows.push(row([view.name, name, column_type, "yes", doc]));
        }
    }
    let columns = ["table", "column", "type", "nullable", "meaning"].map(ReportColumn::named).to_vec();
    let table = ReportTable::rows(columns, rows);
    Ok(Report::new("schema", vec![Part::Table(table)]))
}

fn row(texts: [&str; 5]) -> Vec<Cell> {
    texts.into_iter().map(|text| Cell::Text(text.to_owned())).collect()
}
