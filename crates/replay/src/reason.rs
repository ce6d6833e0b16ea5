//! Why there is no path, or no saving (A8). Part of the vocabulary of null reasons.

pub use stepscope_model::null_reason::{FILE_TRUNCATED, NO_COMPLETE_STEP, NO_DEVICE_EVENTS};

/// Edges of the graph run in a circle.
pub const CYCLE_IN_THE_GRAPH: &str = "cycle in the graph";
/// Too few device events have a launch call.
pub const LAUNCH_CALLS_NOT_RECORDED: &str = "launch calls not recorded";
/// Too many device events start before their launch.
pub const CLOCKS_DISAGREE: &str = "host and device clocks disagree";
/// Too much of the path has no cause in the trace.
pub const UNEXPLAINED_TIME: &str = "unexplained time";
/// Typical lags do not give the steps back.
pub const MODEL_ERROR: &str = "model error";
