//! What the file is and what is in it.

use serde_json::{Map, Value as Json, json};
use stepscope_model::null_reason::{UNSUPPORTED_EVENT_KIND, argument_not_recorded};
use stepscope_model::tables::MEMORY_EVENTS;
use stepscope_model::warning::{BROKEN_EVENT, CUT_EVENT, EVENT_TOO_DEEP, EVENT_TOO_LONG, NOT_AN_OBJECT};
use stepscope_runs::RunError;

use super::Measuring;

/// Losses of the reader: elements that never became an event.
const UNREAD: [&str; 5] =
    [BROKEN_EVENT.code, CUT_EVENT.code, EVENT_TOO_DEEP.code, EVENT_TOO_LONG.code, NOT_AN_OBJECT.code];

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let kinds = measuring.query(
        "SELECT kind, count(*) AS spans FROM spans WHERE {source} AND phase = 'X' GROUP BY kind ORDER BY kind",
    )?;
    let counts = kinds.required_i64("spans")?;
    let by_kind: Map<String, Json> =
        kinds.text("kind")?.into_iter().flatten().zip(counts.iter().map(|&count| Json::from(count))).collect();
    let source = measuring.source;
    let unread: u64 = UNREAD.iter().filter_map(|code| source.dropped.get(*code)).sum();
    let devices =
        source.devices.as_ref().map(|devices| devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>());
    let missing = [
        ("schema_version", source.trace_schema_version.is_null(), "schemaVersion"),
        ("rank", source.header_rank.is_null(), "distributedInfo"),
        ("world_size", source.header_world_size.is_null(), "distributedInfo"),
        ("devices_in_header", devices.is_none(), "deviceProperties"),
    ];
    for (member, _, argument) in missing.into_iter().filter(|(_, is_missing, _)| *is_missing) {
        measuring.missing(&format!("format.{member}"), argument_not_recorded(argument));
    }
    for (place, _) in devices.iter().flatten().enumerate().filter(|(_, name)| name.is_none()) {
        let path = format!("format.devices_in_header[{place}]");
        measuring.missing(&path, argument_not_recorded("deviceProperties"));
    }
    if source.first_event_ns.is_none() {
        measuring.missing("format.first_event_ns", UNSUPPORTED_EVENT_KIND);
        measuring.missing("format.last_event_ns", UNSUPPORTED_EVENT_KIND);
    }
    Ok(json!({
        "notes": source.notes,
        "schema_version": source.trace_schema_version,
        "base_time_ns": source.base_time_ns,
        "clock_resolution_ns": source.clock_resolution_ns,
        "raw_events": source.events_in - unread,
        "events_by_phase_and_category": source.events_by_phase_and_category,
        "kept_duration_events": counts.iter().sum::<i64>(),
        "memory_events": source.rows.of(&MEMORY_EVENTS),
        "by_kind": by_kind,
        "rank": source.header_rank,
        "world_size": source.header_world_size,
        "devices_in_header": devices,
        "first_event_ns": source.first_event_ns,
        "last_event_ns": source.last_event_ns,
    }))
}
