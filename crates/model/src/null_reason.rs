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
/// The framework was not asked to record memory.
pub const NO_MEMORY_EVENTS: &str = "no memory events";
/// The recording tells how memory changed, but not how much of it was in use.
pub const MEMORY_TOTALS_NOT_RECORDED: &str = "memory totals not recorded";
/// Memory events and kernels call their devices by different numbers.
pub const DEVICE_IDS_DISAGREE: &str = "device ids disagree";
/// Blocks of memory cannot be told apart.
pub const ADDRESSES_NOT_RECORDED: &str = "addresses not recorded";
/// Nothing says what a communication kernel transfers.
pub const COLLECTIVE_METADATA_NOT_RECORDED: &str = "collective metadata not recorded";
/// The size of an element is not known.
pub const UNKNOWN_DTYPE: &str = "unknown dtype";
/// What the device can do at most is not known.
pub const UNKNOWN_DEVICE_PEAK: &str = "unknown device peak";
/// The profiler was not asked to record shapes.
pub const SHAPES_NOT_RECORDED: &str = "shapes not recorded";
/// Nobody told the profiler how many samples a step works on.
pub const SAMPLES_NOT_RECORDED: &str = "samples not recorded";
/// The recording has none of the events that the figure is made of.
pub const UNSUPPORTED_EVENT_KIND: &str = "unsupported event kind";
/// The tables of sums were left out when the trace was read.
pub const NO_ROLLUPS: &str = "sums were left out at ingest";
/// The profiler saw a function that was never called.
pub const NEVER_CALLED: &str = "never called";
/// Nothing that was recorded calls the function, or is called by it.
pub const NO_CALLER: &str = "no call recorded";
/// The row is about something that has none of it, such as the stream of a host thread.
pub const NOT_APPLICABLE: &str = "not applicable";
/// A row stands for several steps, each with a value of its own.
pub const SEVERAL_STEPS: &str = "several steps in one row";
/// The FLOPs of the operator cannot be worked out.
pub const NO_FORMULA: &str = "no formula or no shapes for the operator";
/// The operator has no FLOPs, or nothing of it ran on a device.
pub const NO_FLOPS_OR_DEVICE_TIME: &str = "no FLOPs or no device time of the operator";
/// The FLOPs of the operator are part of those of an operator around it, or not known.
pub const NOT_OUTERMOST: &str = "part of an operator around it, or no formula";
/// Rows by Python stack have times only.
pub const NOT_BY_STACK: &str = "not added up by stack";
/// Only one rank is there to compare.
pub const ONE_RANK: &str = "ranks do not match: one rank at hand";
/// The name of a copy or fill does not tell it.
pub const NOT_IN_NAME: &str = "not part of the name";
/// The sum is larger than the largest integer that is kept.
pub const BEYOND_64_BITS: &str = "beyond 64 bits";
/// The file broke off before the value.
pub const FILE_TRUNCATED: &str = "file truncated";

/// The profiler did not record an argument that the figure needs.
#[must_use]
pub fn argument_not_recorded(argument: &str) -> String {
    format!("argument not recorded: {argument}")
}

/// The rows are not grouped by what the column holds, so that a row has many values of it.
#[must_use]
pub fn not_grouped_by(grouping: &str) -> String {
    format!("not grouped by: {grouping}")
}

/// Every reason, and what it means.
pub static NULL_REASONS: [(&str, &str); 31] = [
    (NO_DEVICE_EVENTS, "no kernel, copy or fill is in the trace"),
    (NO_COMPLETE_STEP, "every step is cut off, so there is no window to measure in"),
    (NO_COMMUNICATION, "the recording has no communication kernel"),
    (NO_LAUNCH_CALLS, "no runtime call that launched device work was recorded"),
    (ZERO_DURATION, "everything that was measured took no time, so there is no rate and no weight"),
    (NOT_ON_THIS_VENDOR, "the hardware does not have the thing that is measured"),
    (NO_MEMORY_EVENTS, "the framework was not asked to record memory"),
    (MEMORY_TOTALS_NOT_RECORDED, "the recording tells how memory changed, but not how much of it was in use"),
    (DEVICE_IDS_DISAGREE, "memory events and kernels call their devices by different numbers, as on ROCm"),
    (ADDRESSES_NOT_RECORDED, "blocks of memory cannot be told apart"),
    (COLLECTIVE_METADATA_NOT_RECORDED, "nothing says what a communication kernel transfers"),
    (UNKNOWN_DTYPE, "the size of an element is not known"),
    (UNKNOWN_DEVICE_PEAK, "the device is not in the table of peaks"),
    ("ranks do not match: <detail>", "the ranks of a process group did not record the same collectives"),
    (SHAPES_NOT_RECORDED, "the profiler was not asked to record shapes"),
    (SAMPLES_NOT_RECORDED, "nobody told the profiler how many samples the step works on"),
    (UNSUPPORTED_EVENT_KIND, "the recording has none of the events that the figure is made of"),
    (NO_ROLLUPS, "the trace was read without the sums that the figure needs"),
    (NEVER_CALLED, "the profiler saw the function, but no call of it"),
    (NO_CALLER, "nothing that was recorded calls the function, or is called by it"),
    (NOT_APPLICABLE, "the row is about something that has none of it, such as the stream of a host thread"),
    (SEVERAL_STEPS, "a row stands for several steps, each with a value of its own"),
    (NO_FORMULA, "FLOPs are counted for matrix products, convolutions and attention with recorded shapes"),
    (NO_FLOPS_OR_DEVICE_TIME, "the FLOPs are not known, or nothing of the operator ran on a device"),
    (NOT_OUTERMOST, "the FLOPs are part of those of an operator around it, or not known"),
    (NOT_BY_STACK, "rows by Python stack have times only"),
    (NOT_IN_NAME, "the name of the copy or fill does not tell it"),
    (BEYOND_64_BITS, "the sum is larger than the largest integer that is kept"),
    (FILE_TRUNCATED, "the file broke off before the value"),
    ("not grouped by: <name>", "a row has many values of it; `--group-by` gives each its own row"),
    ("argument not recorded: <name>", "the profiler did not record an argument that the figure needs"),
];
