//! Threads, streams and lanes.

use stepscope_engine::QueryOptions;
use stepscope_model::null_reason::{NOT_APPLICABLE, argument_not_recorded};
use stepscope_model::{Look, Part, Report, ReportColumn, ReportTable};
use stepscope_runs::{OpenRun, RunError, report_of};

/// One row per track, busiest first within a source.
const SQL: &str = "
    SELECT track.rank, track.\"window\", track.track_id, type, track.process,
           coalesce(process_labels, process_name) AS process_name, track.thread, thread_name, role,
           device_id, stream_id, spans, first_ns, last_ns - first_ns AS extent_ns
    FROM tracks AS track
    LEFT JOIN thread_roles AS known
      ON known.rank = track.rank AND known.\"window\" = track.\"window\" AND known.track_id = track.track_id
    ORDER BY track.rank, track.\"window\", process_sort_index, thread_sort_index, track.track_id";

/// Every track of a run.
pub fn report(run: &OpenRun) -> Result<Report, RunError> {
    let mut report = report_of("tracks", &run.engine().query(SQL, &QueryOptions::default())?)?;
    for part in &mut report.parts {
        if let Part::Table(table) = part {
            let columns = std::mem::take(&mut table.columns);
            table.columns = columns.into_iter().enumerate().map(|(place, it)| shown(table, place, it)).collect();
        }
    }
    if run.is_profile() {
        let text = "A cProfile profile has sums without timestamps, so it has no tracks.";
        report.parts.insert(0, Part::Text(text.into()));
    }
    Ok(report)
}

/// On narrow screens what tells tracks apart comes before their numbers.
fn shown(table: &ReportTable, place: usize, column: ReportColumn) -> ReportColumn {
    let is_same = table.rows.iter().all(|row| row[place] == table.rows[0][place]);
    match column.name.as_str() {
        "rank" | "window" if is_same => column.look(Look::Hidden),
        "first_ns" => column.look(Look::Hidden).null(NOT_APPLICABLE),
        "track_id" => column.from_width(120),
        "process" => column.from_width(120).null(NOT_APPLICABLE),
        "type" => column.from_width(100),
        "device_id" => column.label("device").null(NOT_APPLICABLE),
        "stream_id" => column.label("stream").null(NOT_APPLICABLE),
        "process_name" | "thread_name" => {
            let reason = argument_not_recorded(&column.name);
            column.null(reason)
        }
        "role" => column.from_width(140).null(NOT_APPLICABLE),
        "thread" | "extent_ns" => column.null(NOT_APPLICABLE),
        _ => column,
    }
}
