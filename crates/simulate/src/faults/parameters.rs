//! The constants of the machine, and where each of them comes from.
//!
//! Distributions are quantiles that were measured on the traces of the corpus with device events from CUDA: for each
//! quantile the median over the traces. The example `quantiles` measures them again and prints them beside those of
//! simulated jobs; `docs/simulator.md` shows the result.

/// Lengths at the percentiles [`PERCENTILES`], in nanoseconds or in thousandths of a factor.
#[derive(Debug)]
pub(crate) struct Quantiles(pub [i64; 7]);

/// The percentiles of [`Quantiles`].
const PERCENTILES: [f64; 7] = [0.01, 0.10, 0.25, 0.50, 0.75, 0.90, 0.99];

impl Quantiles {
    /// The value below which this share of all values is. What is rarer than the outermost percentiles is cut.
    pub(crate) fn at(&self, share: f64) -> i64 {
        let share = share.clamp(PERCENTILES[0], PERCENTILES[6]);
        let upper = PERCENTILES.iter().position(|&percentile| share <= percentile).unwrap_or(6).max(1);
        let (from, to) = (PERCENTILES[upper - 1], PERCENTILES[upper]);
        let (low, high) = (self.0[upper - 1], self.0[upper]);
        low + ((high - low) as f64 * (share - from) / (to - from)).round() as i64
    }
}

// Measured on the corpus, 14 traces: medians of the quantiles of each trace.

/// A call that launches a kernel.
pub(crate) const LAUNCH_CALL_NS: Quantiles = Quantiles([4_800, 5_300, 6_100, 7_700, 9_500, 12_000, 20_100]);
/// From the start of such a call to the start of its kernel on a stream that does nothing.
pub(crate) const LAUNCH_LATENCY_NS: Quantiles = Quantiles([7_900, 8_100, 9_500, 10_600, 12_000, 17_900, 35_800]);
/// Between two kernels of a stream if the second was in the queue.
pub(crate) const GAP_NS: Quantiles = Quantiles([850, 950, 1_050, 1_300, 1_950, 2_050, 3_000]);
/// From the end of what a call waits for to its return.
pub(crate) const SYNC_RETURN_NS: Quantiles = Quantiles([3_900, 3_900, 5_000, 6_500, 7_900, 7_900, 8_000]);
/// Between two operators that the script calls: Python.
pub(crate) const PYTHON_NS: Quantiles = Quantiles([2_300, 4_000, 5_700, 10_700, 20_100, 30_500, 74_300]);
/// From the start of an operator to the call that launches its kernel.
pub(crate) const OP_ENTRY_NS: Quantiles = Quantiles([4_100, 6_100, 7_200, 8_500, 11_800, 19_200, 39_200]);
/// From the end of that call to the end of the operator.
pub(crate) const OP_EXIT_NS: Quantiles = Quantiles([1_700, 1_800, 2_000, 2_500, 3_200, 3_500, 7_100]);
/// What an operator that launches nothing takes, or one that only calls another.
pub(crate) const OP_ALONE_NS: Quantiles = Quantiles([200, 300, 1_000, 3_000, 5_200, 9_100, 14_200]);
/// Kernels of one name and grid: thousandths of their median. The outermost two are those of the traces in which a name
/// is one shape (`h100_qwen`, `b200`), as elsewhere a name is several.
pub(crate) const KERNEL_NOISE: Quantiles = Quantiles([936, 963, 989, 1_000, 1_013, 1_046, 1_164]);

// From single traces of the corpus. Where a comment says about, the values were rounded by hand, not measured as such.

/// Work in the queue of a stream, launched and not started, before a call waits: `hta/ns_resolution_trace`.
pub(crate) const QUEUE_LIMIT: u64 = 1022;
/// Thousandths of its length that a kernel takes while a collective runs: `hta/nccl_parser_config`, `hta/trace_diff`.
pub(crate) const CONTENDED: i64 = 1_062;
/// A call that only notes something down: about those for events in `hta/nccl_parser_config`.
pub(crate) const EVENT_CALL_NS: Quantiles = Quantiles([650, 900, 1_200, 1_800, 2_200, 2_400, 3_600]);
/// A call that waits for something that is over already: about as in `hta/trace_diff` and `tracelens/h100`.
pub(crate) const SYNC_OWN_NS: Quantiles = Quantiles([700, 1_300, 2_000, 3_000, 4_000, 5_800, 7_000]);
/// A call that takes memory from the device: about as in `particle_transformer` and `param/resnet_kineto`.
pub(crate) const MALLOC_NS: Quantiles = Quantiles([28_000, 126_000, 147_000, 195_000, 335_000, 526_000, 731_000]);
/// A call that copies from pinned memory: about as in `tracelens/b200` and `hta/trace_diff`.
pub(crate) const COPY_CALL_NS: Quantiles = Quantiles([4_000, 5_000, 5_700, 8_400, 13_800, 26_600, 44_600]);
/// From the call to the start of a copy from pageable memory, on a stream that does nothing: about half
/// of what the corpus has, 208 µs at the median of 86 copies.
pub(crate) const STAGING_NS: Quantiles = Quantiles([81_000, 84_000, 90_000, 120_000, 160_000, 240_000, 318_000]);
/// Bytes per microsecond from pageable memory: `kineto/resnet50_num_workers_4`.
pub(crate) const PAGEABLE_BYTES_PER_US: i64 = 5_400;
/// Bytes per microsecond from pinned memory: `hta/trace_diff`.
pub(crate) const PINNED_BYTES_PER_US: i64 = 9_900;
/// A copy of one number to the host: `tracelens/h100`.
pub(crate) const READ_NUMBER_NS: i64 = 2_300;
/// From the script to the thread of the backward pass, or back: assumed, not measured. The corpus has 194 µs at the median
/// of 31 steps, with the Python around it.
pub(crate) const HAND_OFF_NS: Quantiles = Quantiles([18_000, 22_000, 28_000, 38_000, 55_000, 80_000, 120_000]);
/// Bytes that a link between ranks moves per microsecond, the slowest and the fastest: `hta/nccl_parser_config`
/// and `astra-sim/megatron-tp8`.
pub(crate) const LINK_BYTES_PER_US: [i64; 2] = [11_000, 188_000];
/// What a collective takes beside moving its bytes: the shortest of `hta/nccl_parser_config`.
pub(crate) const COLLECTIVE_LATENCY_NS: i64 = 7_600;

// Of the device that the jobs are simulated on, an A100 with 80 GB, by its data sheet.

/// Floating-point operations per nanosecond of one multiprocessor, in bfloat16 with tensor cores.
pub(crate) const BFLOAT16_FLOPS_PER_NS: f64 = 312_000.0 / 108.0;
/// The same in single precision without tensor cores.
pub(crate) const FLOAT_FLOPS_PER_NS: f64 = 19_500.0 / 108.0;
/// Share of it that products of matrices reach in single precision.
pub(crate) const FLOAT_EFFICIENCY: f64 = 0.85;
/// Bytes per nanosecond that kernels reach which do something to every element: 60 % of 2.0 TB/s.
pub(crate) const MEMORY_BYTES_PER_NS: i64 = 1_200;
/// The shortest kernel: elementwise kernels of the corpus.
pub(crate) const KERNEL_MIN_NS: i64 = 1_900;

#[cfg(test)]
mod tests {
    use super::{LAUNCH_CALL_NS, Quantiles};

    #[test]
    fn quantiles_are_met_and_joined_by_straight_lines() {
        let quantiles = Quantiles([0, 90, 240, 490, 740, 890, 980]);
        assert_eq!([0.0, 0.01, 0.1, 0.5, 0.9, 1.0].map(|share| quantiles.at(share)), [0, 0, 90, 490, 890, 980]);
        assert_eq!(quantiles.at(0.6), 590);
        let drawn: Vec<i64> = (0..=1000).map(|share| LAUNCH_CALL_NS.at(f64::from(share) / 1000.0)).collect();
        assert!(drawn.is_sorted());
        assert_eq!((drawn[0], drawn[500], drawn[1000]), (4_800, 7_700, 20_100));
    }
}
