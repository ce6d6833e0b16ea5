//! What a rank does, as a list of actions, each with a place that stays the same if other actions come or go.

use crate::noise::mix;

use super::parameters::Quantiles;

/// Something that the host does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A span on the current thread begins.
    Open(Label),
    /// The innermost span of the current thread ends.
    Close,
    /// The host is busy.
    Work(Cost),
    /// The work goes on on another thread, and this one waits for it.
    HandOff(Thread),
    /// A call that puts something into the queue of a stream and returns, unless the queue is full.
    Launch { call: &'static str, stream: Stream, work: Work },
    /// A copy from pageable memory: the call returns when the copy is over.
    CopyPageable { stream: Stream, work: Work },
    /// Notes how far a stream has been filled.
    RecordEvent { event: u32, stream: Stream },
    /// What is launched on the stream from now on waits for an event.
    AwaitEvent { event: u32, stream: Stream },
    /// The host waits for everything that was launched on a stream.
    SynchronizeStream(Stream),
    /// The host waits for an event.
    SynchronizeEvent(u32),
    /// The host waits for everything that was launched.
    SynchronizeDevice,
    /// The host waits for the next batch of the loader.
    AwaitBatch,
    /// Memory for a tensor.
    Allocate { tensor: u32, bytes: i64 },
    /// The tensor is gone.
    Free { tensor: u32 },
}

/// How long the host is busy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// A length drawn from a measured distribution, by the place of the action.
    Drawn(&'static Quantiles),
    /// About this long.
    About(i64),
}

/// A thread of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thread {
    /// That of the script.
    Script,
    /// That of the backward pass.
    Backward,
}

/// A stream of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Kernels that compute, and copies.
    Compute,
    /// Collectives of a process group, by its place in the list of the rank's groups.
    Communication(usize),
}

impl Stream {
    /// Streams that a rank may have.
    pub(crate) const COUNT: usize = 3;

    pub(crate) fn index(self) -> usize {
        match self {
            Self::Compute => 0,
            Self::Communication(group) => 1 + group,
        }
    }

    pub(crate) fn of_index(index: usize) -> Self {
        if index == 0 { Self::Compute } else { Self::Communication(index - 1) }
    }
}

/// What the device does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A kernel that computes.
    Kernel(Kernel),
    /// A copy.
    Copy {
        /// Its name in a trace.
        name: &'static str,
        /// Size.
        bytes: i64,
        /// How long it takes.
        dur_ns: i64,
    },
    /// The kernel of a collective: it runs until all ranks of the group have arrived and the data has been moved.
    Collective(Collective),
}

/// A kernel that computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Its name in a trace.
    pub name: &'static str,
    /// How long it takes on a device that does nothing else, without noise.
    pub dur_ns: i64,
    /// Blocks.
    pub grid: i64,
    /// Threads of a block.
    pub block: i64,
}

/// A sum over the ranks of a process group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// The group, by its place in the list of the rank's groups.
    pub group: usize,
    /// Place among the collectives of the group, from 0.
    pub ordinal: u64,
    /// Numbers of single precision that are summed.
    pub elements: i64,
}

/// What a span on the host is.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// The mark of a step, by its place among all steps, those that are not recorded included.
    Step(u32),
    /// A label of the framework or the script.
    Annotation(&'static str),
    /// An operator.
    Op(Op),
    /// The operator that issues a collective.
    Collective(Collective),
}

/// An operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Name.
    pub name: &'static str,
    /// Shapes of its tensors.
    pub dims: Vec<Vec<i64>>,
    /// Type of its tensors, as the profiler writes it.
    pub dtype: &'static str,
    /// Number that a forward operator shares with its backward operators.
    pub sequence: Option<i64>,
}

/// An action and its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub action: Action,
    pub place: u64,
}

/// Writes a program.
#[derive(Debug)]
pub(crate) struct Program {
    pub actions: Vec<Placed>,
    scope: u64,
    actions_of_scope: u64,
    tensors: u32,
    events: u32,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { actions: Vec::new(), scope: 0, actions_of_scope: 0, tensors: 0, events: 0 }
    }

    /// Numbers the places of what `body` does from 0 again, below a name: what comes or goes outside does not move them.
    pub(crate) fn within(&mut self, name: &str, number: u32, body: impl FnOnce(&mut Self)) {
        let letters = name.bytes().fold(mix(self.scope), |hash, byte| mix(hash ^ u64::from(byte)));
        let outer = (self.scope, self.actions_of_scope);
        (self.scope, self.actions_of_scope) = (mix(letters ^ u64::from(number)), 0);
        body(self);
        (self.scope, self.actions_of_scope) = outer;
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(Placed { action, place: mix(self.scope ^ self.actions_of_scope) });
        self.actions_of_scope += 1;
    }

    /// A span around what `body` does.
    pub(crate) fn span(&mut self, label: Label, body: impl FnOnce(&mut Self)) {
        self.push(Action::Open(label));
        body(self);
        self.push(Action::Close);
    }

    pub(crate) fn work(&mut self, quantiles: &'static Quantiles) {
        self.push(Action::Work(Cost::Drawn(quantiles)));
    }

    pub(crate) fn allocate(&mut self, bytes: i64) -> u32 {
        self.tensors += 1;
        self.push(Action::Allocate { tensor: self.tensors, bytes });
        self.tensors
    }

    pub(crate) fn free(&mut self, tensor: u32) {
        self.push(Action::Free { tensor });
    }

    /// Records a new event.
    pub(crate) fn record_event(&mut self, stream: Stream) -> u32 {
        self.events += 1;
        self.push(Action::RecordEvent { event: self.events, stream });
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Cost, Program};

    fn places(has_more: bool) -> Vec<u64> {
        let mut program = Program::new();
        let work = |program: &mut Program| program.push(Action::Work(Cost::About(1)));
        program.within("step", 1, |program| {
            work(program);
            if has_more {
                program.within("fault", 0, work);
            }
            work(program);
        });
        program.within("step", 2, work);
        program.actions.iter().map(|placed| placed.place).collect()
    }

    #[test]
    fn places_stay_when_a_scope_comes_in_between() {
        let (without, with) = (places(false), places(true));
        assert_eq!(without, [with[0], with[2], with[3]]);
        let mut all = with;
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }
}
