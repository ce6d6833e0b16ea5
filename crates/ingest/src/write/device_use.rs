//! How busy each device is in each step: time with work, and the estimates from what kernels carry (metrics, section 7).

use std::sync::Arc;

use stepscope_model::Kind;
use stepscope_model::args::SpanArgColumn;

use super::rows::Rows;
use super::windows::{Window, Windows};
use crate::collect::record::SpanId;
use crate::derive::steps::Steps;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;

row! {
    /// A device event, by device and time.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Work {
        device: Option<i64>,
        start: i64,
        id: SpanId,
        end: i64,
        is_kernel: bool,
        /// As the bits of a float, so that it can be sorted; `None` if not recorded.
        blocks_per_sm: Option<i64>,
        occupancy_percent: Option<i64>,
    }
}

/// What a device did in a window.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_field_names, reason = "named as the columns that they become")]
struct Use {
    busy_ns: i64,
    kernel_busy_ns: i64,
    kernel_ns: i64,
    sm_busy_ns: f64,
    with_blocks_per_sm_ns: i64,
    occupancy_ns: f64,
    with_occupancy_ns: i64,
}

/// What goes on at a moment: the sums over all work that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    events: i64,
    kernels: i64,
    blocks_per_sm: f64,
    with_blocks_per_sm: i64,
    occupancy: f64,
    with_occupancy: i64,
}

impl Running {
    fn of(work: &[Work]) -> Self {
        let mut running = Self { events: work.len() as i64, ..Self::default() };
        for kernel in work.iter().filter(|work| work.is_kernel) {
            running.kernels += 1;
            if let Some(blocks) = number(kernel.blocks_per_sm).filter(|blocks| *blocks > 0.0) {
                running.blocks_per_sm += blocks;
                running.with_blocks_per_sm += 1;
            }
            if let Some(percent) = number(kernel.occupancy_percent).filter(|percent| *percent >= 0.0) {
                running.occupancy += percent / 100.0;
                running.with_occupancy += 1;
            }
        }
        running
    }
}

impl Use {
    fn add(&mut self, running: Running, length_ns: i64) {
        let if_any = |count: i64| if count > 0 { length_ns } else { 0 };
        self.busy_ns += if_any(running.events);
        self.kernel_busy_ns += if_any(running.kernels);
        self.kernel_ns += running.kernels * length_ns;
        self.sm_busy_ns += running.blocks_per_sm.min(1.0) * length_ns as f64;
        self.with_blocks_per_sm_ns += running.with_blocks_per_sm * length_ns;
        self.occupancy_ns += running.occupancy * length_ns as f64;
        self.with_occupancy_ns += running.with_occupancy * length_ns;
    }
}

/// The devices of a source being watched.
pub(crate) struct DeviceUse {
    work: Sorter<Work>,
}

impl DeviceUse {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { work: Sorter::new(scratch) }
    }

    /// Takes a device event.
    pub(crate) fn push(&mut self, span: &Span<'_>) -> Result<(), IngestError> {
        let float = |column| span.record.float(column).map(|value| value.to_bits().cast_signed());
        self.work.push(Work {
            device: span.record.integer(SpanArgColumn::device_id),
            start: span.key.start,
            id: span.id,
            end: span.key.end(),
            is_kernel: span.record.head.kind == Kind::Kernel,
            blocks_per_sm: float(SpanArgColumn::blocks_per_sm),
            occupancy_percent: float(SpanArgColumn::est_achieved_occupancy_percent),
        })
    }

    /// Writes a row for each device and step, and one for each device and all complete steps.
    pub(crate) fn finish(self, steps: &Steps, mut rows: Rows<'_>) -> Result<(), IngestError> {
        let work = self.work.finish()?;
        let mut reader = work.reader()?;
        let mut sweep: Option<(Option<i64>, Sweep)> = None;
        while let Some(work) = reader.next_key()? {
            if sweep.as_ref().is_none_or(|(device, _)| *device != work.device)
                && let Some((device, done)) = sweep.replace((work.device, Sweep::new(steps)))
            {
                write_rows(&mut rows, device, done)?;
            }
            if let Some((_, sweep)) = &mut sweep {
                sweep.take(work);
            }
        }
        if let Some((device, done)) = sweep {
            write_rows(&mut rows, device, done)?;
        }
        Ok(rows.finish()?)
    }
}

/// Goes through the time of one device, from one change of what runs to the next.
struct Sweep {
    now_ns: i64,
    /// What runs now; more than one with several streams.
    running: Vec<Work>,
    by_step: Windows<Use>,
    /// From the start of the first complete step to the end of the last.
    complete: Windows<Use>,
}

impl Sweep {
    fn new(steps: &Steps) -> Self {
        let complete = || steps.list.iter().filter(|step| step.is_complete);
        let whole = complete().next().zip(complete().map(|step| step.end).max()).map(|(first, end)| (first.start, end));
        Self {
            now_ns: i64::MIN,
            running: Vec::new(),
            by_step: Windows::new(steps.list.iter().map(|step| (step.start, step.end))),
            complete: Windows::new(whole.into_iter()),
        }
    }

    /// Takes the next event, in the order of starts.
    fn take(&mut self, work: Work) {
        self.advance(work.start);
        if work.end > work.start {
            self.running.push(work);
        }
    }

    fn advance(&mut self, to_ns: i64) {
        while self.now_ns < to_ns {
            let Some(change) = self.running.iter().map(|work| work.end).min() else { break };
            let until_ns = change.min(to_ns);
            let running = Running::of(&self.running);
            for windows in [&mut self.by_step, &mut self.complete] {
                windows.share_out(self.now_ns, until_ns, |got, length_ns| got.add(running, length_ns));
            }
            self.running.retain(|work| work.end > until_ns);
            self.now_ns = until_ns;
        }
        self.now_ns = to_ns;
    }
}

fn write_rows(rows: &mut Rows<'_>, device: Option<i64>, mut sweep: Sweep) -> Result<(), IngestError> {
    if let Some(end) = sweep.running.iter().map(|work| work.end).max() {
        sweep.advance(end);
    }
    for (step, window) in sweep.by_step.finish().into_iter().enumerate() {
        write_row(rows, Some(step as i32), device, &window)?;
    }
    sweep.complete.finish().iter().try_for_each(|window| write_row(rows, None, device, window))
}

fn write_row(
    rows: &mut Rows<'_>,
    step: Option<i32>,
    device: Option<i64>,
    window: &Window<Use>,
) -> Result<(), IngestError> {
    let Window { start_ns, end_ns, got } = window;
    rows.i32(step)
        .i64(device)
        .i64(*start_ns)
        .i64(*end_ns)
        .i64(got.busy_ns)
        .i64(got.kernel_busy_ns)
        .i64(got.kernel_ns)
        .f64(got.sm_busy_ns)
        .i64(got.with_blocks_per_sm_ns)
        .f64(got.occupancy_ns)
        .i64(got.with_occupancy_ns)
        .end_row()?;
    Ok(())
}

fn number(bits: Option<i64>) -> Option<f64> {
    bits.map(|bits| f64::from_bits(bits.cast_unsigned()))
}
