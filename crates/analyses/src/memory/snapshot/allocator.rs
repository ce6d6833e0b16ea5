//! What rules know of the allocator of a snapshot.

use stepscope_rules::{Allocator, AllocatorState};
use stepscope_runs::RunError;

use super::read;
use crate::Asking;

/// What the snapshots that are asked about say; `None` if there are none.
pub(crate) fn facts(asking: &Asking<'_>) -> Result<Option<Allocator>, RunError> {
    let mut all: Option<Allocator> = None;
    for source in asking.sources.iter().filter(|source| source.is_memory_snapshot()) {
        let all = all.get_or_insert_default();
        for device in read::devices(asking, source)? {
            if let Some(state) = device.state {
                let sum: &mut AllocatorState = all.state.get_or_insert_default();
                sum.reserved_bytes += state.reserved_bytes;
                sum.allocated_bytes += state.allocated_bytes;
                sum.requested_bytes += state.requested_bytes;
                sum.stuck_bytes += state.stuck_bytes;
            }
            let Some(history) = device.history else { continue };
            for (_, failed_bytes, free) in &history.out_of_memory {
                all.failures += 1;
                if *failed_bytes > all.failed_bytes {
                    (all.failed_bytes, all.device_free_bytes) = (*failed_bytes, *free);
                }
            }
            if history.peak.active_bytes >= all.peak_active_bytes {
                all.peak_active_bytes = history.peak.active_bytes;
                all.peak_reserved_bytes = history.peak.reserved_bytes;
                (all.taken_bytes, all.returned_bytes) = (history.taken_bytes, history.returned_bytes);
                all.returns = history.returns;
            }
        }
    }
    Ok(all)
}
