//! FLOPs of steps from recorded shapes, and how much of the time they explain (metrics, section 15).

use std::collections::BTreeMap;

use stepscope_runs::RunError;

use super::Asking;
use super::step_times::{StepTime, in_complete};

/// What the operators of complete steps compute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FlopCount {
    pub flops: i64,
    /// The part of it that ran on a device, by operator.
    pub by_operator: BTreeMap<String, i64>,
    /// Lower bound of what ran on a device: calls that launched work, causal attention up to its diagonal.
    pub least_flops: i64,
    /// Device time of operators with FLOPs and of those below them.
    pub covered_ns: i64,
    /// Device time of all operators, and of work without one.
    pub device_ns: i64,
    /// Host time of the outermost operators with FLOPs, and of all outermost operators.
    pub covered_host_ns: i64,
    pub host_ns: i64,
}

/// Operators with their device time, parents before children.
const OPERATORS: &str = "
    SELECT op.rank, op.\"window\", span_id, parent_op_id, name, flops, least_flops, dur_ns,
      coalesce(device_ns, 0) AS device_ns
    FROM (
      SELECT rank, \"window\", span_id, parent_op_id, name, dur_ns,
        op_flops(name, input_dims, concrete_inputs) AS flops,
        op_least_flops(name, input_dims, concrete_inputs) AS least_flops
      FROM spans
      WHERE {events} AND kind = 'op' AND phase = 'X' AND {complete}
    ) AS op
    LEFT JOIN (
      SELECT rank, \"window\", operator_id, sum(dur_ns) AS device_ns
      FROM device_events WHERE {source} AND operator_id IS NOT NULL GROUP BY rank, \"window\", operator_id
    ) AS device
      ON device.rank = op.rank AND device.\"window\" = op.\"window\" AND device.operator_id = op.span_id
    ORDER BY op.rank, op.\"window\", span_id";

/// Counts what complete steps compute; none when no operator has shapes to count by.
pub(super) fn count(asking: &Asking<'_>, steps: &[StepTime]) -> Result<Option<FlopCount>, RunError> {
    count_where(asking, &in_complete(steps))
}

/// Counts what the operators compute that `condition` picks.
pub(super) fn count_where(asking: &Asking<'_>, condition: &str) -> Result<Option<FlopCount>, RunError> {
    if asking.has_sums() { from_sums(asking, condition) } else { from_spans(asking, condition) }
}

fn from_sums(asking: &Asking<'_>, condition: &str) -> Result<Option<FlopCount>, RunError> {
    let rows = asking.query(&format!(
        "SELECT name, sum(outermost_flops) AS flops, sum(least_flops) AS least_flops,
           sum(outermost_flops) FILTER (WHERE least_flops IS NOT NULL) AS device_flops,
           sum(flops_device_ns) AS covered_ns, sum(device_self_ns) AS device_ns,
           sum(flops_host_ns) AS covered_host_ns, sum(root_host_ns) AS host_ns
         FROM op_rollup WHERE {{steps}} AND {condition} GROUP BY name ORDER BY name",
    ))?;
    let sum = |name: &str| Ok::<i64, RunError>(rows.i64(name)?.into_iter().flatten().sum());
    if rows.i64("flops")?.iter().all(Option::is_none) {
        return Ok(None);
    }
    let by_operator = rows.text("name")?.into_iter().zip(rows.i64("device_flops")?);
    Ok(Some(FlopCount {
        flops: sum("flops")?,
        by_operator: by_operator.filter_map(|(name, flops)| Some((name?, flops?))).collect(),
        least_flops: sum("least_flops")?,
        covered_ns: sum("covered_ns")?,
        device_ns: sum("device_ns")?,
        covered_host_ns: sum("covered_host_ns")?,
        host_ns: sum("host_ns")?,
    }))
}

/// An operator on the way from the outermost to the current one.
struct Open {
    id: i64,
    /// Its FLOPs count, or those of an operator around it.
    is_counted: bool,
    least_flops: i64,
    /// Its name and FLOPs, if these count.
    counted: Option<(String, i64)>,
    /// Of it and of the operators below.
    device_ns: i64,
}

/// Ends the innermost operator: what it computes is certain if it launched anything.
fn end(path: &mut Vec<Open>, count: &mut FlopCount) {
    let Some(ended) = path.pop() else { return };
    if ended.device_ns > 0 {
        count.least_flops += ended.least_flops;
        if let Some((name, flops)) = ended.counted {
            *count.by_operator.entry(name).or_default() += flops;
        }
    }
    if let Some(parent) = path.last_mut() {
        parent.device_ns += ended.device_ns;
    }
}

fn from_spans(asking: &Asking<'_>, condition: &str) -> Result<Option<FlopCount>, RunError> {
    if asking.query("SELECT 1 FROM ops_with_flops WHERE {events} LIMIT 1")?.rows() == 0 {
        return Ok(None);
    }
    let mut count = FlopCount::default();
    let mut path: Vec<Open> = Vec::new();
    let mut source = None;
    asking.walk(&OPERATORS.replace("{complete}", condition), |rows| {
        let (ranks, windows) = (rows.required_i64("rank")?, rows.required_i64("window")?);
        let (ids, parents) = (rows.required_i64("span_id")?, rows.i64("parent_op_id")?);
        let (flops, least, device) = (rows.i64("flops")?, rows.i64("least_flops")?, rows.required_i64("device_ns")?);
        let durations = rows.required_i64("dur_ns")?;
        let mut names = rows.text("name")?;
        for row in 0..rows.rows() {
            if source.replace((ranks[row], windows[row])) != Some((ranks[row], windows[row])) {
                while !path.is_empty() {
                    end(&mut path, &mut count);
                }
            }
            while path.last().is_some_and(|open| Some(open.id) != parents[row]) {
                end(&mut path, &mut count);
            }
            let is_inside = path.last().is_some_and(|open| open.is_counted);
            let own = flops[row].filter(|_| !is_inside);
            count.flops += own.unwrap_or(0);
            count.covered_host_ns += if own.is_some() { durations[row] } else { 0 };
            count.host_ns += if path.is_empty() { durations[row] } else { 0 };
            let is_counted = is_inside || own.is_some();
            count.covered_ns += if is_counted { device[row] } else { 0 };
            let least_flops = least[row].filter(|_| !is_inside).unwrap_or(0);
            let counted = names[row].take().zip(own);
            path.push(Open { id: ids[row], is_counted, least_flops, counted, device_ns: device[row] });
        }
        Ok(())
    })?;
    while !path.is_empty() {
        end(&mut path, &mut count);
    }
    let all = asking.query(&format!(
        "SELECT CAST(coalesce(sum(dur_ns), 0) AS BIGINT) AS device_ns FROM device_events WHERE {{events}} AND {condition}"
    ))?;
    count.device_ns = all.required_i64("device_ns")?.first().copied().unwrap_or(0);
    Ok(Some(count))
}
