//! Adds up operators one by one, for what sums by step cannot answer: a stretch of time, or groups by call stack.

use stepscope_runs::RunError;

use super::{Group, Operators, Sums, add_known};
use crate::Asking;
use crate::stacks::Stacks;

/// Operators in the order of their starts on each thread, so that a parent comes right before its children.
const OPERATORS: &str = "
    SELECT op.rank, op.\"window\", span_id, parent_op_id, step, name, input_dims, call_stack, python_parent_id,
      dur_ns, self_ns, op_flops(name, input_dims, concrete_inputs) AS flops, coalesce(events, 0) AS events, coalesce(device_ns, 0) AS device_ns
    FROM (SELECT * FROM spans WHERE {events} AND kind = 'op' AND phase = 'X') AS op
    LEFT JOIN (
      SELECT rank, \"window\", operator_id, count(*) AS events, sum(dur_ns) AS device_ns
      FROM device_events WHERE {source} AND operator_id IS NOT NULL GROUP BY rank, \"window\", operator_id
    ) AS device
      ON device.rank = op.rank AND device.\"window\" = op.\"window\" AND device.operator_id = op.span_id
    ORDER BY op.rank, op.\"window\", span_id";

const REST: &str = "
    SELECT count(*) AS events, coalesce(sum(dur_ns), 0) AS device_ns
    FROM device_events WHERE {events} AND operator_id IS NULL";

/// An operator whose children may still come.
struct Open {
    id: i64,
    group: Group,
    is_outermost: bool,
    device_ns: i64,
    /// FLOPs of the call, and whether they or those of an operator around it are known.
    flops: Option<i64>,
    has_flops: bool,
    child_ops: u64,
    same_child: Option<Group>,
}

/// The operators that start in the time range, as if nothing else were.
pub(super) fn walk_operators(asking: &Asking<'_>) -> Result<Operators, RunError> {
    let stacks = if asking.groups_by("stack") { Some(Stacks::read(asking)?) } else { None };
    let mut walk = Walk { operators: Operators::default(), open: Vec::new(), source: (0, 0) };
    asking.walk(OPERATORS, |frame| {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, ids) = (required("rank")?, required("window")?, required("span_id")?);
        let (parents, steps) = (frame.i64("parent_op_id")?, frame.i64("step")?);
        let (names, dims) = (frame.text("name")?, frame.text("input_dims")?);
        let (recorded, frames) = (frame.text("call_stack")?, frame.i64("python_parent_id")?);
        let (durations, self_times) = (required("dur_ns")?, required("self_ns")?);
        let (events, device) = (required("events")?, required("device_ns")?);
        let flops = frame.i64("flops")?;
        for row in 0..frame.rows() {
            let source = (ranks[row], windows[row]);
            let stack =
                stacks.as_ref().and_then(|stacks| recorded[row].clone().or_else(|| stacks.of(source, frames[row]?)));
            let group = Group {
                name: names[row].clone().unwrap_or_default(),
                rank: asking.groups_by("rank").then_some(ranks[row]),
                window: asking.groups_by("window").then_some(windows[row]),
                step: steps[row].filter(|_| asking.groups_by("step")),
                input_shape: dims[row].clone().filter(|_| asking.groups_by("input_shape")),
                stack,
            };
            walk.enter(source, parents[row]);
            walk.push(ids[row], group, flops[row], durations[row], self_times[row], (events[row], device[row]));
        }
        Ok(())
    })?;
    walk.end_all_but(None);
    let rest = asking.query(REST)?;
    let first = |name: &str| rest.required_i64(name).map(|values| values.first().copied().unwrap_or(0));
    walk.operators.rest_events = first("events")?;
    walk.operators.rest_ns = first("device_ns")?;
    Ok(walk.operators)
}

struct Walk {
    operators: Operators,
    open: Vec<Open>,
    source: (i64, i64),
}

impl Walk {
    fn enter(&mut self, source: (i64, i64), parent: Option<i64>) {
        if source != self.source {
            self.end_all_but(None);
            self.source = source;
        }
        self.end_all_but(parent);
    }

    fn push(
        &mut self,
        id: i64,
        group: Group,
        flops: Option<i64>,
        dur_ns: i64,
        self_ns: i64,
        (events, device_ns): (i64, i64),
    ) {
        let is_counted_above = self.open.iter().any(|open| open.group.name == group.name && open.flops.is_some());
        let is_inside_flops = self.open.last().is_some_and(|parent| parent.has_flops);
        let is_outermost = !self.open.iter().any(|open| open.group.name == group.name);
        if let Some(parent) = self.open.last_mut() {
            parent.child_ops += 1;
            parent.same_child = (parent.group.name == group.name).then(|| group.clone());
        }
        let sums = self.operators.groups.entry(group.clone()).or_default();
        sums.spans += 1;
        sums.calls += 1;
        sums.host_self_ns += self_ns;
        sums.host_total_ns += if is_outermost { dur_ns } else { 0 };
        sums.device_events += events;
        sums.device_self_ns += device_ns;
        add_known(&mut sums.flops, flops.filter(|_| !is_counted_above));
        add_known(&mut sums.outermost_flops, flops.filter(|_| !is_inside_flops));
        let has_flops = is_inside_flops || flops.is_some();
        self.open.push(Open { id, group, is_outermost, device_ns, flops, has_flops, child_ops: 0, same_child: None });
    }

    /// Ends the operators that do not enclose what comes next.
    fn end_all_but(&mut self, parent: Option<i64>) {
        while self.open.last().is_some_and(|open| Some(open.id) != parent) {
            let Some(open) = self.open.pop() else { break };
            if let Some(parent) = self.open.last_mut() {
                parent.device_ns += open.device_ns;
            }
            if open.is_outermost {
                self.sums(&open.group).device_total_ns += open.device_ns;
            }
            // An only child of the same name is the same call seen again.
            if let (1, Some(child)) = (open.child_ops, &open.same_child) {
                self.sums(child).calls -= 1;
            }
        }
    }

    fn sums(&mut self, group: &Group) -> &mut Sums {
        self.operators.groups.entry(group.clone()).or_default()
    }
}
