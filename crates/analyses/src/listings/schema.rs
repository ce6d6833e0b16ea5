//! The tables, views and columns that SQL can name.

use stepscope_engine::{Engine, EngineOptions};
use stepscope_model::derived_tables::DERIVED_TABLES;
use stepscope_model::tables::TABLES;
use stepscope_model::{Part, Report, ReportColumn, ReportTable};
use stepscope_runs::RunError;

/// One row per column of a table or a view.
pub fn report() -> Result<Report, RunError> {
    let mut rows = Vec::new();
    for table in TABLES.into_iter().chain(DERIVED_TABLES) {
        for column in table.columns() {
            let nullable = if column.nullable { "yes" } else { "no" };
            rows.push([table.name, column.name, column.column_type.as_text(), nullable, column.doc].map(str::to_owned));
        }
    }
    // The types of a view's columns follow from its query, so an engine has to plan it.
    let engine = Engine::without_run(&EngineOptions::default())?;
    for view in Engine::views() {
        let types = engine.columns_of(view.name)?;
        for ((name, column_type), (_, doc)) in types.iter().zip(&view.columns) {
            rows.push([view.name, name, column_type, "yes", doc].map(str::to_owned));
        }
    }
    let table = ReportTable::of("rows", rows)
        .column(ReportColumn::named("table"), |row| row[0].clone())
        .column(ReportColumn::named("column"), |row| row[1].clone())
        .column(ReportColumn::named("type"), |row| row[2].clone())
        .column(ReportColumn::named("nullable"), |row| row[3].clone())
        .column(ReportColumn::named("meaning"), |row| row[4].clone())
        .table();
    Ok(Report::new("schema", vec![Part::Table(table)]))
}
