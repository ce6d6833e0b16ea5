//! What is added up while the spans are written: one table each, so that questions about whole steps are cheap.

use std::sync::Arc;

use stepscope_model::{Kind, SourceId};
use stepscope_store::SourceWriter;

use crate::breakdown::Breakdown;
use crate::collectives::Collectives;
use crate::error::IngestError;
use crate::link::LinkRow;
use crate::nest::Nested;
use crate::op_rollup::{DeviceWork, OpRollup};
use crate::rows::Rows;
use crate::scratch::Scratch;
use crate::steps::Steps;
use crate::stream::Span;
use crate::strings::Strings;

/// A span with what was derived about it.
pub(crate) struct Derived<'a> {
    pub span: &'a Span<'a>,
    pub nested: Nested,
    pub step: Option<u32>,
    pub self_ns: i64,
    pub link: Option<LinkRow>,
    /// Device work that belongs to it, if it is an operator.
    pub device: DeviceWork,
    /// It issued the launch of a communication kernel.
    pub issued_communication: bool,
}

/// The sums of a source being made.
pub(crate) struct Rollups {
    ops: OpRollup,
    breakdown: Breakdown,
    collectives: Collectives,
}

impl Rollups {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { ops: OpRollup::new(scratch), breakdown: Breakdown::new(scratch), collectives: Collectives::new(scratch) }
    }

    /// Takes the next span, in the order of the table.
    pub(crate) fn push(&mut self, derived: &Derived<'_>, strings: &Strings) -> Result<(), IngestError> {
        let Derived { span, nested, step, link, .. } = derived;
        let kind = span.record.head.kind;
        let is_communication = link.is_some_and(|link| link.comm_rule.is_some());
        self.breakdown.push(span, is_communication, strings)?;
        match link {
            Some(link) => {
                if link.operator.is_none() {
                    self.ops.push_rest(*step, span.key.dur(), strings)?;
                }
                if is_communication {
                    self.collectives.push_kernel(span, link, *step, strings)?;
                }
            }
            None if kind.is_host() => {
                if kind == Kind::Op {
                    self.ops.push(span, nested.parent_op, *step, derived.self_ns, derived.device, strings)?;
                }
                self.collectives.push_host(span, nested.depth, derived.issued_communication, strings)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Writes the tables.
    pub(crate) fn finish(
        self,
        steps: &Steps,
        writer: &mut SourceWriter,
        id: SourceId,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        use stepscope_model::tables::{OP_ROLLUP, STEP_BREAKDOWN};
        self.ops.finish(Rows::new(&OP_ROLLUP, writer.table(&OP_ROLLUP)?, id, strings), strings)?;
        self.breakdown.finish(steps, Rows::new(&STEP_BREAKDOWN, writer.table(&STEP_BREAKDOWN)?, id, strings))?;
        self.collectives.finish(writer, id, strings)
    }
}
