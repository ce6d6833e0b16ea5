//! What the time of each step goes to: every instant belongs to the first active class (metrics, section 6).

mod sweep;

use std::sync::Arc;

use stepscope_model::{Class, Kind, Phase};

use self::sweep::{Shares, Sweep};
use crate::error::IngestError;
use crate::names::NameFacts;
use crate::record::TrackId;
use crate::row::row;
use crate::rows::Rows;
use crate::scratch::Scratch;
use crate::sorter::Sorter;
use crate::steps::Steps;
use crate::stream::Span;
use crate::strings::Strings;

/// What is active in an interval: a class, and whether it is a device that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Activity {
    /// The class that its time may go to.
    class: Class,
    /// Whether a device does it; gloo and its like communicate on the host.
    is_device: bool,
}

impl Activity {
    /// Everything that can be active.
    const ALL: [Self; 8] = [
        Self::on_device(Class::Kernel),
        Self::on_device(Class::Memcpy),
        Self::on_device(Class::Memset),
        Self::on_device(Class::Communication),
        Self::on_host(Class::Communication),
        Self::on_host(Class::Runtime),
        Self::on_host(Class::Dataloader),
        Self::on_host(Class::CpuExec),
    ];

    const fn on_device(class: Class) -> Self {
        Self { class, is_device: true }
    }

    const fn on_host(class: Class) -> Self {
        Self { class, is_device: false }
    }

    /// Its place in the list.
    fn index(self) -> Option<usize> {
        Self::ALL.iter().position(|activity| *activity == self)
    }
}

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
        rows.finish()
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
        .end_row()
}

/// What a host span or a device event does; `None` for mere labels.
fn activity(span: &Span<'_>, is_communication: bool, strings: &Strings) -> Option<Activity> {
    let head = &span.record.head;
    Some(match head.kind {
        Kind::Kernel if is_communication => Activity::on_device(Class::Communication),
        Kind::Kernel => Activity::on_device(Class::Kernel),
        Kind::Memcpy => Activity::on_device(Class::Memcpy),
        Kind::Memset => Activity::on_device(Class::Memset),
        Kind::Runtime => Activity::on_host(Class::Runtime),
        Kind::Op => Activity::on_host(Class::CpuExec),
        Kind::Annotation if head.facts.has(NameFacts::PSEUDO_OP) && !head.facts.has(NameFacts::PROFILER_STEP) => {
            let name = head.name.map_or("", |name| strings.resolve(name, span.record.texts));
            Activity::on_host(class_of_pseudo_op(name))
        }
        _ => return None,
    })
}

/// What an annotation with the name of an operator stands for.
fn class_of_pseudo_op(name: &str) -> Class {
    let is_loading = (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__"))
        || name.starts_with("enumerate(DataPipe)#");
    // With these the host itself does the transfer; spans such as nccl:all_reduce only enqueue it.
    let is_transfer = ["gloo:", "mpi:", "ucc:"].iter().any(|backend| name.starts_with(backend));
    match (is_loading, is_transfer) {
        (true, _) => Class::Dataloader,
        (_, true) => Class::Communication,
        _ => Class::CpuExec,
    }
}
