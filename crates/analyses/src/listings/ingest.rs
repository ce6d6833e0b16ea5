//! What an ingest did: one row a source.

use serde_json::json;
use stepscope_ingest::{Ingested, Outcome};
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable};

const COLUMNS: [&str; 14] = [
    "path",
    "format",
    "run",
    "rank",
    "rank_from",
    "window",
    "bytes_in",
    "bytes_plain",
    "events_in",
    "rows",
    "dropped",
    "bytes_out",
    "wall_s",
    "peak_rss_bytes",
];

/// One row per source, and the files that were not read.
#[must_use]
pub fn report(outcome: &Outcome) -> Report {
    let columns = COLUMNS.map(ReportColumn::named).to_vec();
    let rows = outcome.sources.iter().map(row).collect();
    let table = ReportTable::rows(columns, rows);
    let data = vec![("skipped_files", Cell::Json(json!(outcome.skipped)))];
    Report { data, ..Report::new("ingest", vec![Part::Table(table)]) }
}

fn row(ingested: &Ingested) -> Vec<Cell> {
    let record = &ingested.record;
    let count = |value: u64| Cell::Int(value as i64);
    vec![
        Cell::Text(record.path.clone()),
        Cell::Text(record.format.clone()),
        Cell::Text(record.run.clone()),
        count(record.id.rank.into()),
        Cell::Text(record.rank_from.as_text().to_owned()),
        count(record.id.window.into()),
        count(record.bytes_in),
        count(record.bytes_plain),
        count(record.events_in),
        count(record.event_rows()),
        Cell::Json(json!(record.dropped)),
        count(record.bytes_out),
        Cell::Float(ingested.wall.as_secs_f64()),
        ingested.peak_rss_bytes.map_or(Cell::Null, count),
    ]
}
