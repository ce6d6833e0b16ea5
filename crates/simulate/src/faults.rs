//! The judge of findings: training jobs with known faults, played on a machine with threads, queues and streams.
//!
//! The way of a job: [`FaultyJob`] draws a job and the strength of its faults from a seed (`setup`), `script` writes what
//! each rank does as a list of actions (`program`), `machine` plays the actions of all ranks together, and `trace` writes
//! what happened as the profiler of `PyTorch` does. [`Truth`] plays the same job without a fault: the difference is what
//! removing the fault saves. Random differences depend on the place of an action alone ([`crate::noise`]), so removing a
//! fault changes nothing else.
//!
//! Nothing here may use the crate that replays traces: a judge that shares its model proves nothing.

mod fault;
mod folder;
mod job;
mod machine;
mod network;
mod parameters;
mod population;
mod program;
mod recording;
mod script;
mod setup;
mod trace;
mod truth;

pub use fault::{EXCLUSIVE, Exclusive, Fault};
pub use folder::write_folder;
pub use job::FaultyJob;
pub use population::population;
pub use program::{Collective, Kernel, Label, Op, Stream, Thread, Work};
pub use recording::{Call, DeviceEvent, HostSpan, MemoryEvent, RankRecording};
pub use truth::{Saving, Truth};
