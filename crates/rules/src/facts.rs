//! What rules may know: figures, already measured.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_model::{Class, KernelCategory};

use super::{Framework, Hardware, Window};

/// The figures of the recordings that are asked about. Times are over all steps unless a name says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Complete steps of all recordings.
    pub steps: usize,
    /// Their time, added up.
    pub step_ns: i64,
    /// What it goes to, by class.
    pub by_class: [i64; Class::ALL.len()],
    /// The part of it in which the device was busy with work from before the recording, by what the host did meanwhile.
    pub before_recording: [i64; Class::ALL.len()],
    /// Shortest and longest share of data loading of any step, in nanoseconds.
    pub loading_range_ns: Option<(i64, i64)>,
    /// Time in which a kernel of any kind runs.
    pub kernel_busy_ns: i64,
    /// Time in which anything runs on a device.
    pub device_busy_ns: i64,
    /// Kernels, copies and fills.
    pub device_events: i64,
    /// Their time, by what they do.
    pub by_category: BTreeMap<KernelCategory, i64>,
    /// Classes of iterators that data comes from, as annotated, with their number of calls.
    pub loaders: BTreeMap<String, i64>,
    /// Regions that their author named for data loading, with their number of calls; looked for where there is no such
    /// iterator.
    pub loading_regions: BTreeMap<String, i64>,
    /// Their time in which no device works.
    pub region_loading_ns: i64,
    /// What the program is made with, as far as the trace shows it.
    pub frameworks: BTreeSet<Framework>,
    /// What the devices are.
    pub hardware: Hardware,
    /// How many of them a rank has work on, at most.
    pub devices_of_a_rank: usize,
    /// Time of the steps in which a thread is in `DataParallel.forward`.
    pub data_parallel_ns: i64,
    /// Backends that communicate on the host.
    pub host_backends: BTreeSet<String>,
    /// Time of the steps in which one does.
    pub host_communication_ns: i64,
    /// Device time of kernels whose names say tensor cores.
    pub tensor_core_ns: i64,
    /// Device time of all operators.
    pub operator_device_ns: i64,
    /// Device time of operators that tensor cores could do.
    pub eligible_ns: i64,
    /// The name of the largest of them.
    pub eligible_name: Option<String>,
    /// Time of the steps in which such an operator's kernel runs without them; known where that is a finding.
    pub without_cores_ns: i64,
    /// Launch calls.
    pub launches: i64,
    /// Time of the steps in which a thread is in one and the device has nothing to do.
    pub exposed_launch_ns: i64,
    /// The median of their lengths.
    pub median_call_ns: i64,
    /// How many launched something shorter than themselves.
    pub shorter_than_call: i64,
    /// The operator that is called most.
    pub most_called: Option<(String, i64)>,
    /// Calls that wait for the device.
    pub synchronizations: i64,
    /// Time of the steps in which a thread is in one.
    pub synchronization_ns: i64,
    /// Copies from or to pageable memory.
    pub pageable: Copies,
    /// Peak of reserved or allocated memory, and the memory of the device.
    pub memory: Option<(i64, i64)>,
    /// Allocated and reserved memory when most was reserved.
    pub reserved_peak: Option<(i64, i64)>,
    /// What memory snapshots say of the allocator.
    pub allocator: Option<Allocator>,
    /// Allocated memory at the end of each step of the rank with the most steps.
    pub memory_after_steps: Vec<i64>,
    /// Resident memory of the process at the end of each step of the rank with the most steps, where it was recorded.
    pub host_memory_after_steps: Vec<i64>,
    /// How long complete steps take.
    pub step_times: Option<StepTimes>,
    /// The collective that takes the most time.
    pub largest_collective: Option<String>,
    /// Ranks at hand.
    pub ranks: usize,
    /// What ranks wait for each other; none unless the traces of several ranks match.
    pub waits: Option<Waits>,
    /// Groups whose link is slower than that of others.
    pub slow_links: Vec<SlowLink>,
    /// Whether Python stacks were recorded.
    pub has_stacks: bool,
    /// What the replayed steps show; none where nothing could be replayed.
    pub window: Option<Window>,
}

/// What memory snapshots say of the allocator, all devices together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocator {
    /// Its state when the snapshot was made, where that is recorded.
    pub state: Option<AllocatorState>,
    /// Allocations that failed.
    pub failures: i64,
    /// Bytes that the largest of them asked for.
    pub failed_bytes: i64,
    /// Bytes that the device had left then.
    pub device_free_bytes: Option<i64>,
    /// Most that was in use, of the device where that was highest.
    pub peak_active_bytes: i64,
    /// Most that was reserved, of that device.
    pub peak_reserved_bytes: i64,
    /// Bytes taken from that device in the history.
    pub taken_bytes: i64,
    /// Bytes given back to it.
    pub returned_bytes: i64,
    /// Calls that gave some back.
    pub returns: i64,
}

/// The state of an allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorState {
    /// Segments.
    pub reserved_bytes: i64,
    /// Blocks that the program holds.
    pub allocated_bytes: i64,
    /// What the program asked for in these.
    pub requested_bytes: i64,
    /// Free bytes in segments that cannot be given back.
    pub stuck_bytes: i64,
}

/// How long complete steps take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    /// How many there are.
    pub count: usize,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// Mean.
    pub mean_ns: f64,
}

/// What ranks wait for each other in collectives, added up over ranks.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// All waiting.
    pub wait_ns: i64,
    /// The part inside steps in which nothing else runs on the rank's device: no kernel, copy, fill or transfer.
    pub exposed_ns: i64,
    /// The part of that which the stragglers cause to the other ranks.
    pub exposed_caused_ns: i64,
    /// The steps of those.
    pub waiting_steps: usize,
    /// The stragglers with all waiting that each causes, the worst first.
    pub stragglers: Vec<(i64, i64)>,
    /// Each rank with the time of its steps that is not waiting.
    pub local_ns: Vec<(i64, i64)>,
}

/// A process group that transfers slower than others of the same collective and message.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// Its id.
    pub group_id: i64,
    /// Its name, where it was recorded.
    pub process_group: Option<String>,
    /// One of its ranks.
    pub rank: u32,
    /// What it does.
    pub collective: String,
    /// With how many bytes.
    pub message_bytes: i64,
    /// How long its transfer takes.
    pub transfer_ns: i64,
    /// Its bus bandwidth.
    pub bus_gb_per_s: f64,
    /// The median of the other groups.
    pub usual_gb_per_s: f64,
}

impl SlowLink {
    /// How much of the usual bandwidth it has.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.bus_gb_per_s / self.usual_gb_per_s
    }
}

/// A step that the device bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Share of the steps in which anything runs on a device.
    pub busy_ratio: f64,
    /// What takes the most device time.
    pub category: KernelCategory,
    /// Its share of that.
    pub category_ratio: f64,
}

/// From this share of the step on, a busy device is the limit.
const BUSY: f64 = 0.90;
/// From this share of the step on, communication is the limit, however busy it keeps the device.
const COMMUNICATING: f64 = 0.10;

/// Some copies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    /// How many.
    pub count: i64,
    /// What they moved.
    pub size_bytes: i64,
    /// Their lengths, added up.
    pub sum_ns: i64,
    /// Time of the steps in which one of them runs.
    pub time_ns: i64,
    /// The part of that time in which a kernel runs.
    pub hidden_ns: i64,
}

impl Facts {
    /// What the device is busy with, if that is what bounds the step.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        let busy_ratio = self.share(self.device_busy_ns);
        if busy_ratio < BUSY || self.share(self.of(Class::Communication)) >= COMMUNICATING {
            return None;
        }
        // Of equals the first.
        let (category, ns) = self.by_category.iter().rev().max_by_key(|(_, ns)| **ns)?;
        let all = self.device_ns();
        Some(Bound { busy_ratio, category: *category, category_ratio: *ns as f64 / all.max(1) as f64 })
    }

    /// The part of a figure that falls on one step.
    #[must_use]
    pub fn per_step(&self, total_ns: i64) -> f64 {
        total_ns as f64 / self.steps.max(1) as f64
    }

    /// Whether more of the exposed communication is waiting than not, by the traces of several ranks.
    #[must_use]
    pub fn is_mostly_waiting(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.exposed_ns * 2 > self.of(Class::Communication))
    }

    /// Time of kernels, copies and fills, added up.
    #[must_use]
    pub fn device_ns(&self) -> i64 {
        self.by_category.values().sum()
    }

    /// The time of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> i64 {
        self.by_class[class as usize]
    }

    /// The time of a class without that in which the device was busy with work from before the recording.
    #[must_use]
    pub fn known_of(&self, class: Class) -> i64 {
        self.of(class) - self.before_recording[class as usize]
    }

    /// Time of the steps in which the device was busy with work from before the recording.
    #[must_use]
    pub fn before_recording_ns(&self) -> i64 {
        self.before_recording.iter().sum()
    }

    /// The share of the steps' time.
    #[must_use]
    pub fn share(&self, total_ns: i64) -> f64 {
        if self.step_ns > 0 { total_ns as f64 / self.step_ns as f64 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_device_is_the_limit_unless_communication_is() {
        use KernelCategory::{Attention, Gemm, Other};
        #[track_caller]
        fn check(
            device_busy_ns: i64,
            communication_ns: i64,
            by_category: &[(KernelCategory, i64)],
            want: Option<(f64, KernelCategory, f64)>,
        ) {
            let by_category = by_category.iter().copied().collect();
            let mut facts = Facts { steps: 2, step_ns: 1_000, device_busy_ns, by_category, ..Facts::default() };
            facts.by_class[Class::Communication as usize] = communication_ns;
            let bound = facts.bound().map(|bound| (bound.busy_ratio, bound.category, bound.category_ratio));
            assert_eq!(bound, want, "{facts:?}");
        }
        let mixed = &[(Gemm, 100), (Attention, 600), (Other, 100)];
        check(899, 0, mixed, None);
        check(900, 0, mixed, Some((0.9, Attention, 0.75)));
        check(1_000, 99, mixed, Some((1.0, Attention, 0.75)));
        check(1_000, 100, mixed, None);
        check(1_000, 500, mixed, None);
        check(500, 500, mixed, None);
        // Of equals the first.
        check(900, 0, &[(Gemm, 300), (Attention, 300)], Some((0.9, Gemm, 0.5)));
        check(900, 0, &[], None);
    }

    #[test]
    fn without_steps_there_is_no_share() {
        let facts = Facts { step_ns: 0, ..Facts::default() };
        assert_eq!((facts.share(5), facts.per_step(5)), (0.0, 5.0));
    }
}
