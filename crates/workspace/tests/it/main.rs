//! End to end: a trace goes in, SQL and metrics come out.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]

mod analyses;
mod breakdown;
mod cache;
mod collectives;
mod communication;
mod corpus;
mod events;
// How figures are written, without a crate that answers may not know.
#[path = "../../../report/src/figure.rs"]
mod figure;
mod flops;
mod harness;
mod idle_by_stream;
mod kernels_and_copies;
mod launch;
mod memory;
mod metrics;
mod operators;
mod runs;
mod tiles;
mod torch_recording;
mod windows;
