//! Collectives: the gradients of all ranks are summed, by one process group of all ranks.

use std::fmt::Write as _;

use crate::job::Job;

/// The name of the process group.
pub const PROCESS_GROUP: &str = "0";
/// The name of the kernel.
pub(crate) const KERNEL_NAME: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
/// Ranks that a profiler names before it cuts the list short.
const RANKS_NAMED: u32 = 30;

/// One collective as one rank saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Place among all collectives of the job, from 0.
    pub ordinal: u64,
    /// Place among those of the step.
    pub index: u32,
    /// Start of the call that launched the kernel.
    pub launch_ns: i64,
    /// Start of the kernel: this rank has arrived.
    pub start_ns: i64,
    /// Length of the kernel: the wait for the others, and the transfer.
    pub dur_ns: i64,
    /// Elements of single precision that are summed.
    pub elements: i64,
}

impl Collective {
    /// Bytes that are summed.
    #[must_use]
    pub fn size_bytes(&self) -> i64 {
        self.elements * 4
    }
}

/// The ranks of the process group, as the profiler writes them beside a collective.
pub(crate) fn group_ranks(job: &Job) -> String {
    let mut text = String::from("[0");
    for rank in 1..job.ranks.min(RANKS_NAMED) {
        let _ = write!(text, ", {rank}");
    }
    if job.ranks > RANKS_NAMED {
        let _ = write!(text, ", ..., {}", job.ranks - 1);
    }
    text.push(']');
    text
}
