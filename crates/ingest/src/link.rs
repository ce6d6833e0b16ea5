//! From a device event to the call that launched it, and on to the operator (metrics, section 4).

use hashbrown::HashMap;
use stepscope_model::Kind;
use stepscope_model::args::SpanArgColumn;

use crate::args::find_cell;
use crate::collect::Records;
use crate::derived::{CommRule, Derived, Link};
use crate::record::{CellValue, Span, SpanId};

/// What linking found out about the source as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    /// Device events whose owner by id and owner by nesting belong to different operators.
    pub disagreements: u64,
    /// Correlations that more than one runtime call carries.
    pub shared_correlations: u64,
}

/// Fills in launch, owner, operator, link, module, graph and communication rule of every device event.
pub(crate) fn link(records: &mut Records, derived: &mut [Derived]) -> LinkCounts {
    let calls = calls_by_correlation(records);
    let spans_by_id = spans_by_external_id(records);
    let mut counts = LinkCounts {
        shared_correlations: calls.chunk_by(|a, b| a.0 == b.0).filter(|calls| calls.len() > 1).count() as u64,
        ..LinkCounts::default()
    };
    for index in 0..records.spans.len() {
        if !records.spans[index].kind.is_device() {
            continue;
        }
        let launch = launch_of(records, &calls, index);
        let event = &records.spans[index];
        let by_id = owner_by_id(records, &spans_by_id, event, launch);
        let by_nesting = launch.and_then(|launch| first_span_above(records, derived, launch));
        let owner = by_id.or(by_nesting);
        let link = match (by_id, by_nesting, launch) {
            (Some(_), ..) => Link::ExternalId,
            (None, Some(_), _) => Link::Nesting,
            (None, None, Some(_)) => Link::LaunchOutsideAnySpan,
            (None, None, None) => Link::NoLaunchCall,
        };
        if by_id.is_some()
            && launch.is_some()
            && operator_of(records, derived, by_id) != operator_of(records, derived, by_nesting)
        {
            counts.disagreements += 1;
        }
        let operator = operator_of(records, derived, owner);
        let module = launch.and_then(|launch| derived[launch as usize].module);
        let comm_rule = communication_rule(records, index, owner);
        let entry = &mut derived[index];
        entry.launch = launch;
        entry.owner = owner;
        entry.operator = operator;
        entry.link = Some(link);
        entry.module = module;
        entry.comm_rule = comm_rule;
    }
    number_graph_launches(records, derived);
    counts
}

/// Runtime calls with their correlation, sorted by it.
fn calls_by_correlation(records: &Records) -> Vec<(i64, SpanId)> {
    let call = |(id, span): (usize, &Span)| match span.kind {
        Kind::Runtime => span.correlation.map(|correlation| (correlation, id as SpanId)),
        _ => None,
    };
    let mut calls: Vec<(i64, SpanId)> = records.spans.iter().enumerate().filter_map(call).collect();
    calls.sort_unstable();
    calls
}

/// Operators and annotations by External id; `None` for an id that several carry.
fn spans_by_external_id(records: &Records) -> HashMap<i64, Option<SpanId>> {
    let mut spans: HashMap<i64, Option<SpanId>> = HashMap::new();
    for (id, span) in records.spans.iter().enumerate() {
        if let (Kind::Op | Kind::Annotation, Some(external_id)) = (span.kind, span.external_id) {
            spans.entry(external_id).and_modify(|known| *known = None).or_insert(Some(id as SpanId));
        }
    }
    spans.remove(&0);
    spans
}

/// The runtime call with the event's correlation. If several share it: those that can launch, of these the ones that
/// start no later than the event, of these the latest.
fn launch_of(records: &mut Records, calls: &[(i64, SpanId)], event: usize) -> Option<SpanId> {
    let event_start = records.spans[event].start;
    let correlation = records.spans[event].correlation?;
    let first = calls.partition_point(|call| call.0 < correlation);
    let count = calls[first..].iter().take_while(|call| call.0 == correlation).count();
    if let [(_, only)] = calls[first..first + count] {
        return Some(only);
    }
    let Records { spans, names, strings, .. } = records;
    let mut left: Vec<SpanId> = calls[first..first + count].iter().map(|call| call.1).collect();
    keep_if_any(&mut left, |id| names.facts(spans[id as usize].name, strings).launch);
    keep_if_any(&mut left, |id| spans[id as usize].start <= event_start);
    left.into_iter().max_by_key(|&id| (spans[id as usize].start, spans[id as usize].position))
}

fn keep_if_any(ids: &mut Vec<SpanId>, mut keeps: impl FnMut(SpanId) -> bool) {
    let kept: Vec<SpanId> = ids.iter().copied().filter(|&id| keeps(id)).collect();
    if !kept.is_empty() {
        *ids = kept;
    }
}

/// Recordings of 2022 to 2024 write the correlation into External id, so an id that equals it says nothing.
fn owner_by_id(
    records: &Records,
    spans_by_id: &HashMap<i64, Option<SpanId>>,
    event: &Span,
    launch: Option<SpanId>,
) -> Option<SpanId> {
    let launch = launch.map(|id| &records.spans[id as usize]);
    let external_id =
        launch.and_then(|call| call.external_id).filter(|&id| id != 0).or(event.external_id).filter(|&id| id != 0)?;
    let correlation = launch.map_or(event.correlation, |call| call.correlation);
    if Some(external_id) == correlation {
        return None;
    }
    let owner = spans_by_id.get(&external_id).copied().flatten()?;
    let on_same_thread = launch.is_none_or(|call| call.track == records.spans[owner as usize].track);
    on_same_thread.then_some(owner)
}

fn first_span_above(records: &Records, derived: &[Derived], call: SpanId) -> Option<SpanId> {
    let mut above = derived[call as usize].parent;
    while let Some(id) = above.filter(|&id| records.spans[id as usize].kind == Kind::Runtime) {
        above = derived[id as usize].parent;
    }
    above
}

fn operator_of(records: &Records, derived: &[Derived], owner: Option<SpanId>) -> Option<SpanId> {
    let owner = owner?;
    if records.spans[owner as usize].kind == Kind::Op { Some(owner) } else { derived[owner as usize].parent_op }
}

/// What is communication (metrics, section 9): metadata, then the span that launched it, then the kernel's name.
fn communication_rule(records: &mut Records, event: usize, owner: Option<SpanId>) -> Option<CommRule> {
    let span = &records.spans[event];
    if span.kind != Kind::Kernel {
        return None;
    }
    let collective = find_cell(records.cells_of(span.args), SpanArgColumn::collective_name);
    if matches!(collective, Some(CellValue::Text(name)) if !records.strings.text(name).is_empty()) {
        return Some(CommRule::CollectiveName);
    }
    let name = span.name;
    let owner_name = owner.and_then(|owner| records.spans[owner as usize].name);
    let Records { names, strings, .. } = records;
    if names.facts(owner_name, strings).communication_owner {
        Some(CommRule::Owner)
    } else if names.facts(name, strings).communication_kernel {
        Some(CommRule::Name)
    } else {
        None
    }
}

/// Numbers the graph launches by start, and the events of each by node or by start.
fn number_graph_launches(records: &mut Records, derived: &mut [Derived]) {
    let Records { spans, names, strings, .. } = records;
    let mut events: Vec<(SpanId, SpanId)> = Vec::new();
    for (id, entry) in derived.iter().enumerate() {
        if let Some(launch) = entry.launch
            && names.facts(spans[launch as usize].name, strings).graph_launch
        {
            events.push((launch, id as SpanId));
        }
    }
    events.sort_unstable_by_key(|&(launch, event)| {
        let (launch_span, event_span) = (&spans[launch as usize], &spans[event as usize]);
        (launch_span.start, launch_span.position, event_span.start, event_span.position)
    });
    for (ordinal, launch) in events.chunk_by(|a, b| a.0 == b.0).enumerate() {
        for (place, &(_, event)) in launch.iter().enumerate() {
            let node = find_cell(records.cells_of(records.spans[event as usize].args), SpanArgColumn::graph_node_id);
            derived[event as usize].graph_launch = Some(ordinal as u32);
            derived[event as usize].graph_node = match node {
                Some(CellValue::Int(node)) => Some(node),
                _ => Some(place as i64),
            };
        }
    }
}
