//! Recordings made by hand.

use stepscope_model::{Kind, StepSource};
use stepscope_replay::recording::{
    Collective, DeviceEvent, HostSpan, LaunchCall, ProcessGroup, Recording, Stream, Thread,
};
use stepscope_replay::{Step, StepModel, Window};

/// Builds a recording of one device, times in microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByHand {
    recording: Recording,
    next: i64,
    /// By how much its clock is ahead.
    ahead_us: i64,
}

impl ByHand {
    pub(crate) fn new() -> Self {
        let mut recording = Recording { step_source: StepSource::ProfilerStep, ..Recording::default() };
        for thread in ["1", "2"] {
            recording.threads.push(Thread { process: "1".into(), thread: thread.into() });
        }
        Self { recording, next: 0, ahead_us: 0 }
    }

    /// A recording of a rank whose clock is ahead of those of others.
    pub(crate) fn of_rank(rank: u32, ahead_us: i64) -> Self {
        let mut by_hand = Self { ahead_us, ..Self::new() };
        by_hand.recording.rank = rank;
        by_hand
    }

    /// A step with its mark on the first thread.
    pub(crate) fn step(mut self, start_us: i64, dur_us: i64) -> Self {
        let name = format!("ProfilerStep#{}", self.recording.steps.len());
        let [start, length] = [start_us + self.ahead_us, dur_us].map(|us| us * 1000);
        self.recording.steps.push(Step {
            name: name.clone(),
            start_ns: start,
            dur_ns: length,
            host_start_ns: start,
            host_dur_ns: length,
            is_complete: true,
        });
        self.span(Kind::Annotation, &name, 0, start_us, dur_us)
    }

    pub(crate) fn op(self, name: &str, start_us: i64, dur_us: i64) -> Self {
        self.span(Kind::Op, name, 0, start_us, dur_us)
    }

    pub(crate) fn call(self, name: &str, start_us: i64, dur_us: i64) -> Self {
        self.span(Kind::Runtime, name, 0, start_us, dur_us)
    }

    pub(crate) fn span(mut self, kind: Kind, name: &str, thread: u32, start_us: i64, dur_us: i64) -> Self {
        let name = self.recording.names.intern(name);
        self.recording.spans.push(HostSpan {
            start_ns: (start_us + self.ahead_us) * 1000,
            dur_ns: dur_us * 1000,
            position: self.next,
            span_id: self.next,
            correlation: self.next + 1,
            name,
            thread,
            kind,
        });
        self.next += 1;
        self
    }

    /// A launch call of `call_us` on the first thread, and the event that it launches.
    pub(crate) fn launch(self, call_us: (i64, i64), name: &str, stream_id: i64, event_us: (i64, i64)) -> Self {
        let kind = if name.starts_with("Memcpy") { Kind::Memcpy } else { Kind::Kernel };
        let call_name = if kind == Kind::Memcpy { "cudaMemcpyAsync" } else { "cudaLaunchKernel" };
        let call = self.next;
        self.call(call_name, call_us.0, call_us.1).event(kind, name, stream_id, event_us, Some(call))
    }

    /// An event and the span, by its position, that launched it.
    pub(crate) fn event(
        mut self,
        kind: Kind,
        name: &str,
        stream_id: i64,
        (start_us, dur_us): (i64, i64),
        call: Option<i64>,
    ) -> Self {
        let stream = Stream { device_id: Some(0), stream_id: Some(stream_id) };
        let streams = &mut self.recording.streams;
        let place = streams.iter().position(|known| *known == stream).unwrap_or_else(|| {
            streams.push(stream);
            streams.len() - 1
        });
        self.recording.events.push(DeviceEvent {
            start_ns: (start_us + self.ahead_us) * 1000,
            dur_ns: dur_us * 1000,
            position: self.next,
            span_id: self.next,
            name: self.recording.names.intern(name),
            stream: place as u32,
            // The position until spans have their places.
            launch: call.map(|call| call as u32),
            operator: None,
            kind,
            is_communication: name.starts_with("nccl"),
        });
        self.next += 1;
        self
    }

    /// The recording, with everything in the order that it must have.
    pub(crate) fn recording(mut self) -> Recording {
        let recording = &mut self.recording;
        recording
            .spans
            .sort_by_key(|span| (span.thread, span.start_ns, -span.dur_ns, span.kind == Kind::Runtime, span.position));
        let spans = recording.spans.clone();
        let place = |position: i64| spans.iter().position(|span| span.position == position).unwrap() as u32;
        for event in &mut recording.events {
            let Some(position) = event.launch else { continue };
            let span = &spans[place(i64::from(position)) as usize];
            let known = recording.calls.iter().position(|call| call.position == span.position);
            event.launch = Some(known.unwrap_or(recording.calls.len()) as u32);
            if known.is_none() {
                recording.calls.push(LaunchCall {
                    start_ns: span.start_ns,
                    dur_ns: span.dur_ns,
                    position: span.position,
                    thread: span.thread,
                    span: Some(place(span.position)),
                });
            }
            let around = spans.iter().enumerate().filter(|(_, outer)| {
                outer.kind == Kind::Op
                    && outer.thread == span.thread
                    && outer.start_ns <= span.start_ns
                    && outer.end_ns() >= span.end_ns()
            });
            event.operator = around.min_by_key(|(_, outer)| outer.dur_ns).map(|(place, _)| place as u32);
        }
        // The rule of metrics, section 5: a step lasts as long as the work that it launched.
        let mut before = i64::MIN;
        for step in &mut recording.steps {
            let (host_start, host_end) = (step.host_start_ns, step.host_end_ns());
            let launched = recording.events.iter().filter(|event| {
                event
                    .launch
                    .is_some_and(|call| (host_start..host_end).contains(&recording.calls[call as usize].start_ns))
            });
            let end = launched.map(DeviceEvent::end_ns).fold(host_end, i64::max);
            step.start_ns = host_start.max(before);
            before = end.max(step.start_ns);
            step.dur_ns = before - step.start_ns;
        }
        recording.window = Window::of(&recording.steps, recording.step_source, 32).unwrap_or_default();
        add_collectives(recording);
        self.recording
    }

    pub(crate) fn model(self) -> StepModel {
        StepModel::build(self.recording()).unwrap()
    }
}

/// Makes every launched kernel of NCCL a collective. A stream is a process group, as it is with NCCL.
fn add_collectives(recording: &mut Recording) {
    let launch = |event: &DeviceEvent| recording.launch_of(event).map(|call| (call.start_ns, event.position));
    let mut kernels: Vec<(usize, DeviceEvent)> = recording.events.iter().copied().enumerate().collect();
    kernels.retain(|(_, event)| event.is_communication && event.launch.is_some());
    kernels.sort_by_key(|(_, event)| launch(event));
    for (place, event) in kernels {
        let group_id = recording.streams[event.stream as usize].stream_id.unwrap();
        let known = recording.groups.iter().position(|group| group.group_id == group_id);
        let group = known.unwrap_or(recording.groups.len());
        if known.is_none() {
            recording.groups.push(ProcessGroup { group_id, launched: 0 });
        }
        recording.collectives.push(Collective {
            start_ns: event.start_ns,
            dur_ns: event.dur_ns,
            ordinal: recording.groups[group].launched as i64,
            sequence: None,
            group: group as u32,
            name: event.name,
            event: Some(place as u32),
        });
        recording.groups[group].launched += 1;
    }
}
