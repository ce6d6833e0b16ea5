//! What is trained, on how many ranks, and what is wrong with it.

use crate::kernel::Tensor;
use crate::noise::noise;
use crate::run::Run;
use crate::truth::Truth;

/// Time that a collective takes beside moving its bytes.
const COLLECTIVE_LATENCY_NS: i64 = 8_000;
/// Bus bandwidth between ranks: 200 GB/s.
const BUS_BYTES_PER_NS: i64 = 200;

/// A training job: a stack of linear layers, trained data-parallel in single precision.
///
/// Ranks differ in nothing but how long their kernels take. As every kernel of the slow rank takes longer than the same
/// kernel elsewhere (`slowdown` above `jitter`), it arrives last at every collective and waits least. It does so by a
/// margin when the work between two collectives takes longer than one of them, which more layers than collectives and a
/// large `batch` bring about.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Processes, one GPU each.
    pub ranks: u32,
    /// Recorded steps.
    pub steps: u32,
    /// Linear layers, each with an activation.
    pub layers: u32,
    /// Collectives that the gradients of a step are summed by; at most one a layer is life-like.
    pub collectives_per_step: u32,
    /// Operators on tiny tensors at the start of a step, each with a kernel that is shorter than its launch.
    pub small_ops_per_step: u32,
    /// Copies of a batch from pageable host memory.
    pub copies_per_step: u32,
    /// Rows of a batch.
    pub batch: i64,
    /// Columns of a batch, and both sides of a layer's weight.
    pub width: i64,
    /// Wait for the data loader at the start of a step.
    pub dataloader_ns: i64,
    /// Largest random share that a kernel takes longer than it must.
    pub jitter: f64,
    /// The rank whose GPU is slower.
    pub slow_rank: Option<u32>,
    /// Share that a kernel of the slow rank takes longer.
    pub slowdown: f64,
    /// Largest difference between the clock of rank 0 and that of another rank.
    pub clock_skew_ns: i64,
    /// Another seed gives another job of the same kind.
    pub seed: u64,
}

impl Default for Job {
    /// A healthy job on two ranks.
    fn default() -> Self {
        Self {
            ranks: 2,
            steps: 6,
            layers: 8,
            collectives_per_step: 4,
            small_ops_per_step: 0,
            copies_per_step: 0,
            batch: 512,
            width: 2048,
            dataloader_ns: 60_000,
            jitter: 0.01,
            slow_rank: None,
            slowdown: 0.0,
            clock_skew_ns: 0,
            seed: 1,
        }
    }
}

impl Job {
    /// A small job with known faults: it waits for data a third of the time, copies from pageable memory, launches many
    /// tiny kernels, multiplies in single precision on a device with tensor cores, and rank 1 is 8 % slower.
    #[must_use]
    pub fn demo() -> Self {
        Self {
            small_ops_per_step: 300,
            copies_per_step: 2,
            dataloader_ns: 6_800_000,
            slow_rank: Some(1),
            slowdown: 0.08,
            clock_skew_ns: 40_000,
            ..Self::default()
        }
    }

    /// The demo after its data loading was fixed: workers load the next batch while this one is computed.
    #[must_use]
    pub fn demo_with_fast_loading() -> Self {
        Self { dataloader_ns: Self::default().dataloader_ns, ..Self::demo() }
    }

    /// A job of the size that questions across ranks are designed for, with one slow rank: 1,024 ranks, 4.1 million
    /// collectives.
    #[must_use]
    pub fn scale() -> Self {
        Self {
            ranks: 1024,
            steps: 20,
            layers: 200,
            collectives_per_step: 200,
            width: 1024,
            slow_rank: Some(613),
            slowdown: 0.05,
            clock_skew_ns: 2_000_000,
            ..Self::default()
        }
    }

    /// Plays the job.
    #[must_use]
    pub fn run(&self) -> Run<'_> {
        Run::new(self)
    }

    /// What an analysis must find.
    #[must_use]
    pub fn truth(&self) -> Truth {
        Truth::of(self)
    }

    /// Elements of a collective, by its place in the step.
    #[must_use]
    pub fn collective_elements(&self, index: u32) -> i64 {
        let parameters = (Tensor::Weight.elements(self) + Tensor::Bias.elements(self)) * i64::from(self.layers);
        let (index, count) = (i64::from(index), i64::from(self.collectives_per_step));
        parameters * (index + 1) / count - parameters * index / count
    }

    /// Time that a collective takes once all ranks have arrived, by its place in the step.
    #[must_use]
    pub fn transfer_ns(&self, index: u32) -> i64 {
        let ranks = i64::from(self.ranks);
        let bytes_on_bus = self.collective_elements(index) * 4 * 2 * (ranks - 1) / ranks;
        COLLECTIVE_LATENCY_NS + bytes_on_bus / BUS_BYTES_PER_NS
    }

    /// What the clock of a rank shows more than that of rank 0.
    #[must_use]
    pub fn clock_offset_ns(&self, rank: u32) -> i64 {
        if rank == 0 {
            return 0;
        }
        let share = noise(self.seed, [u64::MAX, u64::from(rank), 0]) * 2.0 - 1.0;
        (self.clock_skew_ns as f64 * share) as i64
    }
}
