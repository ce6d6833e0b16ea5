//! End to end: a trace goes in, SQL and metrics come out.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]

mod analyses;
mod breakdown;
mod cache;
mod collectives;
mod communication;
// How documents are compared, which the crate that walks paths does alike.
#[path = "../../../replay/tests/it/compare.rs"]
mod compare;
mod corpus;
mod diff;
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
mod memory_picture;
mod metrics;
mod operators;
mod runs;
mod tiles;
mod torch_recording;
mod windows;
