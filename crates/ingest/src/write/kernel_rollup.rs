//! Adds up the kernels of each step, by device, name and category (metrics, section 11).

use std::sync::Arc;

use stepscope_figures::Sketch;
use stepscope_model::KernelCategory;
use stepscope_model::args::SpanArgColumn;

use super::rows::Rows;
use crate::derive::link::LinkRow;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::groups::{Group, Groups, Numbers, Sums};
use crate::spill::row::{Field, row};
use crate::spill::scratch::Scratch;
use crate::spill::strings::Strings;

/// Sums of a group.
#[derive(Debug)]
struct KernelSums {
    totals: Totals,
    min_ns: i64,
    max_ns: i64,
    durations: Sketch,
}

row! {
    /// What is only added.
    #[derive(Default)]
    Totals {
        count: i64,
        time_ns: i64,
        with_operator: i64,
        blocks_per_sm_ns: f64,
        with_blocks_per_sm_ns: i64,
        occupancy_ns: f64,
        with_occupancy_ns: i64,
    }
}

impl Default for KernelSums {
    fn default() -> Self {
        Self { totals: Totals::default(), min_ns: i64::MAX, max_ns: i64::MIN, durations: Sketch::default() }
    }
}

impl Sums for KernelSums {
    fn add(&mut self, other: &Self) {
        let (sum, more) = (&mut self.totals, &other.totals);
        sum.count += more.count;
        sum.time_ns = sum.time_ns.saturating_add(more.time_ns);
        sum.with_operator += more.with_operator;
        sum.blocks_per_sm_ns += more.blocks_per_sm_ns;
        sum.with_blocks_per_sm_ns = sum.with_blocks_per_sm_ns.saturating_add(more.with_blocks_per_sm_ns);
        sum.occupancy_ns += more.occupancy_ns;
        sum.with_occupancy_ns = sum.with_occupancy_ns.saturating_add(more.with_occupancy_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.durations.merge(&other.durations);
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.totals.put(out);
        self.min_ns.put(out);
        self.max_ns.put(out);
        let durations = self.durations.to_string();
        (durations.len() as u64).put(out);
        out.extend_from_slice(durations.as_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Self {
        let (totals, min_ns, max_ns) = (Field::take(bytes), i64::take(bytes), i64::take(bytes));
        let length = u64::take(bytes) as usize;
        let (durations, rest) = bytes.split_at(length.min(bytes.len()));
        *bytes = rest;
        let durations = std::str::from_utf8(durations).ok().and_then(Sketch::parse).unwrap_or_default();
        Self { totals, min_ns, max_ns, durations }
    }
}

/// The kernels of a source being added up.
pub(crate) struct KernelRollup {
    groups: Groups<KernelSums>,
}

impl KernelRollup {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { groups: Groups::new(scratch) }
    }

    /// Takes a kernel, and how long the device worked on it alone.
    pub(crate) fn push(
        &mut self,
        span: &Span<'_>,
        link: &LinkRow,
        step: Option<u32>,
        dur_ns: i64,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        let record = &span.record;
        let numbers = Numbers {
            step: step.map(i64::from),
            device: record.integer(SpanArgColumn::device_id),
            category: Some(link.category),
        };
        let blocks_per_sm = record.float(SpanArgColumn::blocks_per_sm);
        let occupancy = record.float(SpanArgColumn::est_achieved_occupancy_percent).map(|percent| percent / 100.0);
        let group = Group::new(numbers, record.head.name, None, record.texts, strings);
        self.groups.add(group, strings, |sums| {
            let totals = &mut sums.totals;
            totals.count += 1;
            totals.time_ns = totals.time_ns.saturating_add(dur_ns);
            totals.with_operator += i64::from(link.operator.is_some() || link.has_framework_op);
            if let Some(blocks) = blocks_per_sm {
                totals.blocks_per_sm_ns += blocks * dur_ns as f64;
                totals.with_blocks_per_sm_ns = totals.with_blocks_per_sm_ns.saturating_add(dur_ns);
            }
            if let Some(occupancy) = occupancy {
                totals.occupancy_ns += occupancy * dur_ns as f64;
                totals.with_occupancy_ns = totals.with_occupancy_ns.saturating_add(dur_ns);
            }
            sums.min_ns = sums.min_ns.min(dur_ns);
            sums.max_ns = sums.max_ns.max(dur_ns);
            sums.durations.add(dur_ns);
        })
    }

    /// Writes the groups.
    pub(crate) fn finish(self, mut rows: Rows<'_>, strings: &Strings) -> Result<(), IngestError> {
        self.groups.finish(strings, |group| {
            let KernelSums { totals, min_ns, max_ns, durations } = &group.sums;
            let category = group.numbers.category.unwrap_or(KernelCategory::Other);
            rows.i32(group.numbers.step.map(|step| step as i32))
                .i64(group.numbers.device)
                .text(group.name)
                .bool(category == KernelCategory::Communication)
                .text(category.as_text())
                .i64(totals.count)
                .i64(totals.time_ns)
                .i64(*min_ns)
                .i64(*max_ns)
                .i64(totals.with_operator)
                .f64(totals.blocks_per_sm_ns)
                .i64(totals.with_blocks_per_sm_ns)
                .f64(totals.occupancy_ns)
                .i64(totals.with_occupancy_ns)
                .text(durations.to_string().as_str())
                .end_row()?;
            Ok(())
        })?;
        Ok(rows.finish()?)
    }
}
