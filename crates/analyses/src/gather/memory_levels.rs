//! How much memory is in use after each step, and how much of what the allocator holds at its peak is not.

use std::cmp::Reverse;

use stepscope_model::tables::{COUNTERS, MEMORY_EVENTS, STEPS};
use stepscope_model::{SourceRecord, Table};
use stepscope_rules::Facts;
use stepscope_runs::RunError;

use super::first;
use crate::Asking;

/// Events of devices, not of the host.
const ON_DEVICE: &str = "device_type IN (1, 6)";

/// Adds what the allocator holds, and levels of the recordings with the most steps.
pub(super) fn add(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), RunError> {
    if let Some(source) = with_most_steps(asking, &MEMORY_EVENTS) {
        facts.reserved_peak = reserved_peak(asking)?;
        let of_source = condition(source);
        let first_device =
            format!("SELECT min(device_id) FROM memory_events WHERE {{source}} AND {of_source} AND {ON_DEVICE}");
        let levels = format!(
            "SELECT ts_ns, position, total_allocated_bytes AS level FROM memory_events
             WHERE {{source}} AND {of_source} AND {ON_DEVICE} AND device_id = ({first_device})
               AND total_allocated_bytes IS NOT NULL AND ts_ns IS NOT NULL"
        );
        facts.memory_after_steps = after_steps(asking, &of_source, &levels)?;
    }
    if let Some(source) = with_most_steps(asking, &COUNTERS) {
        let of_source = condition(source);
        let levels = format!(
            "SELECT ts_ns, position, CAST(value AS BIGINT) AS level FROM counters
             WHERE {{source}} AND {of_source} AND name = 'process_rss_bytes' AND value IS NOT NULL"
        );
        facts.host_memory_after_steps = after_steps(asking, &of_source, &levels)?;
    }
    Ok(())
}

/// The recording with the most steps that has rows of a table.
fn with_most_steps<'a>(asking: &Asking<'a>, table: &Table) -> Option<&'a SourceRecord> {
    let has_rows = |source: &&SourceRecord| source.rows.of(table) > 0;
    let sources = asking.sources.iter().copied().filter(has_rows);
    sources.max_by_key(|source| (source.rows.of(&STEPS), Reverse(source.id)))
}

fn condition(source: &SourceRecord) -> String {
    format!("rank = {} AND \"window\" = {}", source.id.rank, source.id.window)
}

/// Allocated and reserved memory when most is reserved.
fn reserved_peak(asking: &Asking<'_>) -> Result<Option<(i64, i64)>, RunError> {
    let rows = asking.query(&format!(
        "SELECT total_allocated_bytes, total_reserved_bytes FROM memory_events
         WHERE {{source}} AND {ON_DEVICE} AND total_allocated_bytes IS NOT NULL AND total_reserved_bytes IS NOT NULL
         ORDER BY total_reserved_bytes DESC, total_allocated_bytes DESC LIMIT 1"
    ))?;
    if rows.rows() == 0 {
        return Ok(None);
    }
    Ok(Some((first(&rows, "total_allocated_bytes")?, first(&rows, "total_reserved_bytes")?)))
}

/// The last level before the end of each complete step on the host; steps without any are left out.
fn after_steps(asking: &Asking<'_>, of_source: &str, levels: &str) -> Result<Vec<i64>, RunError> {
    let steps = asking.query(&format!(
        "SELECT host_start_ns + host_dur_ns AS end_ns FROM steps
         WHERE {{steps}} AND {of_source} AND is_complete ORDER BY step"
    ))?;
    let ends = steps.required_i64("end_ns")?;
    // When the latest was, which one of that time, and the level.
    let mut latest: Vec<Option<((i64, i64), i64)>> = vec![None; ends.len()];
    asking.walk(levels, |rows| {
        let (times, positions) = (rows.required_i64("ts_ns")?, rows.required_i64("position")?);
        for (row, level) in rows.required_i64("level")?.into_iter().enumerate() {
            let moment = (times[row], positions[row]);
            let place = ends.partition_point(|end_ns| *end_ns < times[row]);
            if let Some(known) = latest.get_mut(place)
                && known.is_none_or(|(last, _)| last < moment)
            {
                *known = Some((moment, level));
            }
        }
        Ok(())
    })?;
    Ok(latest.into_iter().flatten().map(|(_, level)| level).collect())
}
