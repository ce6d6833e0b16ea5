//! Why there is no path, or no saving (A8): part of the vocabulary of null reasons.

pub use stepscope_model::null_reason::{
    CLOCKS_DISAGREE, CYCLE_IN_THE_GRAPH, FILE_TRUNCATED, LAUNCH_CALLS_NOT_RECORDED, MODEL_ERROR, NO_COMPLETE_STEP,
    NO_DEVICE_EVENTS, UNEXPLAINED_TIME,
};
