//! The GPU that simulated jobs run on: one with tensor cores, which the jobs do not use.

use crate::job::Job;

/// Name.
pub(crate) const NAME: &str = "NVIDIA A100-SXM4-80GB";
/// Memory.
pub(crate) const MEMORY_BYTES: i64 = 84_987_740_160;
/// Major compute capability.
pub(crate) const COMPUTE_MAJOR: i64 = 8;
/// Multiprocessors.
pub(crate) const MULTIPROCESSORS: i64 = 108;
/// GPUs of a host.
const DEVICES_PER_HOST: u32 = 8;

/// GPUs that a rank sees.
pub(crate) fn count(job: &Job) -> u32 {
    job.ranks.min(DEVICES_PER_HOST)
}

/// The GPU of a rank, by its number on the host.
pub(crate) fn of_rank(rank: u32) -> i64 {
    i64::from(rank % DEVICES_PER_HOST)
}
