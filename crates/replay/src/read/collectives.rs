//! What a rank does in its process groups.

use std::collections::HashMap;

use arrow::array::Array;
use stepscope_model::tables::ALL_COLLECTIVES;

use super::columns::{Places, Tables};
use super::{ReadError, reason};
use crate::recording::{Collective, ProcessGroup, Recording};

const COLUMNS: [&str; 8] = ["group_id", "ordinal", "seq", "collective", "start_ns", "dur_ns", "span_id", "is_host"];

/// Fills in the process groups, and those of their collectives that can be compared with other ranks. Where not all can
/// be taken, those whose kernel was.
pub(crate) fn read(tables: &Tables<'_>, takes_all: bool, recording: &mut Recording) -> Result<(), ReadError> {
    if tables.source.are_sums_left_out() {
        return Err(ReadError::Null(reason::NO_ROLLUPS));
    }
    let events: HashMap<i64, u32> = recording
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.is_communication)
        .map(|(place, event)| (event.span_id, place as u32))
        .collect();
    let mut groups = Places::new();
    let mut launched: Vec<u64> = Vec::new();
    tables.each(&ALL_COLLECTIVES, &COLUMNS, &[], |rows| {
        let (group_id, ordinal, sequence) = (rows.i64("group_id")?, rows.i64("ordinal")?, rows.i64("seq")?);
        let (start, dur, span_id) = (rows.i64("start_ns")?, rows.i64("dur_ns")?, rows.i64("span_id")?);
        let (names, is_host) = (rows.text("collective")?, rows.bool("is_host")?);
        for row in (0..rows.len()).filter(|&row| ordinal.is_valid(row) && !is_host.value(row)) {
            let group = groups.of(group_id.value(row));
            launched.resize(launched.len().max(group as usize + 1), 0);
            launched[group as usize] += 1;
            let event = events.get(&span_id.value(row)).copied();
            if !takes_all && event.is_none() {
                continue;
            }
            recording.collectives.push(Collective {
                start_ns: start.value(row),
                dur_ns: dur.value(row),
                ordinal: ordinal.value(row),
                sequence: sequence.is_valid(row).then(|| sequence.value(row)),
                group,
                name: recording.names.intern(names.get(row).unwrap_or("")),
                event,
            });
        }
        Ok(true)
    })?;
    let groups = groups.into_list().into_iter().zip(launched);
    recording.groups = groups.map(|(group_id, launched)| ProcessGroup { group_id, launched }).collect();
    Ok(())
}
