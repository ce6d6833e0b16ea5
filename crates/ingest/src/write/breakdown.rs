//! What the time of each step goes to: every instant belongs to the first active class (metrics, section 6).

mod sweep;

use std::sync::Arc;

use stepscope_model::{Class, Phase};

use self::sweep::{Shares, Sweep};
use super::activity::{Activity, activity};
use super::rows::Rows;
use crate::collect::record::TrackId;
use crate::derive::steps::Steps;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;
use crate::spill::strings::Strings;

row! {
    /// A stretch of a track in which an activity goes on.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Stretch { start: i64, end: i64, activity: u8, }
}

/// The breakdown of a source being worked out.
pub(crate) struct Breakdown {
    track: TrackId,
    /// For each activity, the stretch of the current track that may still grow.
    open: [Option<(i64, i64)>; Activity::ALL.len()],
    /// From the first host span or device event to the last.
    hull: Option<(i64, i64)>,
    stretches: Sorter<Stretch>,
}

impl Breakdown {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { track: 0, open: [None; Activity::ALL.len()], hull: None, stretches: Sorter::new(scratch) }
    }

    /// Takes the next span, in the order of the table. What touches on a track becomes one stretch.
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
        if key.track != self.track {
            self.end_track()?;
            self.track = key.track;
        }
        let (start, end) = (key.start, key.end());
        self.hull = Some(self.hull.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        let Some(activity) = activity(span, is_communication, strings).and_then(Activity::index) else { return Ok(()) };
        match &mut self.open[activity] {
            Some((_, open_end)) if start <= *open_end => *open_end = end.max(*open_end),
            open => {
                if let Some((start, end)) = open.replace((start, end)) {
                    self.stretches.push(Stretch { start, end, activity: activity as u8 })?;
                }
            }
        }
        Ok(())
    }

    /// Shares out the time of every step, and of the whole, and writes a row for each.
    pub(crate) fn finish(mut self, steps: &Steps, mut rows: Rows<'_>) -> Result<(), IngestError> {
        self.end_track()?;
        let mut sweep = Sweep::new(steps.list.iter().map(|step| (step.start, step.end)));
        if let Some((first, _)) = self.hull {
            sweep.take(first, first, None);
        }
        let stretches = self.stretches.finish()?;
        let mut reader = stretches.reader()?;
        while let Some(stretch) = reader.next_key()? {
            sweep.take(stretch.start, stretch.end, Activity::ALL.get(usize::from(stretch.activity)).copied());
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

    fn end_track(&mut self) -> Result<(), IngestError> {
        for (activity, open) in self.open.iter_mut().enumerate() {
            if let Some((start, end)) = open.take() {
                self.stretches.push(Stretch { start, end, activity: activity as u8 })?;
            }
        }
        Ok(())
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
