//! The loader of a rank: worker processes that read batches ahead of the script.

use std::collections::VecDeque;

use crate::noise::noise;

use crate::faults::parameters::KERNEL_NOISE;
use crate::faults::setup;

/// Batches that each worker may be ahead: the default of the framework.
const PREFETCH_FACTOR: usize = 2;
/// Differences between batches are this much larger than those between runs of a kernel.
const DECODE_SPREAD: f64 = 1.5;

/// The loader of a rank.
///
/// Batches go to the workers in turn, and are handed out in the same order. A batch begins when the batches before the
/// one that it may be ahead of were taken; when it is ready follows from that at once.
pub(super) struct Loader {
    settings: setup::Loader,
    seed: u64,
    rank: u32,
    /// When each worker has finished what was given to it.
    workers_free_ns: Vec<i64>,
    storage_free_ns: i64,
    given: u64,
    ready_ns: VecDeque<i64>,
}

impl Loader {
    pub(super) fn new(settings: setup::Loader, seed: u64, rank: u32) -> Self {
        let mut loader = Self {
            settings,
            seed,
            rank,
            workers_free_ns: vec![0; settings.workers],
            storage_free_ns: 0,
            given: 0,
            ready_ns: VecDeque::new(),
        };
        for _ in 0..settings.workers * PREFETCH_FACTOR {
            loader.give(0);
        }
        loader
    }

    /// When the next batch is ready.
    pub(super) fn next_ready_ns(&self) -> i64 {
        self.ready_ns.front().copied().unwrap_or(i64::MAX)
    }

    /// Hands out the next batch; a worker may begin another one.
    pub(super) fn take(&mut self, now_ns: i64) {
        self.ready_ns.pop_front();
        self.give(now_ns);
    }

    fn give(&mut self, now_ns: i64) {
        let worker = self.given as usize % self.workers_free_ns.len();
        let begin_ns = self.workers_free_ns[worker].max(now_ns);
        let read_from_ns = self.storage_free_ns.max(begin_ns);
        self.storage_free_ns = read_from_ns + self.longer(self.settings.read_ns, 0);
        let ready_ns = self.storage_free_ns + self.longer(self.settings.decode_ns, 1);
        self.workers_free_ns[worker] = ready_ns;
        self.given += 1;
        self.ready_ns.push_back(ready_ns);
    }

    /// A time with the noise of the batch.
    fn longer(&self, dur_ns: i64, which: u64) -> i64 {
        let share = noise(self.seed, [u64::from(self.rank), u64::MAX - self.given, which]);
        let noise = (KERNEL_NOISE.at(share) - 1_000) as f64 / 1_000.0 * DECODE_SPREAD;
        dur_ns + (dur_ns as f64 * noise) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::Loader;
    use crate::faults::setup;

    /// Takes batches as fast as they come, and gives the mean time of one.
    fn mean_ns(settings: setup::Loader, batches: i64) -> i64 {
        let mut loader = Loader::new(settings, 1, 0);
        let mut now_ns = 0;
        for _ in 0..batches {
            now_ns = loader.next_ready_ns().max(now_ns);
            loader.take(now_ns);
        }
        now_ns / batches
    }

    #[test]
    fn the_slower_of_storage_and_workers_sets_the_pace() {
        let of_storage = mean_ns(setup::Loader { workers: 8, read_ns: 1_000, decode_ns: 2_000 }, 200);
        assert!((1_000..1_100).contains(&of_storage), "{of_storage}");
        let of_workers = mean_ns(setup::Loader { workers: 2, read_ns: 100, decode_ns: 2_000 }, 200);
        assert!((1_000..1_150).contains(&of_workers), "{of_workers}");
    }

    #[test]
    fn workers_stop_when_they_are_far_enough_ahead() {
        let mut loader = Loader::new(setup::Loader { workers: 2, read_ns: 10, decode_ns: 100 }, 1, 0);
        assert_eq!(loader.ready_ns.len(), 4);
        for _ in 0..4 {
            assert!(loader.next_ready_ns() < 1_000_000);
            loader.take(1_000_000);
        }
        assert!(loader.next_ready_ns() > 1_000_000, "the fifth begins when the first was taken");
    }
}
