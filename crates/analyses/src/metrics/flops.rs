//! What the operators compute, as far as their recorded shapes tell (metrics, section 15).

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{BEYOND_64_BITS, SHAPES_NOT_RECORDED, UNSUPPORTED_EVENT_KIND};
use stepscope_runs::RunError;

use super::Measuring;
use super::path::Path;

/// Every operator in the order of nesting; those with a value have a name, too.
const OPERATORS: &str = "
    SELECT op.span_id, op.parent_op_id, known.name, known.position, known.flops
    FROM (SELECT span_id, parent_op_id FROM spans WHERE {source} AND kind = 'op') AS op
    LEFT JOIN (SELECT span_id, name, position, flops FROM ops_with_flops WHERE {source}) AS known
      ON known.span_id = op.span_id
    ORDER BY op.span_id";

/// The calls of one operator that count.
struct Counted {
    calls: i64,
    /// Wide enough for as many calls as a source can have.
    flops: i128,
    first_position: i64,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let mut by_op: Vec<(String, Counted)> = outermost(measuring)?.into_iter().collect();
    by_op.sort_unstable_by_key(|(_, counted)| (-counted.flops, counted.first_position));
    if by_op.is_empty() {
        let shapes = measuring.query("SELECT 1 FROM spans WHERE {source} AND input_dims IS NOT NULL LIMIT 1")?;
        let reason = if shapes.rows() == 0 { SHAPES_NOT_RECORDED } else { UNSUPPORTED_EVENT_KIND };
        measuring.missing("flops.total_flops", reason);
    }
    let total = by_op.iter().map(|(_, counted)| counted.flops).reduce(|sum, more| sum + more);
    let total = total.and_then(|total| kept(measuring, "flops.total_flops", total));
    let mut rows = Vec::with_capacity(by_op.len());
    for (place, (name, Counted { calls, flops, .. })) in by_op.into_iter().enumerate() {
        let flops = kept(measuring, &format!("flops.by_op[{place}].flops"), flops);
        rows.push(json!({ "name": name, "calls": calls, "flops": flops }));
    }
    Ok(json!({ "total_flops": total, "by_op": rows }))
}

/// A sum as it is written: none if it is too large.
fn kept(measuring: &mut Measuring<'_>, path: &str, flops: i128) -> Option<i64> {
    let kept = i64::try_from(flops).ok();
    if kept.is_none() {
        measuring.missing(path, BEYOND_64_BITS);
    }
    kept
}

/// By name, the calls that no other known call encloses: `aten::linear` counts, the `aten::addmm` below it does not.
fn outermost(measuring: &Measuring<'_>) -> Result<HashMap<String, Counted>, RunError> {
    let mut counted: HashMap<String, Counted> = HashMap::new();
    let mut path = Path::new();
    measuring.walk(OPERATORS, |rows| {
        let (ids, parents) = (rows.required_i64("span_id")?, rows.i64("parent_op_id")?);
        let (positions, flops) = (rows.i64("position")?, rows.i64("flops")?);
        for (row, name) in rows.text("name")?.into_iter().enumerate() {
            let is_below_known = path.up_to(parents[row]) == Some(true);
            let known = name.zip(flops[row]).zip(positions[row]);
            path.down_to(ids[row], is_below_known || known.is_some());
            let Some(((name, flops), position)) = known.filter(|_| !is_below_known) else { continue };
            let operator = counted.entry(name).or_insert(Counted { calls: 0, flops: 0, first_position: position });
            operator.calls += 1;
            operator.flops += i128::from(flops);
            operator.first_position = operator.first_position.min(position);
        }
        Ok(())
    })?;
    Ok(counted)
}
