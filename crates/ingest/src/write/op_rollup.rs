//! Adds up the operators of each step, by name and input shape (metrics, sections 10 and 15).

use std::sync::Arc;

use hashbrown::HashMap;
use stepscope_figures::op_flops::{op_flops, op_least_flops, operators};
use stepscope_model::args::SpanArgColumn;
use stepscope_model::framework_op::operator_type;
use twox_hash::XxHash3_128;

use super::rows::Rows;
use crate::collect::record::SpanId;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::groups::{Group, Groups, Numbers, Sums};
use crate::spill::row::{Field, row};
use crate::spill::scratch::Scratch;
use crate::spill::strings::{Strings, Text, TextId};

row! {
    /// Sums of a group.
    #[derive(Default, PartialEq)]
    OpSums {
        spans: i64,
        calls: i64,
        host_self_ns: i64,
        host_total_ns: i64,
        device_events: i64,
        device_self_ns: i64,
        device_total_ns: i64,
        flops: Option<i64>,
        outermost_flops: Option<i64>,
        least_flops: Option<i64>,
        flops_device_ns: i64,
        flops_host_ns: i64,
        root_host_ns: i64,
    }
}

impl Sums for OpSums {
    fn add(&mut self, other: &Self) {
        self.spans += other.spans;
        self.calls += other.calls;
        self.host_self_ns = self.host_self_ns.saturating_add(other.host_self_ns);
        self.host_total_ns = self.host_total_ns.saturating_add(other.host_total_ns);
        self.device_events += other.device_events;
        self.device_self_ns = self.device_self_ns.saturating_add(other.device_self_ns);
        self.device_total_ns = self.device_total_ns.saturating_add(other.device_total_ns);
        add_known(&mut self.flops, other.flops);
        add_known(&mut self.outermost_flops, other.outermost_flops);
        add_known(&mut self.least_flops, other.least_flops);
        self.flops_device_ns = self.flops_device_ns.saturating_add(other.flops_device_ns);
        self.flops_host_ns = self.flops_host_ns.saturating_add(other.flops_host_ns);
        self.root_host_ns = self.root_host_ns.saturating_add(other.root_host_ns);
    }

    fn put(&self, out: &mut Vec<u8>) {
        Field::put(*self, out);
    }

    fn take(bytes: &mut &[u8]) -> Self {
        Field::take(bytes)
    }
}

fn add_known(sum: &mut Option<i64>, more: Option<i64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// Paths of operators that are added up in memory.
const PATHS_IN_MEMORY: usize = 1 << 16;

/// An operator that has not ended.
struct Open {
    id: SpanId,
    group: Group,
    /// Tells names apart.
    name: u64,
    is_outermost: bool,
    /// Its FLOPs are known, or those of an operator around it.
    has_flops: bool,
    sums: OpSums,
    /// Device time of it and of the operators below.
    device_ns: i64,
    child_ops: u64,
    /// The last child, if it has the same name.
    same_child: Option<Group>,
}

/// Device work that belongs to an operator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceWork {
    pub events: i64,
    pub time_ns: i64,
}

/// The operators of a source being added up.
pub(crate) struct OpRollup {
    open: Vec<Open>,
    groups: Groups<OpSums>,
    /// Device work by step and by the path of the operator that it names.
    by_path: HashMap<(Option<u32>, TextId), OpSums>,
    flops: FlopsOfCalls,
}

impl OpRollup {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { open: Vec::new(), groups: Groups::new(scratch), by_path: HashMap::new(), flops: FlopsOfCalls::default() }
    }

    /// Takes the next operator, in the order of the table, with what was derived about it.
    pub(crate) fn push(
        &mut self,
        span: &Span<'_>,
        parent_op: Option<SpanId>,
        step: Option<u32>,
        self_ns: i64,
        device: DeviceWork,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        self.end_all_but(parent_op, strings)?;
        let texts = span.record.texts;
        let (name, dims) = (span.record.head.name.unwrap_or_default(), span.record.text(SpanArgColumn::input_dims));
        let numbers = Numbers { step: step.map(i64::from), ..Numbers::default() };
        let group = Group::new(numbers, Some(name), dims, texts, strings);
        let name = match name {
            Text::Id(id) => id.index() as u64,
            Text::Behind { .. } => XxHash3_128::oneshot(strings.resolve(name, texts).as_bytes()) as u64 | 1 << 63,
        };
        let is_outermost = !self.open.iter().any(|open| open.name == name);
        let is_inside_flops = self.open.last().is_some_and(|parent| parent.has_flops);
        let flops = dims.and_then(|dims| self.flops.of(span, dims, strings));
        let has_flops = is_inside_flops || flops.is_some();
        let outermost_flops = flops.map(|call| call.all).filter(|_| !is_inside_flops);
        // Autocast calls an operator again inside itself, with other types.
        let is_counted_above = self.open.iter().any(|open| open.name == name && open.sums.flops.is_some());
        let dur_ns = span.key.dur();
        if let Some(parent) = self.open.last_mut() {
            parent.child_ops += 1;
            parent.same_child = (parent.name == name).then(|| group.clone());
        }
        let sums = OpSums {
            spans: 1,
            calls: 1,
            host_self_ns: self_ns,
            host_total_ns: if is_outermost { dur_ns } else { 0 },
            device_events: device.events,
            device_self_ns: device.time_ns,
            device_total_ns: 0,
            flops: flops.map(|call| call.all).filter(|_| !is_counted_above),
            outermost_flops,
            // Until the operator ends, it is not known whether it launches anything.
            least_flops: flops.and_then(|call| call.least).filter(|_| !is_inside_flops),
            flops_device_ns: if has_flops { device.time_ns } else { 0 },
            flops_host_ns: if outermost_flops.is_some() { dur_ns } else { 0 },
            root_host_ns: if self.open.is_empty() { dur_ns } else { 0 },
        };
        self.open.push(Open {
            id: span.id,
            group,
            name,
            is_outermost,
            has_flops,
            sums,
            device_ns: device.time_ns,
            child_ops: 0,
            same_child: None,
        });
        Ok(())
    }

    /// Takes a device event that belongs to no span of an operator. One that names its operator itself is added to the
    /// operators of that type.
    pub(crate) fn push_device(
        &mut self,
        span: &Span<'_>,
        step: Option<u32>,
        time_ns: i64,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        let sums = OpSums { device_events: 1, device_self_ns: time_ns, device_total_ns: time_ns, ..OpSums::default() };
        let numbers = Numbers { step: step.map(i64::from), ..Numbers::default() };
        let Some(framework_op) = span.record.text(SpanArgColumn::framework_op) else {
            return self.groups.add(Group::new(numbers, None, None, &[], strings), strings, |group| group.add(&sums));
        };
        let Text::Id(path) = framework_op else {
            let group = group_of_type(numbers, strings.resolve(framework_op, span.record.texts));
            return self.groups.add(group, strings, |group| group.add(&sums));
        };
        self.by_path.entry((step, path)).or_default().add(&sums);
        if self.by_path.len() >= PATHS_IN_MEMORY { self.flush_paths(strings) } else { Ok(()) }
    }

    fn flush_paths(&mut self, strings: &Strings) -> Result<(), IngestError> {
        for ((step, path), sums) in self.by_path.drain() {
            let numbers = Numbers { step: step.map(i64::from), ..Numbers::default() };
            let group = group_of_type(numbers, strings.get(path));
            self.groups.add(group, strings, |group| group.add(&sums))?;
        }
        Ok(())
    }

    /// Ends every operator and writes the groups.
    pub(crate) fn finish(mut self, mut rows: Rows<'_>, strings: &Strings) -> Result<(), IngestError> {
        self.end_all_but(None, strings)?;
        self.flush_paths(strings)?;
        self.groups.finish(strings, |group| {
            let sums = group.sums;
            rows.i32(group.numbers.step.map(|step| step as i32))
                .text(group.name)
                .text(group.dims)
                .i64(sums.spans)
                .i64(sums.calls)
                .i64(sums.host_self_ns)
                .i64(sums.host_total_ns)
                .i64(sums.device_events)
                .i64(sums.device_self_ns)
                .i64(sums.device_total_ns)
                .i64(sums.flops)
                .i64(sums.outermost_flops)
                .i64(sums.least_flops)
                .i64(sums.flops_device_ns)
                .i64(sums.flops_host_ns)
                .i64(sums.root_host_ns)
                .end_row()?;
            Ok(())
        })?;
        Ok(rows.finish()?)
    }

    /// Ends the operators inside `parent`: children come in the order of their starts.
    fn end_all_but(&mut self, parent: Option<SpanId>, strings: &Strings) -> Result<(), IngestError> {
        while self.open.last().is_some_and(|open| Some(open.id) != parent) {
            let Some(mut open) = self.open.pop() else { break };
            if open.device_ns == 0 {
                open.sums.least_flops = None;
            }
            if open.is_outermost {
                open.sums.device_total_ns = open.device_ns;
            }
            if let Some(parent) = self.open.last_mut() {
                parent.device_ns = parent.device_ns.saturating_add(open.device_ns);
            }
            // An only child of the same name is the same call seen again.
            if let (1, Some(child)) = (open.child_ops, open.same_child.take()) {
                self.groups.add(child, strings, |sums| sums.calls -= 1)?;
            }
            self.groups.add(open.group, strings, |sums| sums.add(&open.sums))?;
        }
        Ok(())
    }
}

/// The operators of the type that a path ends with.
fn group_of_type(numbers: Numbers, framework_op: &str) -> Group {
    Group::Texts { numbers, name: Some(operator_type(framework_op).to_owned()), dims: None }
}

/// FLOPs of a call, and what of them is certain.
#[derive(Clone, Copy)]
struct CallFlops {
    all: i64,
    least: Option<i64>,
}

/// FLOPs by name, shapes and values: a model calls the same operators with the same shapes over and over.
#[derive(Default)]
struct FlopsOfCalls {
    /// Whether there is a formula for a name; for most there is none.
    has_formula: HashMap<TextId, bool>,
    known: HashMap<[Option<TextId>; 3], Option<CallFlops>>,
}

impl FlopsOfCalls {
    fn of(&mut self, span: &Span<'_>, dims: Text, strings: &Strings) -> Option<CallFlops> {
        let name = span.record.head.name?;
        if let Text::Id(id) = name {
            let has_formula = || operators().any(|operator| operator == strings.get(id));
            if !*self.has_formula.entry(id).or_insert_with(has_formula) {
                return None;
            }
        }
        let values = span.record.text(SpanArgColumn::concrete_inputs);
        let resolve = |text: Text| strings.resolve(text, span.record.texts);
        let work_out = || {
            let (name, dims, values) = (resolve(name), resolve(dims), values.map(resolve));
            let all = op_flops(name, dims, values)?;
            Some(CallFlops { all, least: op_least_flops(name, dims, values) })
        };
        let id = |text: Text| if let Text::Id(id) = text { Some(id) } else { None };
        match (id(name), id(dims), values.map(id)) {
            (Some(name), Some(dims), None) => {
                *self.known.entry([Some(name), Some(dims), None]).or_insert_with(work_out)
            }
            (Some(name), Some(dims), Some(Some(values))) => {
                *self.known.entry([Some(name), Some(dims), Some(values)]).or_insert_with(work_out)
            }
            _ => work_out(),
        }
    }
}
