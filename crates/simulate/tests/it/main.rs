//! Tests of simulated jobs: what is written, and that it is true.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod faults;
mod faulty_traces;
mod recording;
mod store;
mod traces;
mod truth;
