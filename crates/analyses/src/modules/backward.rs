//! Device time of the backward pass, by the forward operator that it belongs to.

use std::collections::HashMap;

use stepscope_runs::RunError;

use crate::Asking;

/// A span of a recording: rank, window and number.
pub(super) type SpanKey = (i64, i64, i64);

const OPERATORS: &str = "
    SELECT op.rank, op.\"window\", span_id, parent_op_id, forward_id,
      CASE WHEN module_id IS NULL THEN coalesce(device_ns, 0) ELSE 0 END AS device_ns
    FROM (SELECT * FROM spans WHERE {source} AND kind = 'op' AND phase = 'X') AS op
    LEFT JOIN (
      SELECT rank, \"window\", operator_id, sum(dur_ns) AS device_ns
      FROM device_events WHERE {source} AND operator_id IS NOT NULL GROUP BY rank, \"window\", operator_id
    ) AS device
      ON device.rank = op.rank AND device.\"window\" = op.\"window\" AND device.operator_id = op.span_id
    ORDER BY op.rank, op.\"window\", span_id";

/// Work below a backward operator is its work, so what has no forward operator takes the one of its parent. What runs
/// in a module again, as checkpoints do, counts as that module's forward work already.
pub(super) fn times(asking: &Asking<'_>) -> Result<HashMap<SpanKey, i64>, RunError> {
    let mut times: HashMap<SpanKey, i64> = HashMap::new();
    let mut open: Vec<(SpanKey, Option<i64>)> = Vec::new();
    asking.walk(OPERATORS, |frame| {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, ids) = (required("rank")?, required("window")?, required("span_id")?);
        let (parents, forwards) = (frame.i64("parent_op_id")?, frame.i64("forward_id")?);
        for (row, device_ns) in required("device_ns")?.into_iter().enumerate() {
            let key = |id: i64| (ranks[row], windows[row], id);
            let parent = parents[row].map(key);
            while open.last().is_some_and(|(id, _)| Some(*id) != parent) {
                open.pop();
            }
            let forward = forwards[row].or_else(|| open.last().and_then(|(_, forward)| *forward));
            open.push((key(ids[row]), forward));
            if let Some(forward) = forward.filter(|_| device_ns > 0) {
                *times.entry(key(forward)).or_default() += device_ns;
            }
        }
        Ok(())
    })?;
    Ok(times)
}
