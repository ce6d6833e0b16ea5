//! Why a metric is missing: a fixed vocabulary, so that scripts can distinguish the cases.

/// No kernel, copy or memset is in the trace.
pub const NO_DEVICE_EVENTS: &str = "no device events";
/// Every step is cut off, so there is no window to measure in.
pub const NO_COMPLETE_STEP: &str = "no complete step";
/// The recording has no communication kernel.
pub const NO_COMMUNICATION: &str = "no communication";
/// Nothing says how data came to the steps.
pub const NO_INPUT_PIPELINE: &str = "no input pipeline";
/// No operation of a program that XLA compiled is in the trace.
pub const NO_COMPILED_PROGRAM: &str = "no compiled program";
/// What was measured is when it began or ended, not how long it took.
pub const RUNS_BESIDE_OTHERS: &str = "runs beside other work";
/// The recording has the order of its changes, and no times.
pub const NO_TIMES: &str = "no times recorded";
/// The snapshot has the state of the allocator, and not how it came to it.
pub const NO_HISTORY: &str = "no history recorded";
/// The snapshot has changes, and not the state that they lead to.
pub const NO_SNAPSHOT_STATE: &str = "no snapshot state";
/// Nothing says which code asked for it.
pub const STACKS_NOT_RECORDED: &str = "stacks not recorded";
/// There are no bytes to take a share of.
pub const ZERO_BYTES: &str = "zero bytes";
/// No runtime call that launched device work was recorded.
pub const NO_LAUNCH_CALLS: &str = "no launch calls";
/// Everything that was measured took no time, so there is no rate and no weight.
pub const ZERO_DURATION: &str = "zero duration";
/// The hardware does not have the thing that is measured.
pub const NOT_ON_THIS_VENDOR: &str = "not available on this vendor";
/// The framework was not asked to record memory.
pub const NO_MEMORY_EVENTS: &str = "no memory events";
/// The trace shows how memory changed, but not how much was in use.
pub const MEMORY_TOTALS_NOT_RECORDED: &str = "memory totals not recorded";
/// Memory events and kernels call their devices by different numbers.
pub const DEVICE_IDS_DISAGREE: &str = "device ids disagree";
/// Blocks of memory have no addresses.
pub const ADDRESSES_NOT_RECORDED: &str = "addresses not recorded";
/// Nothing says what a communication kernel transfers.
pub const COLLECTIVE_METADATA_NOT_RECORDED: &str = "collective metadata not recorded";
/// The size of an element is not known.
pub const UNKNOWN_DTYPE: &str = "unknown dtype";
/// What the device can do at most is not known.
pub const UNKNOWN_DEVICE_PEAK: &str = "unknown device peak";
/// The profiler was not asked to record shapes.
pub const SHAPES_NOT_RECORDED: &str = "shapes not recorded";
/// The samples per step were not passed to the profiler.
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
/// A row covers several steps, each with a separate value.
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
pub const ONE_RANK: &str = "ranks do not match: only one rank available";
/// The name of a copy or fill does not contain it.
pub const NOT_IN_NAME: &str = "not part of the name";
/// The sum is larger than the largest integer that is kept.
pub const BEYOND_64_BITS: &str = "beyond 64 bits";
/// The file broke off before the value.
pub const FILE_TRUNCATED: &str = "file truncated";
/// The store has sums of the recording alone.
pub const EVENTS_NOT_STORED: &str = "events not in the store";

/// What waited for what runs in a circle, so nothing can be replayed.
pub const CYCLE_IN_THE_GRAPH: &str = "cycle in the graph";
/// Too few device events have a launch call to say what a change saves.
pub const LAUNCH_CALLS_NOT_RECORDED: &str = "launch calls not recorded";
/// Too many device events start before their launch call.
pub const CLOCKS_DISAGREE: &str = "host and device clocks disagree";
/// Too much of the critical path has no cause in the trace.
pub const UNEXPLAINED_TIME: &str = "unexplained time";
/// A replay with typical lags does not give the recorded steps.
pub const MODEL_ERROR: &str = "model error";

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
pub static NULL_REASONS: [(&str, &str); 37] = [
    (NO_DEVICE_EVENTS, "no kernel, copy or fill is in the trace"),
    (NO_COMPLETE_STEP, "every step is cut off, so no complete step can be measured"),
    (NO_COMMUNICATION, "the trace has no communication kernel"),
    (NO_LAUNCH_CALLS, "no runtime call that launched device work was recorded"),
    (ZERO_DURATION, "everything that was measured took no time, so a rate or a weighted mean cannot be computed"),
    (NOT_ON_THIS_VENDOR, "the hardware does not have what is measured"),
    (NO_MEMORY_EVENTS, "memory was not recorded; pass `profile_memory=True` to the profiler"),
    (MEMORY_TOTALS_NOT_RECORDED, "the trace shows how memory changed, but not how much was in use"),
    (DEVICE_IDS_DISAGREE, "memory events and kernels number their devices differently, as on ROCm"),
    (ADDRESSES_NOT_RECORDED, "blocks of memory have no addresses, so they cannot be matched"),
    (COLLECTIVE_METADATA_NOT_RECORDED, "the trace does not record what a communication kernel transfers"),
    (UNKNOWN_DTYPE, "the size of an element is not known"),
    (UNKNOWN_DEVICE_PEAK, "the device is not in the table of peaks"),
    ("ranks do not match: <detail>", "the ranks of a process group did not record the same collectives"),
    (SHAPES_NOT_RECORDED, "shapes were not recorded; pass `record_shapes=True` to the profiler"),
    (
        SAMPLES_NOT_RECORDED,
        "the samples per step are not known; call `prof.step(samples=n)` or pass `--samples-per-step N`",
    ),
    (UNSUPPORTED_EVENT_KIND, "the trace has none of the events that the metric is computed from"),
    (NO_ROLLUPS, "the trace was read without the sums that the metric needs"),
    (NEVER_CALLED, "the profiler saw the function, but no call to it"),
    (NO_CALLER, "no recorded function calls it, or is called by it"),
    (NOT_APPLICABLE, "the value does not exist for this row, such as the stream of a host thread"),
    (SEVERAL_STEPS, "the row covers several steps, each with a separate value"),
    (NO_FORMULA, "FLOPs are counted for matrix products, convolutions and attention with recorded shapes"),
    (NO_FLOPS_OR_DEVICE_TIME, "the FLOPs are not known, or the operator ran nothing on a device"),
    (NOT_OUTERMOST, "the FLOPs count toward an enclosing operator, or are not known"),
    (NOT_BY_STACK, "rows grouped by Python stack have only times"),
    (NOT_IN_NAME, "the name of the copy or fill does not contain it"),
    (BEYOND_64_BITS, "the sum does not fit a 64-bit integer"),
    (FILE_TRUNCATED, "the file ends before the value"),
    (EVENTS_NOT_STORED, "the trace was uploaded with `--depth sums`, or its events expired, and the value needs them"),
    (CYCLE_IN_THE_GRAPH, "what waited for what runs in a circle, so the steps cannot be replayed"),
    (LAUNCH_CALLS_NOT_RECORDED, "fewer than 95 % of the device events have a launch call, so savings are not known"),
    (CLOCKS_DISAGREE, "more than 1 % of the device events start before their launch call, so savings are not known"),
    (UNEXPLAINED_TIME, "nothing in the trace explains more than 10 % of the critical path, so savings are not known"),
    (MODEL_ERROR, "a replay with typical lags is more than 10 % off the recorded steps, so savings are not known"),
    ("not grouped by: <name>", "a row has many values of it; `--group-by` gives each a separate row"),
    ("argument not recorded: <name>", "the profiler did not record an argument that the metric needs"),
];
