//! Figures that ingest adds up and queries work out alike, so that both mean the same; and what two series of them say.

pub mod gate;
pub mod memory_levels;
pub mod op_flops;
pub mod sketch;
pub mod stack_category;
pub mod statistics;

pub use sketch::Sketch;
