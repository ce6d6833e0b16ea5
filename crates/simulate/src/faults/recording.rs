//! What happened on a rank.

use super::program::{Label, Stream, Thread, Work};

/// Everything that happened on a rank, in true time, the same for all ranks.
#[derive(Clone, Debug, Default)]
pub struct RankRecording {
    /// Spans on the host, in the order of their start.
    pub spans: Vec<HostSpan>,
    /// Calls of the runtime, in the order of their start.
    pub calls: Vec<Call>,
    /// What the device did, in the order of the launches.
    pub device: Vec<DeviceEvent>,
    /// Changes of memory.
    pub memory: Vec<MemoryEvent>,
    /// When the profiler started to record.
    pub recorded_from_ns: i64,
}

/// A span on the host.
#[derive(Clone, Debug)]
pub struct HostSpan {
    /// What it is.
    pub label: Label,
    /// Where.
    pub thread: Thread,
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
}

/// A call of the runtime.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name of the function.
    pub name: &'static str,
    /// Where.
    pub thread: Thread,
    /// When it began.
    pub start_ns: i64,
    /// When it returned.
    pub end_ns: i64,
    /// The operator around it, by its place in the spans.
    pub op: Option<usize>,
    /// What it waited for, by place among the device events.
    pub awaited: Vec<usize>,
}

/// Something that the device did.
#[derive(Clone, Debug)]
pub struct DeviceEvent {
    /// What it did.
    pub work: Work,
    /// Where.
    pub stream: Stream,
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// The call that launched it, by its place in the calls.
    pub call: usize,
    /// Events of other streams that it had to wait for, by place among the device events.
    pub after: Vec<usize>,
    /// The step that launched it, by its place among all steps.
    pub step: Option<u32>,
}

/// Memory of the device changes hands.
#[derive(Clone, Copy, Debug)]
pub struct MemoryEvent {
    /// When.
    pub at_ns: i64,
    /// Where.
    pub thread: Thread,
    /// Bytes that are taken, or given back if negative.
    pub bytes: i64,
    /// Where the block begins.
    pub address: i64,
    /// Bytes in use after it.
    pub allocated_bytes: i64,
    /// Bytes that the allocator holds after it.
    pub reserved_bytes: i64,
}

impl RankRecording {
    /// Marks of the recorded steps, with their places among all steps.
    pub fn steps(&self) -> impl Iterator<Item = (u32, &HostSpan)> {
        self.spans.iter().filter(|span| span.start_ns >= self.recorded_from_ns).filter_map(|span| match span.label {
            Label::Step(number) => Some((number, span)),
            _ => None,
        })
    }

    /// When each recorded step ends: when its mark does, or what it launched, if that is later.
    #[must_use]
    pub fn step_ends_ns(&self) -> Vec<i64> {
        let mut end_before_ns = i64::MIN;
        let ends = self.steps().map(|(number, mark)| {
            let launched = self.device.iter().filter(|event| event.step == Some(number));
            let last_ns = launched.map(|event| event.end_ns).max().unwrap_or(mark.end_ns);
            end_before_ns = mark.end_ns.max(last_ns).max(end_before_ns);
            end_before_ns
        });
        ends.collect()
    }
}
