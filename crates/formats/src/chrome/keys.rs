//! Keys by which a place in a broken document is recognized again.

/// Keys of an event in the Trace Event Format and in what profilers add to it.
static EVENT_KEYS: &[&[u8]] = &[
    b"ph",
    b"cat",
    b"name",
    b"pid",
    b"tid",
    b"ts",
    b"dur",
    b"args",
    b"id",
    b"id2",
    b"s",
    b"bp",
    b"tts",
    b"tdur",
    b"cname",
    b"scope",
    b"sf",
    b"esf",
    b"stack",
    b"estack",
    b"bind_id",
    b"flow_in",
    b"flow_out",
    b"tidelta",
    b"ticount",
];

/// Keys of an event that no root has.
static DISTINCT_EVENT_KEYS: &[&[u8]] = &[b"ph", b"cat", b"pid", b"tid", b"ts", b"dur"];

/// Keys of the root that no event has in its arguments.
static ROOT_KEYS: &[&[u8]] = &[
    b"traceEvents",
    b"displayTimeUnit",
    b"traceName",
    b"baseTimeNanoseconds",
    b"schemaVersion",
    b"deviceProperties",
    b"computeProperties",
    b"distributedInfo",
    b"systemTraceEvents",
    b"powerTraceAsString",
    b"controllerTraceDataKey",
    b"otherData",
    b"stackFrames",
    b"record_shapes",
    b"with_stack",
    b"with_flops",
    b"with_modules",
    b"profile_memory",
    b"trace_id",
    b"group_trace_id",
    b"host_name",
    b"username",
    b"logical_server_subtype",
    b"ai_rm_attribution",
    b"workflow_run_id",
    b"root_workflow_run_id",
    b"INFO",
    b"WARNING",
    b"ERROR",
];

/// Beginnings of root keys that schedulers and vendors add.
static ROOT_KEY_STARTS: &[&[u8]] = &[b"tw_", b"mast_"];

/// Root keys that are too common a word to be taken for one in the middle of the events.
static COMMON_ROOT_KEYS: &[&[u8]] = &[b"metadata", b"samples"];

/// Whether `key` is one of an event.
pub(super) fn is_event_key(key: &[u8]) -> bool {
    EVENT_KEYS.contains(&key)
}

/// Whether `key` is one of an event, and of nothing else.
pub(super) fn is_distinct_event_key(key: &[u8]) -> bool {
    DISTINCT_EVENT_KEYS.contains(&key)
}

/// Whether `key` is one of the root, and of nothing else.
pub(super) fn is_root_key(key: &[u8]) -> bool {
    ROOT_KEYS.contains(&key) || key.ends_with(b"_version") || ROOT_KEY_STARTS.iter().any(|start| key.starts_with(start))
}

/// Whether `key` may be one of the root, where a key of the root is due.
pub(super) fn is_likely_root_key(key: &[u8]) -> bool {
    is_root_key(key) || COMMON_ROOT_KEYS.contains(&key)
}
