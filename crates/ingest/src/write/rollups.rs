//! What is added up while the spans are written: one table each, so that questions about whole steps are cheap.

use std::sync::Arc;

use stepscope_model::Kind;
use stepscope_model::tables::{KERNEL_ROLLUP, LAUNCHES, OP_ROLLUP, STEP_BREAKDOWN, STEP_DEVICES, STEP_OVERVIEW};
use stepscope_store::SourceWriter;

use super::breakdown::Breakdown;
use super::collectives::Collectives;
use super::device_use::DeviceUse;
use super::kernel_rollup::KernelRollup;
use super::op_rollup::{DeviceWork, OpRollup};
use super::overview::Overview;
use super::rows::Rows;
use crate::collect::header::ProcessGroup;
use crate::derive::launches::{self, Launch};
use crate::derive::link::LinkRow;
use crate::derive::nest::Nested;
use crate::derive::steps::Steps;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::scratch::Scratch;
use crate::spill::strings::Strings;

/// A span with what was derived about it.
pub(crate) struct Derived<'a> {
    pub span: &'a Span<'a>,
    pub nested: Nested,
    pub step: Option<u32>,
    pub self_ns: i64,
    pub link: Option<LinkRow>,
    /// Device work that belongs to it, if it is an operator.
    pub device: DeviceWork,
    /// What it launched, if it is a call of the runtime.
    pub launch: Option<Launch>,
    /// It issued the launch of a communication kernel.
    pub issued_communication: bool,
}

/// The sums of a source being made.
pub(crate) struct Rollups<'s> {
    ops: OpRollup,
    kernels: KernelRollup,
    devices: DeviceUse,
    breakdown: Breakdown,
    overview: Option<Overview>,
    collectives: Collectives,
    launches: Rows<'s>,
    strings: &'s Strings,
}

impl<'s> Rollups<'s> {
    pub(crate) fn new(
        scratch: &Arc<Scratch>,
        writer: &mut SourceWriter,
        strings: &'s Strings,
        groups: &[ProcessGroup],
        with_overview: bool,
    ) -> Result<Self, IngestError> {
        Ok(Self {
            ops: OpRollup::new(scratch),
            kernels: KernelRollup::new(scratch),
            devices: DeviceUse::new(scratch),
            breakdown: Breakdown::new(scratch),
            overview: with_overview.then(|| Overview::new(scratch)),
            collectives: Collectives::new(groups, scratch),
            launches: writer.rows(&LAUNCHES, strings)?,
            strings,
        })
    }

    /// Takes the next span, in the order of the table.
    pub(crate) fn push(&mut self, derived: &Derived<'_>) -> Result<(), IngestError> {
        let Derived { span, nested, step, link, .. } = derived;
        let kind = span.record.head.kind;
        let is_communication = link.is_some_and(|link| link.comm_rule.is_some());
        self.breakdown.push(span, is_communication, self.strings)?;
        if let Some(overview) = &mut self.overview {
            overview.push(span, is_communication, self.strings)?;
        }
        match link {
            Some(link) => {
                self.devices.push(span)?;
                if kind == Kind::Kernel {
                    self.kernels.push(span, link, *step, derived.self_ns, self.strings)?;
                }
                if link.is_added_by_name || link.operator.is_none() {
                    self.ops.push_device(span, *step, derived.self_ns, self.strings)?;
                }
                if is_communication {
                    self.collectives.push_kernel(span, link, *step, self.strings)?;
                }
            }
            None if kind.is_host() => {
                if kind == Kind::Op {
                    self.ops.push(span, nested.parent_op, *step, derived.self_ns, derived.device, self.strings)?;
                }
                if let Some(launch) = &derived.launch {
                    launches::write_row(&mut self.launches, span, *step, launch)?;
                }
                self.collectives.push_host(span, nested.depth, *step, derived.issued_communication, self.strings)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Writes the tables.
    pub(crate) fn finish(self, steps: &Steps, writer: &mut SourceWriter) -> Result<(), IngestError> {
        let strings = self.strings;
        let mut rows = |table| Ok::<_, IngestError>(writer.rows(table, strings)?);
        self.launches.finish()?;
        self.ops.finish(rows(&OP_ROLLUP)?, strings)?;
        self.kernels.finish(rows(&KERNEL_ROLLUP)?, strings)?;
        self.devices.finish(steps, rows(&STEP_DEVICES)?)?;
        self.breakdown.finish(steps, rows(&STEP_BREAKDOWN)?)?;
        match self.overview {
            Some(overview) => overview.finish(steps, rows(&STEP_OVERVIEW)?)?,
            None => rows(&STEP_OVERVIEW)?.finish()?,
        }
        self.collectives.finish(writer, strings)
    }
}
