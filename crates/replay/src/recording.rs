//! What a graph is built from: the host spans of a window, the device events of a recording, and its steps.
//!
//! Plain data without a store behind it, so that graphs can be made by hand.

use stepscope_model::{Kind, StepSource};

use crate::names::{NameId, Names};
use crate::window::{Step, Window};

/// One rank's recording, as far as a window of it needs it.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Rank of the process that recorded it.
    pub rank: u32,
    /// Names of spans and events.
    pub names: Names,
    /// Threads of the host.
    pub threads: Vec<Thread>,
    /// Operators, annotations and runtime calls that touch the window: thread by thread, each in the order of metrics,
    /// section 3.
    pub spans: Vec<HostSpan>,
    /// Streams of devices.
    pub streams: Vec<Stream>,
    /// Kernels, copies and fills, of the whole recording.
    pub events: Vec<DeviceEvent>,
    /// The calls that launched them.
    pub calls: Vec<LaunchCall>,
    /// Runtime calls before the window that a wait may go back to.
    pub earlier_calls: Vec<RuntimeCall>,
    /// Waits as the profiler recorded them.
    pub waits: Vec<RecordedWait>,
    /// Process groups in which it communicates. These and their collectives are there if several ranks were read.
    pub groups: Vec<ProcessGroup>,
    /// What it does in them on devices.
    pub collectives: Vec<Collective>,
    /// Every step of the recording.
    pub steps: Vec<Step>,
    /// What marks them.
    pub step_source: StepSource,
    /// The thread of the first mark, where it lies before the window.
    pub script_thread: Option<u32>,
    /// The steps that are looked at.
    pub window: Window,
}

/// A thread of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Process as recorded.
    pub process: String,
    /// Thread as recorded.
    pub thread: String,
}

/// An operator, an annotation or a runtime call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSpan {
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Place in the file.
    pub position: i64,
    /// Number in the table `spans`.
    pub span_id: i64,
    /// Number that a launch shares with its events; 0 for none.
    pub correlation: i64,
    /// Name.
    pub name: NameId,
    /// Place of its thread in the list.
    pub thread: u32,
    /// Operator, annotation or runtime call.
    pub kind: Kind,
}

/// A stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    /// Device, if it is known.
    pub device_id: Option<i64>,
    /// Stream, if it is known.
    pub stream_id: Option<i64>,
}

/// A kernel, a copy or a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceEvent {
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Place in the file.
    pub position: i64,
    /// Number in the table `spans`.
    pub span_id: i64,
    /// Name.
    pub name: NameId,
    /// Place of its stream in the list.
    pub stream: u32,
    /// Place of the call that launched it.
    pub launch: Option<u32>,
    /// Place of its operator among the host spans, if that touches the window.
    pub operator: Option<u32>,
    /// Kernel, copy or fill.
    pub kind: Kind,
    /// Whether it is a kernel that communicates.
    pub is_communication: bool,
}

/// A runtime call that launched something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchCall {
    /// Start.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Place in the file; of calls outside the window, any number in a fixed order.
    pub position: i64,
    /// Place of its thread in the list.
    pub thread: u32,
    /// Its place among the host spans, if it touches the window.
    pub span: Option<u32>,
}

/// A runtime call before the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeCall {
    /// Start.
    pub start_ns: i64,
    /// Place in the file.
    pub position: i64,
    /// Correlation; 0 for none.
    pub correlation: i64,
    /// Whether it makes a stream wait for another one.
    pub is_stream_wait: bool,
}

/// An event of the category `cuda_sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedWait {
    /// Place in the file.
    pub position: i64,
    /// Correlation of the call.
    pub correlation: i64,
    /// Whether a stream waits, not the host.
    pub is_stream_wait: bool,
    /// Device and stream of the wait.
    pub stream: Stream,
    /// Stream that is waited for; `None` if it was not resolved.
    pub awaited_stream_id: Option<i64>,
    /// Correlation of the call that recorded the event; `None` if it was not resolved.
    pub record_correlation: Option<i64>,
}

/// A process group of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGroup {
    /// The same on every rank of the group.
    pub group_id: i64,
    /// Collectives that the rank launched in it, also those that were not taken.
    pub launched: u64,
}

/// A communication kernel as what a rank does in a process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Start.
    pub start_ns: i64,
    /// Length: transfer, and waiting for the other ranks.
    pub dur_ns: i64,
    /// Position among those of its group on this rank, in the order of their launches.
    pub ordinal: i64,
    /// Sequence number, if it was recorded.
    pub sequence: Option<i64>,
    /// Place of its group in the list.
    pub group: u32,
    /// Which collective: `all_reduce`, `broadcast` and so on.
    pub name: NameId,
    /// Place of the kernel, if it was taken.
    pub event: Option<u32>,
}

/// When a call began, with the place in the file to tell calls of one instant apart.
pub(crate) type Moment = (i64, i64);

impl Recording {
    /// The call that launched an event.
    #[must_use]
    pub fn launch_of(&self, event: &DeviceEvent) -> Option<&LaunchCall> {
        event.launch.map(|call| &self.calls[call as usize])
    }

    /// The steps of the window.
    #[must_use]
    pub fn window_steps(&self) -> &[Step] {
        &self.steps[self.window.steps.clone()]
    }

    /// Makes everything earlier, so that the clock agrees with that of another rank.
    pub(crate) fn shift(&mut self, by_ns: i64) {
        let spans = self.spans.iter_mut().map(|span| &mut span.start_ns);
        let events = self.events.iter_mut().map(|event| &mut event.start_ns);
        let calls = self.calls.iter_mut().map(|call| &mut call.start_ns);
        let earlier = self.earlier_calls.iter_mut().map(|call| &mut call.start_ns);
        let collectives = self.collectives.iter_mut().map(|collective| &mut collective.start_ns);
        let steps = self.steps.iter_mut().flat_map(|step| [&mut step.start_ns, &mut step.host_start_ns]);
        let window = [&mut self.window.start_ns, &mut self.window.end_ns];
        let spans_and_calls = spans.chain(calls).chain(earlier);
        spans_and_calls.chain(events).chain(collectives).chain(steps).chain(window).for_each(|time| *time -= by_ns);
    }

    /// The threads in the order of their ids as text, which numbers of nodes follow (A5).
    pub(crate) fn threads_by_text(&self) -> Vec<u32> {
        let mut threads: Vec<u32> = (0..self.threads.len() as u32).collect();
        threads.sort_by_cached_key(|&thread| (self.threads[thread as usize].text(), thread));
        threads
    }

    /// The streams in the order of their ids as text.
    pub(crate) fn streams_by_text(&self) -> Vec<u32> {
        let mut streams: Vec<u32> = (0..self.streams.len() as u32).collect();
        streams.sort_by_cached_key(|&stream| (self.streams[stream as usize].text(), stream));
        streams
    }

    pub(crate) fn stream_place(&self, stream: Stream) -> Option<u32> {
        self.streams.iter().position(|known| *known == stream).map(|place| place as u32)
    }
}

impl HostSpan {
    /// End.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }

    pub(crate) fn moment(&self) -> Moment {
        (self.start_ns, self.position)
    }
}

impl DeviceEvent {
    /// End.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }
}

impl Collective {
    /// End.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }
}

impl LaunchCall {
    /// End.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }

    pub(crate) fn moment(&self) -> Moment {
        (self.start_ns, self.position)
    }
}

impl Thread {
    /// A number stands as it is and anything else in quotes, so that `1` and `"a"` are ordered as the definition has it.
    fn text(&self) -> String {
        format!("({}, {})", quoted_unless_number(&self.process), quoted_unless_number(&self.thread))
    }
}

impl Stream {
    fn text(&self) -> String {
        let number = |id: Option<i64>| id.map_or_else(|| "None".to_owned(), |id| id.to_string());
        format!("({}, {})", number(self.device_id), number(self.stream_id))
    }

    /// Device and stream as a key of documents.
    #[must_use]
    pub fn key(&self) -> String {
        let number = |id: Option<i64>| id.map_or_else(|| "None".to_owned(), |id| id.to_string());
        format!("{}/{}", number(self.device_id), number(self.stream_id))
    }
}

fn quoted_unless_number(id: &str) -> String {
    if id.parse::<i64>().is_ok() { id.to_owned() } else { format!("'{id}'") }
}
