//! Training jobs with a known truth: data-parallel training of a small network, played on a clock of its own.
//!
//! A [`Job`] says what is trained and what is wrong with it. [`Job::run`] plays it: every rank computes at its own pace,
//! and a collective ends on all ranks together, when the last of them has arrived and the data has been moved.
//! [`write_traces`] writes what happened as a profiler would have recorded it, and [`Truth`] says what an analysis must
//! find in it. [`write_store`] writes what is asked across ranks straight into a store, for jobs too large to be traced.
//! The same job always gives the same bytes.
//!
//! [`faults`] is a simulator of its own, with queues, threads and waits: the judge of findings and of what they predict.

mod collective;
mod device;
mod error;
pub mod faults;
mod job;
mod kernel;
mod noise;
mod player;
mod run;
mod step;
mod store;
mod sweep;
mod trace;
mod training;
mod truth;

pub use collective::{Collective, PROCESS_GROUP};
pub use error::SimulateError;
pub use job::Job;
pub use kernel::{Kernel, Tensor};
pub use run::{BASE_TIME_NS, Run};
pub use step::{Copy, Frame, Happening, Op, Place, Step, What};
pub use store::write_store;
pub use sweep::Shares;
pub use trace::write_traces;
pub use truth::{RankTruth, Truth};
