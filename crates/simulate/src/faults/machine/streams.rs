//! The streams of a device: each takes its work in order, and a collective slows down what computes beside it.

use std::collections::VecDeque;

use crate::faults::parameters::CONTENDED;
use crate::faults::program::{Stream, Work};

/// Place of a piece of work in a stream: the stream by its index, and how many came before it there.
pub(super) type Position = (usize, u64);

/// Work in the queue of a stream.
#[derive(Clone, Debug)]
pub(super) struct Queued {
    /// Place among the device events of the recording.
    pub event: usize,
    pub work: Work,
    /// When the launch has reached the device.
    pub ready_ns: i64,
    /// Between the work before it and its start.
    pub gap_ns: i64,
    /// Work of other streams that comes first.
    pub after: Vec<Position>,
    /// How long it takes, with noise; not known of a collective.
    pub dur_ns: i64,
}

/// A stream.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    pub queue: VecDeque<Queued>,
    pub running: Option<Running>,
    pub launched: u64,
    pub started: u64,
    pub finished: u64,
    /// The device events of the recording that its work is.
    pub events: Vec<usize>,
    /// When each piece of work was over.
    pub ends_ns: Vec<i64>,
    /// Events that the next launch waits for.
    pub awaits: Vec<Position>,
}

/// Work that a stream is doing.
#[derive(Debug)]
pub(super) struct Running {
    pub event: usize,
    pub work: Work,
    /// What is left at `since_ns`, on a device that does nothing else; `None` while ranks are missing.
    left_ns: Option<i64>,
    since_ns: i64,
    is_contended: bool,
    /// Raised whenever the end moves: an end that was announced before no longer counts.
    pub version: u64,
}

impl StreamState {
    /// Launched, and not started.
    pub(super) fn waiting(&self) -> u64 {
        self.launched - self.started
    }

    /// Whether a piece of work is over.
    pub(super) fn has_finished(&self, place: u64) -> bool {
        place < self.finished
    }
}

impl Running {
    pub(super) fn new(queued: Queued, now_ns: i64) -> Self {
        let left_ns = (!matches!(queued.work, Work::Collective(_))).then_some(queued.dur_ns);
        Self { event: queued.event, work: queued.work, left_ns, since_ns: now_ns, is_contended: false, version: 0 }
    }

    /// The collective knows how long it takes from now on.
    pub(super) fn set_left(&mut self, left_ns: i64, now_ns: i64) {
        (self.left_ns, self.since_ns) = (Some(left_ns), now_ns);
        self.version += 1;
    }

    /// Another pace from now on, if it computes; says whether its end moved.
    pub(super) fn contend(&mut self, is_contended: bool, now_ns: i64) -> bool {
        if self.is_contended == is_contended || !matches!(self.work, Work::Kernel(_)) {
            return false;
        }
        let Some(left_ns) = self.left_ns else { return false };
        let passed_ns = now_ns - self.since_ns;
        let done_ns = if self.is_contended { passed_ns * 1_000 / CONTENDED } else { passed_ns };
        (self.left_ns, self.since_ns) = (Some((left_ns - done_ns).max(0)), now_ns);
        self.is_contended = is_contended;
        self.version += 1;
        true
    }

    /// When it is over, if nothing changes.
    pub(super) fn end_ns(&self) -> Option<i64> {
        let left_ns = self.left_ns?;
        Some(self.since_ns + if self.is_contended { left_ns * CONTENDED / 1_000 } else { left_ns })
    }
}

/// Whether a collective runs.
pub(super) fn communicates(streams: &[StreamState]) -> bool {
    streams.iter().skip(Stream::Communication(0).index()).any(|stream| stream.running.is_some())
}

#[cfg(test)]
mod tests {
    use super::{Queued, Running};
    use crate::faults::parameters::CONTENDED;
    use crate::faults::program::{Kernel, Work};

    #[test]
    fn a_kernel_is_slower_while_a_collective_runs() {
        let work = Work::Kernel(Kernel { name: "k", dur_ns: 100_000, grid: 1, block: 1 });
        let queued = Queued { event: 0, work, ready_ns: 0, gap_ns: 0, after: Vec::new(), dur_ns: 100_000 };
        let mut running = Running::new(queued, 0);
        assert_eq!(running.end_ns(), Some(100_000));
        assert!(running.contend(true, 50_000));
        assert!(!running.contend(true, 60_000), "it is already");
        assert_eq!(running.end_ns(), Some(50_000 + 50 * CONTENDED));
        assert!(running.contend(false, 50_000 + 25 * CONTENDED));
        assert_eq!(running.end_ns(), Some(75_000 + 25 * CONTENDED));
        assert_eq!(running.version, 2);
    }
}
