//! What an analysis of a simulated job must find.

use stepscope_model::Class;

use crate::job::Job;
use crate::kernel::{Kernel, Tensor};
use crate::step::{Copy, Step, What};
use crate::sweep::Shares;

/// What is true of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The rank whose GPU is slower.
    pub slow_rank: Option<u32>,
    /// Recorded steps.
    pub steps: u32,
    /// Collectives of each rank.
    pub collectives: u64,
    /// Time that moving data takes, over all collectives, once all ranks have arrived.
    pub transfer_ns: i64,
    /// Kernels of a step that compute.
    pub kernels_per_step: u64,
    /// Those of them on tiny tensors.
    pub small_kernels_per_step: u64,
    /// Copies of a step from pageable memory to the device.
    pub pageable_copies_per_step: u64,
    /// Bytes of these copies.
    pub pageable_bytes_per_step: i64,
    /// Floating-point operations of a step on one rank.
    pub flops_per_step: i64,
    /// What is true of each rank.
    pub ranks: Vec<RankTruth>,
}

/// What is true of one rank, over all steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankTruth {
    /// Length of the steps.
    pub step_ns: i64,
    /// What it went to.
    pub shares: Shares,
    /// Length of the kernels of collectives.
    pub communication_ns: i64,
    /// What of it was waiting for other ranks.
    pub wait_ns: i64,
    /// Collectives that it was the last to arrive at.
    pub last_arrivals: u64,
    /// Waiting of other ranks at these.
    pub wait_caused_ns: i64,
    /// What its clock shows more than that of rank 0.
    pub clock_offset_ns: i64,
}

impl Truth {
    pub(crate) fn of(job: &Job) -> Self {
        let run = job.run();
        let mut truth = Self::without_ranks(job);
        // For each collective the shortest kernel with its rank, and the waiting of all ranks.
        let mut lasts = vec![(i64::MAX, 0); truth.collectives as usize];
        let mut all_waiting_ns = vec![0; truth.collectives as usize];
        for rank in 0..job.ranks {
            let mut of_rank = RankTruth { clock_offset_ns: job.clock_offset_ns(rank), ..RankTruth::default() };
            for step in run.rank(rank) {
                if rank == 0 && step.number == 0 {
                    truth.count(job, &step);
                }
                of_rank.step_ns += step.dur_ns();
                of_rank.shares.add(&step.shares());
                for collective in &step.collectives {
                    let place = collective.ordinal as usize;
                    let wait_ns = collective.dur_ns - job.transfer_ns(collective.index);
                    of_rank.communication_ns += collective.dur_ns;
                    of_rank.wait_ns += wait_ns;
                    lasts[place] = lasts[place].min((collective.dur_ns, rank));
                    all_waiting_ns[place] += wait_ns;
                }
            }
            truth.ranks.push(of_rank);
        }
        for ((_, rank), wait_ns) in lasts.into_iter().zip(all_waiting_ns) {
            truth.ranks[rank as usize].last_arrivals += 1;
            truth.ranks[rank as usize].wait_caused_ns += wait_ns;
        }
        truth
    }

    /// Share of the steps of a rank that went into waiting for the data loader.
    #[must_use]
    pub fn dataloader_ratio(&self, rank: u32) -> f64 {
        let rank = &self.ranks[rank as usize];
        rank.shares.of(Class::Dataloader) as f64 / rank.step_ns as f64
    }

    fn without_ranks(job: &Job) -> Self {
        let transfers_ns = (0..job.collectives_per_step).map(|index| job.transfer_ns(index));
        Self {
            slow_rank: job.slow_rank,
            steps: job.steps,
            collectives: u64::from(job.steps) * u64::from(job.collectives_per_step),
            transfer_ns: i64::from(job.steps) * transfers_ns.sum::<i64>(),
            kernels_per_step: 0,
            small_kernels_per_step: 0,
            pageable_copies_per_step: 0,
            pageable_bytes_per_step: 0,
            // A product forward, and two backward.
            flops_per_step: 3 * i64::from(job.layers) * 2 * job.batch * job.width * job.width,
            ranks: Vec::new(),
        }
    }

    /// Counts what is the same in every step of every rank.
    fn count(&mut self, job: &Job, step: &Step) {
        for happening in &step.happenings {
            match happening.what {
                What::Kernel(kernel) => {
                    self.kernels_per_step += 1;
                    self.small_kernels_per_step += u64::from(kernel == Kernel::Elementwise(Tensor::Small));
                }
                What::Copy(Copy::ToDevice(tensor)) => {
                    self.pageable_copies_per_step += 1;
                    self.pageable_bytes_per_step += tensor.size_bytes(job);
                }
                _ => {}
            }
        }
    }
}
