//! Distributions of integers: how SQL is asked for one, and how it looks in the document (metrics, section 11).

use serde_json::{Map, Value as Json};
use stepscope_runs::{Frame, RunError};

/// The percentiles of every distribution.
const PERCENTS: [u8; 3] = [50, 90, 99];

/// The aggregates that describe `value`, over the rows that fulfill `condition`; their columns begin with `prefix`.
pub(crate) fn columns(prefix: &str, value: &str, condition: &str) -> String {
    let only = format!("FILTER (WHERE {condition})");
    let ranks = PERCENTS.map(|percent| format!("nearest_rank({value}, {percent}) {only} AS {prefix}_p{percent}"));
    format!(
        "count({value}) {only} AS {prefix}_count, sum({value}) {only} AS {prefix}_total, min({value}) {only} AS {prefix}_min,
         {}, max({value}) {only} AS {prefix}_max",
        ranks.join(", ")
    )
}

/// The same under the names that they have in a report.
pub(crate) fn named_columns(value: &str, condition: &str) -> String {
    let only = format!("FILTER (WHERE {condition})");
    let ranks = PERCENTS.map(|percent| format!("nearest_rank({value}, {percent}) {only} AS p{percent}_ns"));
    format!(
        "count({value}) {only} AS count, sum({value}) {only} AS total_ns, avg({value}) {only} AS mean_ns,
         min({value}) {only} AS min_ns, {}, max({value}) {only} AS max_ns",
        ranks.join(", ")
    )
}

/// The figures of each row for the columns that begin with `prefix`; `None` where nothing was counted.
pub(crate) fn figures(rows: &Frame, prefix: &str) -> Result<Vec<Option<Map<String, Json>>>, RunError> {
    let column = |name: &str| rows.i64(&format!("{prefix}_{name}"));
    let (counts, totals) = (column("count")?, column("total")?);
    let names = ["min", "p50", "p90", "p99", "max"];
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let row = |row: usize| {
        let count = counts[row].filter(|count| *count > 0)?;
        let total = totals[row]?;
        let mut figures = Map::new();
        figures.insert("count".to_owned(), Json::from(count));
        figures.insert("total_ns".to_owned(), Json::from(total));
        figures.insert("mean_ns".to_owned(), Json::from(total as f64 / count as f64));
        for (name, values) in names.iter().zip(&columns) {
            figures.insert(format!("{name}_ns"), Json::from(values[row]));
        }
        Some(figures)
    };
    Ok((0..rows.rows()).map(row).collect())
}
