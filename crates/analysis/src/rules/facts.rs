//! What rules may know: figures, already measured.

use std::collections::BTreeMap;

use stepscope_model::Class;

/// The figures of the recordings that are asked about. Times are over all steps unless a name says otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Complete steps of all recordings.
    pub steps: usize,
    /// Their time, added up.
    pub step_ns: i64,
    /// What it goes to, by class.
    pub by_class: [i64; Class::ALL.len()],
    /// Shortest and longest share of data loading of any step, in nanoseconds.
    pub loading_range_ns: Option<(i64, i64)>,
    /// Time in which a kernel of any kind runs.
    pub kernel_busy_ns: i64,
    /// Kernels, copies and fills.
    pub device_events: i64,
    /// Classes of iterators that data comes from, as annotated, with their number of calls.
    pub loaders: BTreeMap<String, i64>,
    /// Regions that their author named for data loading, with their number of calls, and their time in which no device
    /// works; looked for where there is no such iterator.
    pub loading_regions: BTreeMap<String, i64>,
    pub region_loading_ns: i64,
    /// Time under `DataParallel.forward`, and whether `DistributedDataParallel.forward` is there.
    pub data_parallel_ns: i64,
    pub has_ddp: bool,
    /// Communication that the host does itself: backend → time.
    pub host_backends: BTreeMap<String, i64>,
    /// Whether a device has tensor cores, its name and compute capability.
    pub tensor_core_device: Option<String>,
    /// Device time of kernels whose names say tensor cores, and of all kernels.
    pub tensor_core_ns: i64,
    pub kernel_ns: i64,
    /// Device time of operators that tensor cores could do, and the name of the largest of them.
    pub eligible_ns: i64,
    pub eligible_name: Option<String>,
    /// Launch calls: how many, their time, and how many launched something shorter than themselves.
    pub launches: i64,
    pub launch_call_ns: i64,
    pub median_call_ns: i64,
    pub shorter_than_call: i64,
    /// The operator that is called most.
    pub most_called: Option<(String, i64)>,
    /// Calls that wait for the device: how many, and their time.
    pub synchronizations: i64,
    pub synchronization_ns: i64,
    /// Copies from or to pageable memory.
    pub pageable: Copies,
    /// Peak of reserved or allocated memory, and the memory of the device.
    pub memory: Option<(i64, i64)>,
    /// Ranks at hand, what they wait for each other, and the stragglers with what each causes, the worst first.
    pub ranks: usize,
    pub wait_ns: i64,
    pub stragglers: Vec<(i64, i64)>,
}

/// Some copies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    pub count: i64,
    pub size_bytes: i64,
    pub time_ns: i64,
    /// The part of their time in which a kernel runs.
    pub hidden_ns: i64,
}

impl Facts {
    /// The part of a figure that falls on one step.
    pub(crate) fn per_step(&self, total_ns: i64) -> f64 {
        total_ns as f64 / self.steps.max(1) as f64
    }

    /// The time of a class.
    pub(crate) fn of(&self, class: Class) -> i64 {
        self.by_class[class as usize]
    }

    /// The share of the steps' time.
    pub(crate) fn share(&self, total_ns: i64) -> f64 {
        if self.step_ns > 0 { total_ns as f64 / self.step_ns as f64 } else { 0.0 }
    }
}
