//! What a replay changes to show what a fix saves: plain data, which whoever has the events turns into changes of them.

/// A change of the replayed steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The next batch is always there.
    InputReady,
    /// The first batch of an epoch is there.
    FirstBatchReady,
    /// Calls do not wait for copies to the device, and pageable copies are as fast as pinned ones.
    PinnedCopies,
    /// Calls do not wait for copies to the device.
    AsyncCopies,
    /// These calls do not wait for the device.
    NoSync(WaitingCalls),
    /// One launch for all work: the host costs nothing.
    Graph,
    /// Kernels become one: one launch, no gap, the same work.
    Fuse(Kernels),
    /// Device work takes a share of its time.
    Scale(Work),
    /// These are not there.
    Remove(Part),
    /// Nothing on another stream waits for communication.
    CommunicationOverlapped,
    /// All ranks arrive together.
    EqualRanks,
    /// A slow link is as fast as the others.
    EvenLinks,
    /// Small collectives move their bytes as fast as the fastest collective of the recording.
    LargerCollectives,
    /// Every step takes as long as the median step.
    EvenSteps,
}

/// Calls that wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingCalls {
    /// All but the last of each step.
    AllButTheLast,
    /// Those that read a value on the host.
    ScalarReads,
}

/// Kernels that could be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// Those shorter than their call that follow each other, of operators inside one span.
    Small,
    /// Elementwise kernels and reductions that follow each other.
    ElementwiseRuns,
    /// Those that follow each other inside a step of the optimizer.
    OfTheOptimizer,
}

/// Device work that could be faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// What tensor cores could do and do not: half of the time.
    WithoutTensorCores,
    /// What tensor cores can do: half of the time.
    Eligible,
    /// Kernels with fewer blocks than multiprocessors: a larger batch fills the device in the same time.
    LowOccupancy,
}

/// What could be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Collectives that the host does itself.
    HostCollectives,
    /// Calls that take memory from the device's runtime or give it back.
    AllocatorCalls,
    /// Compiling, and loading of modules.
    Compiling,
    /// Copies on the device, and casts.
    RedundantCopies,
    /// What pauses of the script take beyond the usual time at their place.
    Pauses,
    /// What the profiler itself takes inside calls.
    ProfilerOverhead,
}

impl Remedy {
    /// The name of the change.
    #[must_use]
    pub fn change(self) -> &'static str {
        match self {
            Self::InputReady | Self::FirstBatchReady => "input_ready",
            Self::PinnedCopies | Self::AsyncCopies => "async_copies_to_device",
            Self::NoSync(_) => "no_sync",
            Self::Graph => "cuda_graph",
            Self::Fuse(_) => "fuse",
            Self::Scale(_) | Self::LargerCollectives | Self::EvenLinks => "scale",
            Self::Remove(_) => "remove",
            Self::CommunicationOverlapped => "communication_overlapped",
            Self::EqualRanks => "equal_ranks",
            Self::EvenSteps => "even_steps",
        }
    }
}
