//! What the time of each step goes to in the classes of TensorFlow's profiler (metrics, section 28).

use std::sync::Arc;

use stepscope_model::{Kind, Phase};

use super::rows::Rows;
use super::stretches::{Stretch, Stretches};
use super::windows::Windows;
use crate::collect::names::NameFacts;
use crate::derive::steps::Steps;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::scratch::Scratch;
use crate::spill::strings::Strings;

/// The classes, the first that is active counts. The last is for what none of the others is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverviewClass {
    DeviceCompute,
    Output,
    DeviceToDevice,
    InputWait,
    DeviceCollectives,
    KernelLaunch,
    HostToDevice,
    Compile,
    HostCompute,
}

const CLASSES: usize = OverviewClass::HostCompute as usize + 1;

impl OverviewClass {
    fn of(span: &Span<'_>, is_communication: bool, strings: &Strings) -> Option<Self> {
        let head = &span.record.head;
        Some(match head.kind {
            Kind::Kernel if is_communication => Self::DeviceCollectives,
            Kind::Kernel | Kind::Memset => Self::DeviceCompute,
            Kind::Memcpy => {
                let name = head.name.map_or("", |name| strings.resolve(name, span.record.texts)).to_ascii_lowercase();
                match [["h2d", "htod"], ["d2h", "dtoh"]].map(|way| way.iter().any(|way| name.contains(way))) {
                    [true, _] => Self::HostToDevice,
                    [_, true] => Self::Output,
                    _ => Self::DeviceToDevice,
                }
            }
            Kind::Runtime => Self::KernelLaunch,
            Kind::Op if head.facts.has(NameFacts::INPUT_WAIT) => Self::InputWait,
            Kind::Op if head.facts.has(NameFacts::COMPILE) => Self::Compile,
            Kind::Op => Self::HostCompute,
            _ => return None,
        })
    }
}

/// The overview of a source being worked out.
pub(crate) struct Overview {
    stretches: Stretches<CLASSES>,
}

impl Overview {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { stretches: Stretches::new(scratch) }
    }

    /// Takes the next span, in the order of the table.
    pub(crate) fn push(
        &mut self,
        span: &Span<'_>,
        is_communication: bool,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        if span.record.head.phase != Phase::Complete {
            return Ok(());
        }
        let Some(class) = OverviewClass::of(span, is_communication, strings) else { return Ok(()) };
        self.stretches.push(span.key.track, (span.key.start, span.key.end()), class as usize)
    }

    /// Shares out the time of every step, and writes a row for each.
    pub(crate) fn finish(self, steps: &Steps, mut rows: Rows<'_>) -> Result<(), IngestError> {
        let mut sweep = Sweep::new(steps);
        let stretches = self.stretches.finish()?;
        let mut reader = stretches.reader()?;
        while let Some(stretch) = reader.next_key()? {
            sweep.take(&stretch);
        }
        sweep.advance(i64::MAX);
        for (step, window) in sweep.windows.finish().into_iter().enumerate() {
            let length_ns = window.end_ns - window.start_ns;
            rows.i32(step as i32);
            for share in window.got {
                rows.i64(share);
            }
            rows.i64(length_ns - window.got.iter().sum::<i64>()).end_row()?;
        }
        Ok(rows.finish()?)
    }
}

/// Goes through time once. Stretches come in the order of their starts, so for each class only the latest end counts.
struct Sweep {
    now_ns: i64,
    active_until_ns: [i64; CLASSES],
    windows: Windows<[i64; CLASSES]>,
}

impl Sweep {
    fn new(steps: &Steps) -> Self {
        Self {
            now_ns: i64::MIN,
            active_until_ns: [i64::MIN; CLASSES],
            windows: Windows::new(steps.list.iter().map(|step| (step.start, step.end))),
        }
    }

    fn take(&mut self, stretch: &Stretch) {
        self.advance(stretch.start);
        let until = &mut self.active_until_ns[usize::from(stretch.what) % CLASSES];
        *until = stretch.end.max(*until);
    }

    fn advance(&mut self, to_ns: i64) {
        while self.now_ns < to_ns {
            let Some(change) = self.active_until_ns.into_iter().filter(|until| *until > self.now_ns).min() else {
                break;
            };
            let until_ns = change.min(to_ns);
            let first = self.active_until_ns.iter().position(|until| *until > self.now_ns).unwrap_or_default();
            self.windows.share_out(self.now_ns, until_ns, |shares, length_ns| shares[first] += length_ns);
            self.now_ns = until_ns;
        }
        self.now_ns = self.now_ns.max(to_ns);
    }
}
