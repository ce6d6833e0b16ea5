//! The fourteen faults, the rules that answer for each of them, and the pairs that exclude each other.

/// Something that is wrong with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Storage delivers batches more slowly than they are used, whatever the number of workers.
    SlowInput,
    /// The loader has too few workers for the work that a batch needs.
    TooFewWorkers,
    /// The script reads numbers from the device in every step.
    ItemInEveryStep,
    /// Batches are copied from pageable memory, and the script waits for the copy.
    PageableCopies,
    /// Many operators on small tensors, each with a kernel that is shorter than its launch.
    TinyKernels,
    /// Gradients are summed over the ranks after the backward pass, not during it.
    NoOverlap,
    /// The device of one rank is slower than the others.
    SlowRank,
    /// The link between the ranks of one process group is slower than the others.
    SlowLink,
    /// Every step keeps memory that no step frees.
    Leak,
    /// Most of the reserved memory is in blocks of sizes that the steps do not ask for.
    Fragmentation,
    /// The model is compiled again in the middle of the run.
    Recompilation,
    /// The model is in single precision on a device with tensor cores.
    NoMixedPrecision,
    /// The batch is too small to fill the device.
    SmallBatch,
    /// The script pauses now and then: garbage collection, logging, saving.
    HostPauses,
}

/// A fault, its name in JSON, and the rules one of which must be the first finding if the fault costs most.
///
/// Written before any rule was tuned. A rule that only names a symptom of the fault is not in it.
const TABLE: [(Fault, &str, &[&str]); 14] = [
    (Fault::SlowInput, "slow_input", &["data_loading"]),
    (Fault::TooFewWorkers, "too_few_workers", &["too_few_workers", "data_loading"]),
    (Fault::ItemInEveryStep, "item_in_every_step", &["scalar_read", "frequent_synchronization"]),
    (Fault::PageableCopies, "pageable_copies", &["pageable_copies", "blocking_transfers"]),
    (Fault::TinyKernels, "tiny_kernels", &["many_small_kernels", "missed_fusion", "graph_candidate", "launch_bound"]),
    (Fault::NoOverlap, "no_overlap", &["exposed_communication"]),
    (Fault::SlowRank, "slow_rank", &["straggler", "rank_imbalance"]),
    (Fault::SlowLink, "slow_link", &["slow_link"]),
    (Fault::Leak, "leak", &["memory_leak"]),
    (Fault::Fragmentation, "fragmentation", &["fragmentation"]),
    (Fault::Recompilation, "recompilation", &["recompilation"]),
    (Fault::NoMixedPrecision, "no_mixed_precision", &["precision", "tensor_cores_idle"]),
    (Fault::SmallBatch, "small_batch", &["low_occupancy"]),
    (Fault::HostPauses, "host_pauses", &["host_pause"]),
];

/// Two faults that no job has together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclusive {
    /// The two.
    pub faults: [Fault; 2],
    /// Why.
    pub reason: &'static str,
}

/// The pairs that are left out.
pub const EXCLUSIVE: [Exclusive; 1] = [Exclusive {
    faults: [Fault::SlowInput, Fault::TooFewWorkers],
    reason: "both make the script wait for the same batch, so the larger wait hides the smaller",
}];

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 14] = {
        let mut all = [Self::SlowInput; 14];
        let mut place = 0;
        while place < all.len() {
            all[place] = TABLE[place].0;
            place += 1;
        }
        all
    };

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The rules that answer for it.
    #[must_use]
    pub fn rules(self) -> &'static [&'static str] {
        TABLE[self as usize].2
    }

    /// Whether removing it makes steps shorter; memory that is held is no time.
    #[must_use]
    pub fn costs_time(self) -> bool {
        !matches!(self, Self::Leak | Self::Fragmentation)
    }

    /// Whether it takes several ranks.
    #[must_use]
    pub fn needs_ranks(self) -> bool {
        matches!(self, Self::NoOverlap | Self::SlowRank | Self::SlowLink)
    }

    /// Why no job has it together with another fault; `None` if jobs may.
    #[must_use]
    pub fn excludes(self, other: Self) -> Option<&'static str> {
        let pair = [self.min(other), self.max(other)];
        EXCLUSIVE.iter().find(|exclusive| exclusive.faults == pair).map(|exclusive| exclusive.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, TABLE};

    #[test]
    fn the_table_is_in_the_order_of_the_faults() {
        for (place, (fault, name, rules)) in TABLE.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
            assert_eq!((fault.name(), fault.rules()), (name, rules));
            assert!(!rules.is_empty());
        }
        assert_eq!(Fault::ALL[13], Fault::HostPauses);
    }

    #[test]
    fn exclusion_has_no_order() {
        assert!(Fault::TooFewWorkers.excludes(Fault::SlowInput).is_some());
        assert_eq!(Fault::SlowInput.excludes(Fault::TooFewWorkers), Fault::TooFewWorkers.excludes(Fault::SlowInput));
        assert_eq!(Fault::Leak.excludes(Fault::SlowInput), None);
    }
}
