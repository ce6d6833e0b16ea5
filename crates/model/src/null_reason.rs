//! Why a figure is missing: a fixed vocabulary, so that scripts can tell the cases apart.

/// No kernel, copy or memset is in the trace.
pub const NO_DEVICE_EVENTS: &str = "no device events";
/// Every step is cut off, so there is no window to measure in.
pub const NO_COMPLETE_STEP: &str = "no complete step";
/// The recording has no communication kernel.
pub const NO_COMMUNICATION: &str = "no communication";
/// No runtime call that launched device work was recorded.
pub const NO_LAUNCH_CALLS: &str = "no launch calls";
/// Everything that was measured took no time, so there is no rate and no weight.
pub const ZERO_DURATION: &str = "zero duration";
/// The hardware does not have the thing that is measured.
pub const NOT_ON_THIS_VENDOR: &str = "not available on this vendor";
/// The file broke off before the value.
pub const FILE_TRUNCATED: &str = "file truncated";

/// The profiler did not record an argument that the figure needs.
#[must_use]
pub fn argument_not_recorded(argument: &str) -> String {
    format!("argument not recorded: {argument}")
}
