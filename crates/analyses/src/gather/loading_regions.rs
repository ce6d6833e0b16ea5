//! Regions that their author named for data loading: what speaks for it where no DataLoader is annotated.

use stepscope_rules::{Facts, is_loading_region};
use stepscope_runs::RunError;

use crate::Asking;

/// Adds the time of such regions in which no device works. Regions at once or inside one another count once, and what
/// reaches out of its step is cut off.
pub(super) fn add(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(&format!(
        "SELECT name, count(*) AS calls FROM spans
         WHERE {{events}} AND {complete} AND kind = 'ann' AND phase = 'X' AND name IS NOT NULL GROUP BY name",
    ))?;
    let calls = rows.text("name")?.into_iter().flatten().zip(rows.required_i64("calls")?);
    facts.loading_regions = calls.filter(|(name, _)| is_loading_region(name)).collect();
    if facts.loading_regions.is_empty() {
        return Ok(());
    }
    let quoted = |name: &String| format!("'{}'", name.replace('\'', "''"));
    let names = facts.loading_regions.keys().map(quoted).collect::<Vec<_>>().join(", ");
    let rows = asking.query(&format!(
        "SELECT union_length(start_ns, end_ns) FILTER (WHERE is_region)
           - overlap_length(start_ns, end_ns, is_region) AS loading_ns
         FROM (
           SELECT region.rank, region.\"window\", true AS is_region,
             greatest(region.start_ns, step.start_ns) AS start_ns,
             least(region.start_ns + region.dur_ns, step.end_ns) AS end_ns
           FROM (SELECT * FROM spans WHERE {{events}} AND {complete} AND kind = 'ann' AND phase = 'X'
                 AND name IN ({names})) AS region
           JOIN (SELECT rank, \"window\", step, start_ns, end_ns FROM steps WHERE {{source}}) AS step
             ON step.rank = region.rank AND step.\"window\" = region.\"window\" AND step.step = region.step
           UNION ALL
           SELECT rank, \"window\", false AS is_region, start_ns, end_ns FROM device_events WHERE {{source}}
         ) WHERE start_ns < end_ns GROUP BY rank, \"window\"",
    ))?;
    facts.region_loading_ns = rows.i64("loading_ns")?.into_iter().flatten().sum();
    Ok(())
}
