//! The base time of a trace, which may come last: whatever it would move out of range is dropped.

use std::sync::Arc;

use stepscope_model::Phase;
use stepscope_model::warning::BAD_TIME;

use super::Records;
use super::counts::{Counts, Place};
use super::record::{MomentKey, SpanKey, SpanRecord, is_in_range};
use crate::error::IngestError;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Key, Sorter};

/// Drops the events that the base time moves out of the range of times. Times stay as recorded: the walks add the base.
pub(crate) fn drop_out_of_range(records: &mut Records, scratch: &Arc<Scratch>) -> Result<(), IngestError> {
    let base = records.header.base_time_ns;
    let fits = |time: i64| time.checked_add(base).is_some_and(is_in_range);
    if records.times.is_none_or(|(first, last)| fits(first) && fits(last)) {
        return Ok(());
    }
    let Records { spans, flows, counters, memory, counts, .. } = records;
    records.time_range = None;
    let range = &mut records.time_range;
    retain(spans, scratch, counts, |key: &SpanKey, bytes| {
        let (start, end) = (key.start, key.end());
        let is_kept = fits(start) && fits(end);
        if is_kept && SpanRecord::read(bytes).head.phase == Phase::Complete {
            *range = Some(range.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
        (is_kept, key.position)
    })?;
    for moments in [flows, counters, memory] {
        retain(moments, scratch, counts, |key: &MomentKey, _| (fits(key.ts), key.position))?;
    }
    Ok(())
}

/// Keeps the entries for which `keeps` says so, and counts the others; `keeps` also gives the place in the file.
fn retain<K: Key>(
    sorter: &mut Sorter<K>,
    scratch: &Arc<Scratch>,
    counts: &mut Counts,
    mut keeps: impl FnMut(&K, &[u8]) -> (bool, u64),
) -> Result<(), IngestError> {
    let all = std::mem::replace(sorter, Sorter::new(scratch)).finish()?;
    let mut reader = all.reader()?;
    while let Some((key, bytes)) = reader.next()? {
        let (is_kept, position) = keeps(&key, bytes);
        if is_kept {
            sorter.push_with(key, |out| out.extend_from_slice(bytes))?;
        } else {
            let place = Place { position: Some(position), offset_bytes: None };
            let detail = "with the base time it is out of range".to_owned();
            counts.drop_event(BAD_TIME, "", place, Some(detail));
        }
    }
    Ok(())
}
