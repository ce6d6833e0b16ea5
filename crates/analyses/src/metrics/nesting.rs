//! How the host's time is shared between spans.

use serde_json::{Value as Json, json};
use stepscope_runs::RunError;

use super::Measuring;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let sums = measuring.query(
        "SELECT count(DISTINCT track_id) AS threads,
                coalesce(sum(self_ns) FILTER (WHERE kind = 'op'), 0) AS ops_ns,
                coalesce(sum(self_ns) FILTER (WHERE kind = 'rt'), 0) AS runtime_ns,
                count(*) FILTER (WHERE kind <> 'rt' AND parent_id IS NULL) AS top_level
         FROM spans WHERE {source} AND kind IN ('op', 'ann', 'rt')",
    )?;
    let sum = |name: &str| sums.required_i64(name).map(|values| values.first().copied());
    Ok(json!({
        "threads": sum("threads")?,
        "host_self_ops_ns": sum("ops_ns")?,
        "host_self_runtime_ns": sum("runtime_ns")?,
        "top_level_spans": sum("top_level")?,
    }))
}
