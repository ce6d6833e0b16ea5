//! Allocators of TensorFlow and JAX: what each can give, and how much it ever gave, as they say it with every change
//! (metrics, section 16).

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stepscope_model::null_reason::argument_not_recorded;
use stepscope_model::{Holds, Look, ReportColumn, ReportTable, Unit};
use stepscope_runs::RunError;

use crate::Asking;

/// One allocator of one recording, in bytes.
#[derive(Clone, Debug, Default)]
struct Allocator {
    peak: i64,
    /// What it has in use and left at the peak.
    capacity: Option<i64>,
    /// The highest peak that it speaks of; it may be from before the recording.
    lifetime_peak: Option<i64>,
}

/// The allocators; `None` if none says more than its changes.
pub(super) fn table(asking: &Asking<'_>, moments: &str) -> Result<Option<ReportTable>, RunError> {
    if !asking.sources.iter().any(|source| source.is_xplane()) {
        return Ok(None);
    }
    let mut allocators: BTreeMap<(i64, i64, String), Allocator> = BTreeMap::new();
    let statement = format!(
        "SELECT rank, \"window\", allocator, total_allocated_bytes, args FROM memory_events
         WHERE {moments} AND allocator IS NOT NULL ORDER BY rank, \"window\", ts_ns, position"
    );
    asking.walk(&statement, |frame| {
        let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
        let (totals, args) = (frame.i64("total_allocated_bytes")?, frame.text("args")?);
        for (row, name) in frame.text("allocator")?.into_iter().enumerate() {
            let args: Json = args[row].as_deref().and_then(|args| serde_json::from_str(args).ok()).unwrap_or_default();
            let figure = |name: &str| args.get(name).and_then(Json::as_i64);
            let key = (ranks[row], windows[row], name.unwrap_or_default());
            let allocator = allocators.entry(key).or_default();
            allocator.lifetime_peak = allocator.lifetime_peak.max(figure("peak_bytes_in_use"));
            if let Some(total) = totals[row].filter(|total| *total > allocator.peak) {
                allocator.peak = total;
                allocator.capacity = figure("bytes_available").map(|left| left.saturating_add(total));
            }
        }
        Ok(())
    })?;
    let is_known = |allocator: &Allocator| allocator.capacity.or(allocator.lifetime_peak).is_some();
    if !allocators.values().any(is_known) {
        return Ok(None);
    }
    let named = ReportColumn::named;
    let by = |name: &str| named(name).look(if asking.all_sources > 1 { Look::Value } else { Look::Hidden });
    let available = argument_not_recorded("bytes_available");
    let share = |allocator: &Allocator| {
        let capacity = allocator.capacity.filter(|capacity| *capacity > 0)?;
        Some(allocator.peak as f64 / capacity as f64)
    };
    let table = ReportTable::of("allocators", allocators)
        .column(named("allocator").holds(Holds::Texts), |((_, _, name), _)| name.clone())
        .column(by("rank"), |((rank, ..), _)| *rank)
        .column(by("window"), |((_, window, _), _)| *window)
        .column(named("peak_bytes").label("peak").unit(Unit::Bytes), |(_, allocator)| allocator.peak)
        .column(named("capacity_bytes").label("capacity").unit(Unit::Bytes).null(&available), |(_, allocator)| {
            allocator.capacity
        })
        .column(named("full_ratio").label("full at the peak").null(&available), |(_, allocator)| share(allocator))
        .column(
            named("lifetime_peak_bytes")
                .label("lifetime peak")
                .unit(Unit::Bytes)
                .null(argument_not_recorded("peak_bytes_in_use")),
            |(_, allocator)| allocator.lifetime_peak,
        )
        .table();
    Ok(Some(ReportTable { title: Some("ALLOCATORS".to_owned()), ..table }))
}
