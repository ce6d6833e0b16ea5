//! What the time of each step goes to: every instant belongs to the first active class (metrics, section 6).

mod sweep;

use std::sync::Arc;

use stepscope_model::{Class, Phase};

use self::sweep::{Shares, Sweep};
use super::activity::{Activity, activity};
use super::rows::Rows;
use super::stretches::Stretches;
use crate::derive::steps::Steps;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::scratch::Scratch;
use crate::spill::strings::Strings;

/// The breakdown of a source being worked out.
pub(crate) struct Breakdown {
    /// From the first host span or device event to the last.
    hull: Option<(i64, i64)>,
    stretches: Stretches<{ Activity::ALL.len() }>,
}

impl Breakdown {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { hull: None, stretches: Stretches::new(scratch) }
    }

    /// Takes the next span, in the order of the table.
    pub(crate) fn push(
        &mut self,
        span: &Span<'_>,
        is_communication: bool,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        let (key, head) = (&span.key, &span.record.head);
        if head.phase != Phase::Complete || !(head.kind.is_host() || head.kind.is_device()) {
            return Ok(());
        }
        let (start, end) = (key.start, key.end());
        self.hull = Some(self.hull.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        let Some(activity) = activity(span, is_communication, strings).and_then(Activity::index) else { return Ok(()) };
        self.stretches.push(key.track, (start, end), activity)
    }

    /// Shares out the time of every step, and of the whole, and writes a row for each.
    pub(crate) fn finish(self, steps: &Steps, mut rows: Rows<'_>) -> Result<(), IngestError> {
        let mut sweep = Sweep::new(steps.list.iter().map(|step| (step.start, step.end)));
        if let Some((first, _)) = self.hull {
            sweep.take(first, first, None);
        }
        let stretches = self.stretches.finish()?;
        let mut reader = stretches.reader()?;
        while let Some(stretch) = reader.next_key()? {
            sweep.take(stretch.start, stretch.end, Activity::ALL.get(usize::from(stretch.what)).copied());
        }
        if let Some((_, last)) = self.hull {
            sweep.take(last, last, None);
        }
        let (steps, whole) = sweep.finish();
        for (step, shares) in steps.iter().enumerate() {
            write_row(&mut rows, Some(step as i32), shares)?;
        }
        if let Some(shares) = &whole {
            write_row(&mut rows, None, shares)?;
        }
        Ok(rows.finish()?)
    }
}

fn write_row(rows: &mut Rows<'_>, step: Option<i32>, shares: &Shares) -> Result<(), IngestError> {
    rows.i32(step);
    for class in Class::ALL {
        rows.i64(shares.of(class));
    }
    rows.i64(shares.communication_ns)
        .i64(shares.overlap_ns)
        .i64(shares.kernel_busy_ns)
        .i64(shares.device_busy_ns)
        .end_row()?;
    Ok(())
}
