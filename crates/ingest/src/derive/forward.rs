//! From a backward operator to the forward one: by the profiler's arrows, else by autograd's sequence number.

use std::sync::Arc;

use stepscope_model::args::SpanArgColumn;
use stepscope_model::warning::DUPLICATE_FLOW_START;
use stepscope_model::{Kind, Phase};

use super::evidence::ForwardRule;
use super::stream::Span;
use crate::collect::counts::{Counts, Place};
use crate::collect::record::{FlowHead, SpanId, TrackId};
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};

row! {
    /// An operator at one end of an arrow; of the ends with one id, beginnings come first, each in the order of the file.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    ArrowEnd { flow_id: i64, is_end: bool, position: u64, operator: SpanId, }
}

row! {
    /// An operator with a sequence number; of those with one number, forward ones come first, by start.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Numbered { number: i64, is_backward: bool, start: i64, id: SpanId, track: TrackId, }
}

row! {
    /// The forward operator of a backward one. The first row of an operator counts.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    ForwardRow {
        id: SpanId,
        rule: ForwardRule,
        /// Of several arrows the one that ends last in the file counts.
        not_position: u64,
        forward: SpanId,
    }
}

/// Everything that takes part, as it comes.
#[derive(Debug)]
pub(crate) struct ForwardInputs {
    arrows: Sorter<ArrowEnd>,
    numbered: Sorter<Numbered>,
    scratch: Arc<Scratch>,
}

impl ForwardInputs {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { arrows: Sorter::new(scratch), numbered: Sorter::new(scratch), scratch: Arc::clone(scratch) }
    }

    /// Takes the end of an arrow, and the operator that it is at.
    pub(crate) fn add_flow(
        &mut self,
        position: u64,
        flow: &FlowHead,
        operator: Option<SpanId>,
    ) -> Result<(), IngestError> {
        let (true, Some(flow_id), Some(operator)) = (flow.is_forward_backward, flow.id, operator) else {
            return Ok(());
        };
        match flow.phase {
            Phase::FlowStart | Phase::FlowEnd => {
                let is_end = flow.phase == Phase::FlowEnd;
                self.arrows.push(ArrowEnd { flow_id, is_end, position, operator })
            }
            _ => Ok(()),
        }
    }

    /// Takes the next span.
    pub(crate) fn add_span(&mut self, span: &Span<'_>) -> Result<(), IngestError> {
        if span.record.head.kind != Kind::Op {
            return Ok(());
        }
        let number = span.record.integer(SpanArgColumn::sequence_number).filter(|&number| number >= 0);
        let Some(number) = number else { return Ok(()) };
        let is_backward = span.record.integer(SpanArgColumn::forward_thread_id).is_some_and(|thread| thread != 0);
        let (start, track) = (span.key.start, span.key.track);
        self.numbered.push(Numbered { number, is_backward, start, id: span.id, track })
    }

    /// Links every backward operator that has a forward one.
    pub(crate) fn link(self, counts: &mut Counts) -> Result<Sorted<ForwardRow>, IngestError> {
        let mut rows = Sorter::new(&self.scratch);
        by_arrow(self.arrows, &mut rows, counts)?;
        by_number(self.numbered, &mut rows)?;
        rows.finish()
    }
}

fn by_arrow(arrows: Sorter<ArrowEnd>, rows: &mut Sorter<ForwardRow>, counts: &mut Counts) -> Result<(), IngestError> {
    let arrows = arrows.finish()?;
    let mut reader = arrows.reader()?;
    let mut start: Option<ArrowEnd> = None;
    while let Some(arrow) = reader.next_key()? {
        let same = start.filter(|start| start.flow_id == arrow.flow_id);
        if !arrow.is_end {
            if same.is_some() {
                let place = Place { position: Some(arrow.position), offset_bytes: None };
                counts.warn(DUPLICATE_FLOW_START, place, Some(format!("fwdbwd {}", arrow.flow_id)));
            }
            start = Some(arrow);
        } else if let Some(start) = same.filter(|start| start.operator != arrow.operator) {
            rows.push(ForwardRow {
                id: arrow.operator,
                rule: ForwardRule::Flow,
                not_position: !arrow.position,
                forward: start.operator,
            })?;
        }
    }
    Ok(())
}

/// A backward operator names the forward thread in autograd's numbering, which is not the thread id of the trace. So a
/// sequence number decides only if forward operators of one thread carry it; the innermost one that starts last wins.
fn by_number(numbered: Sorter<Numbered>, rows: &mut Sorter<ForwardRow>) -> Result<(), IngestError> {
    let numbered = numbered.finish()?;
    let mut reader = numbered.reader()?;
    let mut latest: Option<Numbered> = None;
    let mut is_on_one_track = true;
    while let Some(operator) = reader.next_key()? {
        let same = latest.filter(|latest| latest.number == operator.number);
        if !operator.is_backward {
            is_on_one_track = same.is_none_or(|same| is_on_one_track && same.track == operator.track);
            latest = Some(operator);
        } else if let Some(forward) = same.filter(|same| is_on_one_track && same.start <= operator.start) {
            rows.push(ForwardRow {
                id: operator.id,
                rule: ForwardRule::SequenceNumber,
                not_position: 0,
                forward: forward.id,
            })?;
        }
    }
    Ok(())
}
