//! Figures that ingest adds up and queries work out alike, so that both mean the same.

pub mod op_flops;
pub mod sketch;

pub use sketch::Sketch;
