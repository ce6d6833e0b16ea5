//! Modules by their calls, which newer recordings have as Python frames.

use std::collections::HashMap;

use stepscope_runs::{Frame, RunError};

use super::backward::SpanKey;
use super::{Group, Modules, Sums};
use crate::Asking;

/// Calls of modules, a caller before what it calls. A recording without marks is one step, which frames do not say.
const CALLS: &str = "
    SELECT rank, \"window\", span_id, module_id, step, name, start_ns, dur_ns
    FROM (
      SELECT frame.rank, frame.\"window\", span_id, module_id, coalesce(frame.step, whole.step) AS step, name,
        start_ns, dur_ns
      FROM (SELECT * FROM spans WHERE {source} AND kind = 'py' AND python_module_id IS NOT NULL) AS frame
      LEFT JOIN (SELECT rank, \"window\", step FROM steps WHERE {source} AND source = 'whole_trace') AS whole
        ON whole.rank = frame.rank AND whole.\"window\" = frame.\"window\"
    )
    WHERE {events} ORDER BY rank, \"window\", span_id";

const OPERATORS: &str = "
    SELECT rank, \"window\", module_id, count(*) AS operators FROM spans
    WHERE {source} AND kind = 'op' AND phase = 'X' AND module_id IS NOT NULL GROUP BY rank, \"window\", module_id";

/// Device work by the module that its launch call lies in.
const DEVICE: &str = "
    SELECT call.rank, call.\"window\", module_id, sum(device_events) AS events, sum(device_total_ns) AS device_ns
    FROM (SELECT * FROM launches WHERE {source}) AS call
    JOIN (
      SELECT rank, \"window\", span_id, module_id FROM spans WHERE {source} AND kind = 'rt' AND module_id IS NOT NULL
    ) AS place
      ON place.rank = call.rank AND place.\"window\" = call.\"window\" AND place.span_id = call.span_id
    GROUP BY call.rank, call.\"window\", module_id";

const FORWARD: &str = "
    SELECT rank, \"window\", span_id, module_id FROM spans
    WHERE {source} AND kind = 'op' AND phase = 'X' AND module_id IS NOT NULL";

/// One call of a module.
struct Call {
    group: Group,
    outer: Option<usize>,
    end_ns: i64,
    /// Until when the modules that it calls are counted, and how long they took.
    covered_to_ns: i64,
    covered_ns: i64,
}

/// Every call of a module in the part that is asked about.
#[derive(Default)]
struct Calls {
    list: Vec<Call>,
    by_span: HashMap<SpanKey, usize>,
    modules: Modules,
}

pub(super) fn read(asking: &Asking<'_>, backward: &HashMap<SpanKey, i64>) -> Result<Modules, RunError> {
    let mut calls = Calls::default();
    asking.walk(CALLS, |frame| calls.add(asking, frame))?;
    calls.add_self_times();
    let operators = asking.query(OPERATORS)?;
    let counts = operators.required_i64("operators")?;
    for (row, call) in calls.of_rows(&operators)?.into_iter().enumerate() {
        calls.innermost(call, |sums| sums.operators += counts[row]);
    }
    let device = asking.query(DEVICE)?;
    let (events, times) = (device.required_i64("events")?, device.required_i64("device_ns")?);
    for (row, call) in calls.of_rows(&device)?.into_iter().enumerate() {
        calls.innermost(call, |sums| sums.device_self_ns += times[row]);
        calls.around(call, |sums| {
            sums.device_events += events[row];
            sums.device_total_ns += times[row];
        });
    }
    if !backward.is_empty() {
        asking.walk(FORWARD, |frame| {
            let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
            let ids = frame.required_i64("span_id")?;
            for (row, call) in calls.of_rows(frame)?.into_iter().enumerate() {
                if let Some(device_ns) = backward.get(&(ranks[row], windows[row], ids[row])) {
                    calls.around(call, |sums| sums.backward_device_ns += device_ns);
                }
            }
            Ok(())
        })?;
    }
    Ok(calls.modules)
}

impl Calls {
    fn add(&mut self, asking: &Asking<'_>, frame: &Frame) -> Result<(), RunError> {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, ids) = (required("rank")?, required("window")?, required("span_id")?);
        let (steps, starts, lengths) = (frame.i64("step")?, required("start_ns")?, required("dur_ns")?);
        let callers = frame.i64("module_id")?;
        for (row, name) in frame.text("name")?.into_iter().enumerate() {
            let key = |id: i64| (ranks[row], windows[row], id);
            let outer = callers[row].and_then(|caller| self.by_span.get(&key(caller)).copied());
            let name = name.unwrap_or_default();
            let name = name.strip_prefix("nn.Module: ").unwrap_or(&name);
            let around = outer.filter(|_| asking.groups_by("path")).map(|outer| &self.list[outer].group.name);
            let path = around.map(|around| format!("{around}/{name}"));
            let name = path.as_deref().unwrap_or(name);
            let group = Group::new(asking, name, (ranks[row], windows[row]), steps[row]);
            let (start_ns, end_ns) = (starts[row], starts[row] + lengths[row]);
            if let Some(outer) = outer {
                self.list[outer].cover(start_ns, end_ns);
            }
            let is_inside = self.chain(outer).any(|call| call.group.name == group.name);
            let sums = self.modules.entry(group.clone()).or_default();
            sums.occurrences = Some(sums.occurrences.unwrap_or(0) + 1);
            sums.host_total_ns += if is_inside { 0 } else { lengths[row] };
            sums.host_self_ns += lengths[row];
            self.by_span.insert(key(ids[row]), self.list.len());
            self.list.push(Call { group, outer, end_ns, covered_to_ns: start_ns, covered_ns: 0 });
        }
        Ok(())
    }

    /// What inner calls cover is known once all have come.
    fn add_self_times(&mut self) {
        for call in &self.list {
            if let Some(sums) = self.modules.get_mut(&call.group) {
                sums.host_self_ns -= call.covered_ns;
            }
        }
    }

    /// The call that `module_id` of each row names, if it is asked about.
    fn of_rows(&self, frame: &Frame) -> Result<Vec<Option<usize>>, RunError> {
        let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
        let ids = frame.i64("module_id")?.into_iter().enumerate();
        Ok(ids.map(|(row, id)| self.by_span.get(&(ranks[row], windows[row], id?)).copied()).collect())
    }

    fn chain(&self, call: Option<usize>) -> impl Iterator<Item = &Call> {
        let mut next = call;
        std::iter::from_fn(move || {
            let call = self.list.get(next?)?;
            next = call.outer;
            Some(call)
        })
    }

    fn innermost(&mut self, call: Option<usize>, add: impl FnOnce(&mut Sums)) {
        if let Some(sums) = call.and_then(|call| self.modules.get_mut(&self.list[call].group)) {
            add(sums);
        }
    }

    /// Adds to every module around a place, once for each name.
    fn around(&mut self, call: Option<usize>, mut add: impl FnMut(&mut Sums)) {
        let mut groups: Vec<Group> = Vec::new();
        for call in self.chain(call) {
            // The outermost of a name is the one whose time is its total.
            groups.retain(|group| group.name != call.group.name);
            groups.push(call.group.clone());
        }
        for group in groups {
            if let Some(sums) = self.modules.get_mut(&group) {
                add(sums);
            }
        }
    }
}

impl Call {
    fn cover(&mut self, start_ns: i64, end_ns: i64) {
        let (start_ns, end_ns) = (start_ns.max(self.covered_to_ns), end_ns.min(self.end_ns));
        if end_ns > start_ns {
            self.covered_ns += end_ns - start_ns;
            self.covered_to_ns = end_ns;
        }
    }
}
