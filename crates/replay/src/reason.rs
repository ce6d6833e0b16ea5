//! Why there is no path, or no saving (A8): part of the vocabulary of null reasons.

pub use stepscope_model::null_reason::{
    CLOCKS_DISAGREE, CYCLE_IN_THE_GRAPH, EVENTS_NOT_STORED, FILE_TRUNCATED, LAUNCH_CALLS_NOT_RECORDED, MODEL_ERROR,
    NO_COMMUNICATION, NO_COMPLETE_STEP, NO_DEVICE_EVENTS, NO_ROLLUPS, ONE_RANK, UNEXPLAINED_TIME,
};

/// Ranks of a process group launched unlike numbers of collectives.
pub const COUNTS_DIFFER: &str = "ranks do not match: counts differ";
/// Ranks of a process group do different collectives at one position.
pub const NAMES_DIFFER: &str = "ranks do not match: names differ";
/// Ranks of a process group recorded unlike sequence numbers.
pub const SEQUENCES_DIFFER: &str = "ranks do not match: sequence numbers differ";
/// The windows of the ranks are not the same steps.
pub const STEPS_DIFFER: &str = "ranks do not match: steps differ";
/// Not even one step of every rank fits into memory.
pub const MEMORY_LIMIT: &str = "one step of all ranks exceeds the memory limit";
