//! From a backward operator to the forward one: by the profiler's arrows, else by autograd's sequence number.

use hashbrown::HashMap;
use stepscope_model::args::SpanArgColumn;
use stepscope_model::warning::DUPLICATE_FLOW_START;
use stepscope_model::{Kind, Phase};

use crate::args::find_cell;
use crate::collect::Records;
use crate::counts::Place;
use crate::derived::{Derived, ForwardRule};
use crate::record::{CellValue, SpanId, TrackId};

/// Fills in the forward operator of every backward operator that has one.
pub(crate) fn link(records: &mut Records, derived: &mut [Derived]) {
    by_flow(records, derived);
    by_sequence_number(records, derived);
}

fn by_flow(records: &mut Records, derived: &mut [Derived]) {
    let mut starts: HashMap<i64, SpanId> = HashMap::new();
    let mut ends: Vec<(i64, SpanId)> = Vec::new();
    for flow in &records.flows {
        let is_forward_backward =
            [flow.category, flow.name].into_iter().flatten().any(|id| records.strings.text(id) == "fwdbwd");
        let (true, Some(id), Some(span)) = (is_forward_backward, flow.id, flow.span) else { continue };
        let Some(operator) = operator_at(records, derived, span) else { continue };
        if flow.phase == Phase::FlowEnd {
            ends.push((id, operator));
        } else if flow.phase == Phase::FlowStart && starts.insert(id, operator).is_some() {
            let place = Place { position: Some(flow.position), offset_bytes: None };
            records.counts.warn(DUPLICATE_FLOW_START, place, Some(format!("fwdbwd {id}")));
        }
    }
    for (id, backward) in ends {
        if let Some(&forward) = starts.get(&id)
            && forward != backward
        {
            derived[backward as usize].forward = Some(forward);
            derived[backward as usize].forward_rule = Some(ForwardRule::Flow);
        }
    }
}

/// The operator that the innermost span at an arrow's end belongs to: a runtime call or a frame may lie inside it.
fn operator_at(records: &Records, derived: &[Derived], span: SpanId) -> Option<SpanId> {
    if records.spans[span as usize].kind == Kind::Op { Some(span) } else { derived[span as usize].parent_op }
}

/// A backward operator names the forward thread in autograd's numbering, which is not the thread id of the trace. So a
/// sequence number decides only if forward operators of one thread carry it; the innermost one that starts last wins.
fn by_sequence_number(records: &Records, derived: &mut [Derived]) {
    let integer = |span: usize, column| match find_cell(records.cells_of(records.spans[span].args), column) {
        Some(CellValue::Int(value)) => Some(value),
        _ => None,
    };
    let mut forward: HashMap<i64, Option<(TrackId, SpanId)>> = HashMap::new();
    let mut backward: Vec<(SpanId, i64)> = Vec::new();
    for (index, span) in records.spans.iter().enumerate().filter(|(_, span)| span.kind == Kind::Op) {
        let Some(sequence) = integer(index, SpanArgColumn::sequence_number).filter(|&number| number >= 0) else {
            continue;
        };
        let is_backward = integer(index, SpanArgColumn::forward_thread_id).is_some_and(|thread| thread != 0);
        if is_backward {
            backward.push((index as SpanId, sequence));
            continue;
        }
        let latest = forward.entry(sequence).or_insert(Some((span.track, index as SpanId)));
        match latest {
            Some((track, _)) if *track != span.track => *latest = None,
            Some((_, id)) if span.start >= records.spans[*id as usize].start => *id = index as SpanId,
            _ => {}
        }
    }
    for (id, sequence) in backward {
        let Some(Some((_, candidate))) = forward.get(&sequence).copied() else { continue };
        let starts_before = records.spans[candidate as usize].start <= records.spans[id as usize].start;
        let entry = &mut derived[id as usize];
        if entry.forward.is_none() && starts_before {
            entry.forward = Some(candidate);
            entry.forward_rule = Some(ForwardRule::SequenceNumber);
        }
    }
}
