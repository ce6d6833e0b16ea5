//! The table that programs get when a format holds one table only.

use std::borrow::Cow;
use std::collections::HashMap;

use stepscope_model::{Part, Report, ReportColumn, ReportTable};

/// The main table of a report: the one called `rows`, else the first; figures become the columns `name` and `value`.
pub(crate) fn main_table(report: &Report) -> Cow<'_, ReportTable> {
    let tables =
        || report.parts.iter().filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None });
    match tables().find(|table| table.name == "rows").or_else(|| tables().next()) {
        Some(table) => Cow::Borrowed(table),
        None => Cow::Owned(figures(report)),
    }
}

fn figures(report: &Report) -> ReportTable {
    let rows = report.parts.iter().filter_map(|part| match part {
        Part::Metric(metric) => Some(vec![stepscope_model::Cell::Text(metric.name.clone()), metric.value.clone()]),
        _ => None,
    });
    ReportTable::rows(["name", "value"].map(ReportColumn::named).to_vec(), rows.collect())
}

/// SQL may name two columns alike; where names must differ the later ones get a number.
pub(crate) fn distinct_names(table: &ReportTable) -> Vec<String> {
    distinct(&table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>())
}

/// The same for names alone.
pub(crate) fn distinct(names: &[String]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let numbered = names.iter().map(|name| {
        let count = seen.entry(name).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name.clone() } else { format!("{name}_{count}") }
    });
    numbered.collect()
}
