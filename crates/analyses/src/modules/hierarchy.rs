//! Modules by what operators say about where they are, as recordings with `with_modules` do.

use std::collections::HashMap;
use std::rc::Rc;

use stepscope_runs::RunError;

use super::backward::SpanKey;
use super::{Group, Modules};
use crate::Asking;

const OPERATORS: &str = "
    SELECT op.rank, op.\"window\", span_id, parent_op_id, step, nullif(module_hierarchy, '') AS hierarchy, dur_ns,
      coalesce(events, 0) AS events, coalesce(device_ns, 0) AS device_ns
    FROM (SELECT * FROM spans WHERE {events} AND kind = 'op' AND phase = 'X') AS op
    LEFT JOIN (
      SELECT rank, \"window\", operator_id, count(*) AS events, sum(dur_ns) AS device_ns
      FROM device_events WHERE {source} AND operator_id IS NOT NULL GROUP BY rank, \"window\", operator_id
    ) AS device
      ON device.rank = op.rank AND device.\"window\" = op.\"window\" AND device.operator_id = op.span_id
    ORDER BY op.rank, op.\"window\", span_id";

/// An operator whose children may still come.
struct Open {
    key: SpanKey,
    /// The modules around it, outermost first.
    modules: Rc<[Group]>,
    /// Its time without the operators below.
    own_ns: i64,
}

/// One operator.
struct Operator {
    key: SpanKey,
    parent: Option<SpanKey>,
    modules: Option<Rc<[Group]>>,
    dur_ns: i64,
    events: i64,
    device_ns: i64,
    backward_ns: i64,
}

pub(super) fn read(asking: &Asking<'_>, backward: &HashMap<SpanKey, i64>) -> Result<Modules, RunError> {
    let mut walk = Walk::default();
    asking.walk(OPERATORS, |frame| {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, ids) = (required("rank")?, required("window")?, required("span_id")?);
        let (parents, steps) = (frame.i64("parent_op_id")?, frame.i64("step")?);
        let (lengths, events, device) = (required("dur_ns")?, required("events")?, required("device_ns")?);
        for (row, hierarchy) in frame.text("hierarchy")?.into_iter().enumerate() {
            let key = |id: i64| (ranks[row], windows[row], id);
            let group = |path: &str| Group::new(asking, path, (ranks[row], windows[row]), steps[row]);
            walk.push(Operator {
                key: key(ids[row]),
                parent: parents[row].map(key),
                modules: hierarchy.map(|hierarchy| paths(&hierarchy).into_iter().map(group).collect()),
                dur_ns: lengths[row],
                events: events[row],
                device_ns: device[row],
                backward_ns: backward.get(&key(ids[row])).copied().unwrap_or(0),
            });
        }
        Ok(())
    })?;
    walk.end_all_but(None);
    Ok(walk.modules)
}

#[derive(Default)]
struct Walk {
    modules: Modules,
    open: Vec<Open>,
}

impl Walk {
    fn push(&mut self, operator: Operator) {
        self.end_all_but(operator.parent);
        let Operator { key, modules, dur_ns, events, device_ns, backward_ns, .. } = operator;
        // An operator that does not say where it is lies where the one around it does.
        let outer = self.open.last().map(|open| Rc::clone(&open.modules));
        let around = modules.or(outer).unwrap_or_else(|| Rc::from(Vec::new()));
        for (place, group) in around.iter().enumerate() {
            let is_same = |other: &Group| other.name == group.name;
            let is_inside = self.open.iter().any(|open| open.modules.iter().any(is_same));
            let sums = self.modules.entry(group.clone()).or_default();
            if !around[..place].iter().any(is_same) {
                sums.host_total_ns += if is_inside { 0 } else { dur_ns };
                sums.device_events += events;
                sums.device_total_ns += device_ns;
                sums.backward_device_ns += backward_ns;
            }
            if place + 1 == around.len() {
                sums.operators += 1;
                sums.device_self_ns += device_ns;
            }
        }
        if let Some(parent) = self.open.last_mut() {
            parent.own_ns -= dur_ns;
        }
        self.open.push(Open { key, modules: around, own_ns: dur_ns });
    }

    /// Ends the operators that do not enclose what comes next.
    fn end_all_but(&mut self, parent: Option<SpanKey>) {
        while self.open.last().is_some_and(|open| Some(open.key) != parent) {
            let Some(open) = self.open.pop() else { break };
            if let Some(sums) = open.modules.last().and_then(|group| self.modules.get_mut(group)) {
                sums.host_self_ns += open.own_ns;
            }
        }
    }
}

/// The paths to the modules of a hierarchy, outermost first: `top(Net)::forward.fc(Linear)::forward` is in two.
fn paths(hierarchy: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut paths = Vec::new();
    for (place, character) in hierarchy.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => paths.push(&hierarchy[..place]),
            _ => {}
        }
    }
    paths.push(hierarchy);
    paths
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn a_hierarchy_is_a_chain_of_modules() {
        assert_eq!(
            paths("top(Net)::forward.fc(torch.nn.Linear)::forward"),
            ["top(Net)::forward", "top(Net)::forward.fc(torch.nn.Linear)::forward"]
        );
        assert_eq!(paths("top"), ["top"]);
    }
}
