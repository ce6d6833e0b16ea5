//! What the operators compute, as far as their recorded shapes tell (metrics, section 15).

use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{SHAPES_NOT_RECORDED, UNSUPPORTED_EVENT_KIND};

use super::Measuring;
use crate::error::AnalysisError;

/// Calls that no other known call encloses: `aten::linear` counts, the `aten::addmm` below it does not.
const OUTERMOST: &str = "
    WITH RECURSIVE known AS (
      SELECT span_id, parent_op_id, position, name, flops FROM ops_with_flops WHERE {source}
    ),
    op AS (
      SELECT span_id, parent_op_id FROM spans WHERE {source} AND kind = 'op'
    ),
    walk AS (
      SELECT span_id, parent_op_id AS enclosing_id FROM known WHERE parent_op_id IS NOT NULL
      UNION ALL
      SELECT walk.span_id, op.parent_op_id
      FROM walk JOIN op ON op.span_id = walk.enclosing_id
      WHERE op.parent_op_id IS NOT NULL
    )
    SELECT name, count(*) AS calls, sum(flops) AS flops
    FROM known AS call
    WHERE NOT EXISTS (
      SELECT 1 FROM walk JOIN known AS outer_call ON outer_call.span_id = walk.enclosing_id
      WHERE walk.span_id = call.span_id
    )
    GROUP BY name
    ORDER BY flops DESC, min(position)";

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let rows = measuring.query(OUTERMOST)?;
    let (calls, flops) = (rows.required_i64("calls")?, rows.required_i64("flops")?);
    let by_op = rows.text("name")?.into_iter().flatten().zip(calls).zip(&flops);
    let by_op = by_op.map(|((name, calls), flops)| json!({ "name": name, "calls": calls, "flops": flops }));
    let by_op: Vec<Json> = by_op.collect();
    if by_op.is_empty() {
        let shapes = measuring.query("SELECT 1 AS one FROM spans WHERE {source} AND input_dims IS NOT NULL LIMIT 1")?;
        let reason = if shapes.rows() == 0 { SHAPES_NOT_RECORDED } else { UNSUPPORTED_EVENT_KIND };
        measuring.missing("flops.total_flops", reason);
    }
    let total = (!flops.is_empty()).then(|| flops.iter().sum::<i64>());
    Ok(json!({ "total_flops": total, "by_op": by_op }))
}
