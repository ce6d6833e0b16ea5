//! What happened in one step on one rank.

use stepscope_model::Class;

use crate::collective::Collective;
use crate::kernel::{Kernel, Tensor};
use crate::sweep::{self, Shares};

/// The recorded steps follow one that was left out and one for warming up.
const FIRST_STEP: u32 = 2;

/// One step of one rank, on the rank's own clock, from [`crate::BASE_TIME_NS`] on.
#[derive(Clone, Debug)]
pub struct Step {
    /// Place among the recorded steps.
    pub number: u32,
    /// Start of its mark.
    pub start_ns: i64,
    /// End of its mark, behind all of its device work.
    pub end_ns: i64,
    /// Everything that happened, causes before what they cause.
    pub happenings: Vec<Happening>,
    /// The collectives, in the order of their launch.
    pub collectives: Vec<Collective>,
}

/// Something with a place in time.
#[derive(Clone, Copy, Debug)]
pub struct Happening {
    /// What.
    pub what: What,
    /// Where.
    pub place: Place,
    /// When it began.
    pub start_ns: i64,
    /// How long it took.
    pub dur_ns: i64,
    /// What brought it about, by its place in the step: the operator of a call, the call of a kernel.
    pub cause: Option<usize>,
}

/// A thread or a stream of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The thread of the script.
    MainThread,
    /// The thread of the backward pass.
    BackwardThread,
    /// The stream of the network.
    ComputeStream,
    /// The stream of the collectives.
    CommunicationStream,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The mark of a step.
    StepMark,
    /// The wait for the data loader.
    DataLoader,
    /// A label that the framework puts around work.
    Annotation(&'static str),
    /// A Python function or module.
    Frame(Frame),
    /// An operator.
    Op(Op),
    /// The operator that issues a collective, by its place in the step.
    CollectiveOp(u32),
    /// A call into the runtime.
    Call(&'static str),
    /// A kernel that computes.
    Kernel(Kernel),
    /// A copy.
    Copy(Copy),
    /// The kernel of a collective, by its place in the step.
    CollectiveKernel(u32),
    /// Memory of the device is allocated, or freed if the bytes are negative.
    Memory {
        /// Change.
        bytes: i64,
        /// Where the block lies.
        address: i64,
        /// Bytes in use after it.
        allocated_bytes: i64,
    },
}

/// An operator on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Name.
    pub name: &'static str,
    /// Tensors that go into it.
    pub inputs: &'static [Tensor],
    /// Number in the step that a forward operator shares with its backward operator.
    pub sequence: Option<u32>,
}

/// A Python function or module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The function that makes a step.
    TrainStep,
    /// The network.
    Network,
    /// One of its layers.
    Layer(u32),
}

/// A copy between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// A tensor from pageable host memory.
    ToDevice(Tensor),
    /// A tensor to pageable host memory.
    FromDevice(Tensor),
}

impl Place {
    /// Number of a stream; `None` for a thread.
    #[must_use]
    pub fn stream_id(self) -> Option<i64> {
        match self {
            Self::MainThread | Self::BackwardThread => None,
            Self::ComputeStream => Some(7),
            Self::CommunicationStream => Some(20),
        }
    }
}

impl Copy {
    /// What is copied.
    #[must_use]
    pub fn tensor(self) -> Tensor {
        match self {
            Self::ToDevice(tensor) | Self::FromDevice(tensor) => tensor,
        }
    }
}

impl Happening {
    /// When it was over.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }

    /// The class that its time belongs to, unless something of a higher class goes on; `None` for what is no work.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        Some(match self.what {
            What::Kernel(_) => Class::Kernel,
            What::Copy(_) => Class::Memcpy,
            What::CollectiveKernel(_) => Class::Communication,
            What::Call(_) => Class::Runtime,
            What::DataLoader => Class::Dataloader,
            What::Op(_) | What::CollectiveOp(_) | What::Annotation(_) => Class::CpuExec,
            What::StepMark | What::Frame(_) | What::Memory { .. } => return None,
        })
    }
}

impl Step {
    /// Name of its mark.
    #[must_use]
    pub fn name(&self) -> String {
        format!("ProfilerStep#{}", self.number + FIRST_STEP)
    }

    /// Kernels and copies.
    #[must_use]
    pub fn device_events(&self) -> usize {
        self.happenings.iter().filter(|one| one.place.stream_id().is_some()).count()
    }

    /// What the time of the step goes to.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let work = self.happenings.iter().filter_map(|one| Some((one.class()?, one.start_ns, one.end_ns())));
        sweep::shares(self.start_ns, self.end_ns, work)
    }

    /// Length of the step.
    #[must_use]
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}
