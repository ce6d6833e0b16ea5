//! What an ingest did: one row a source.

use serde_json::json;
use stepscope_ingest::Outcome;
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable};

/// One row per source, and the files that were not read.
#[must_use]
pub fn report(outcome: &Outcome) -> Report {
    let named = ReportColumn::named;
    let count = |value: u64| value as i64;
    let table = ReportTable::of("rows", &outcome.sources)
        .column(named("path"), |source| source.record.path.clone())
        .column(named("format"), |source| source.record.format.clone())
        .column(named("run"), |source| source.record.run.clone())
        .column(named("rank"), |source| i64::from(source.record.id.rank))
        .column(named("rank_from"), |source| source.record.rank_from.as_text())
        .column(named("window"), |source| i64::from(source.record.id.window))
        .column(named("bytes_in"), |source| count(source.record.bytes_in))
        .column(named("bytes_plain"), |source| count(source.record.bytes_plain))
        .column(named("events_in"), |source| count(source.record.events_in))
        .column(named("rows"), |source| count(source.record.event_rows()))
        .column(named("dropped"), |source| Cell::Json(json!(source.record.dropped)))
        .column(named("bytes_out"), |source| count(source.record.bytes_out))
        .column(named("wall_s"), |source| source.wall.as_secs_f64())
        .column(named("peak_rss_bytes"), |source| source.peak_rss_bytes.map(count))
        .table();
    let data = vec![("skipped_files", Cell::Json(json!(outcome.skipped)))];
    Report { data, ..Report::new("ingest", vec![Part::Table(table)]) }
}
