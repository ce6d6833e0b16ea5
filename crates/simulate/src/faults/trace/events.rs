//! Turns what happened on a rank into the events of a trace.

use std::collections::BTreeMap;
use std::io::{self, Write};

use stepscope_formats::{ChromeEvent, ChromeWriter, JsonValue};
use stepscope_model::Phase;

use crate::device::MULTIPROCESSORS;
use crate::noise::noise;
use crate::trace::events::{callback, event};

use super::header;
use crate::faults::program::{Collective, Kernel, Label, Op, Stream, Thread, Work};
use crate::faults::recording::{Call, DeviceEvent, HostSpan, MemoryEvent, RankRecording};
use crate::faults::setup::Setup;

/// The kernel of a collective.
const COLLECTIVE_KERNEL: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
/// Numbers of calls begin here: they are not those of the operators.
const FIRST_CORRELATION: i64 = 100_000;
/// Largest difference between the clock of a rank and the true time.
const CLOCK_SKEW_NS: f64 = 30_000.0;

type Args<'a> = Vec<(&'a str, JsonValue<'a>)>;

/// Writes the events of one rank.
pub(super) struct Events<'r, W: Write> {
    setup: &'r Setup,
    recording: &'r RankRecording,
    rank: u32,
    process: i64,
    clock_ns: i64,
    /// Ranks of each group of the rank, as text.
    group_ranks: Vec<String>,
    pub(super) writer: ChromeWriter<W>,
}

impl<'r, W: Write> Events<'r, W> {
    pub(super) fn new(setup: &'r Setup, rank: u32, recording: &'r RankRecording, writer: ChromeWriter<W>) -> Self {
        let skew = noise(setup.seed, [u64::MAX, u64::from(rank), 2]) * 2.0 - 1.0;
        Self {
            setup,
            recording,
            rank,
            process: 4000 + 100 * i64::from(rank),
            clock_ns: if rank == 0 { 0 } else { (skew * CLOCK_SKEW_NS) as i64 },
            group_ranks: setup.groups_of(rank).iter().map(|&group| header::list(&setup.groups[group].ranks)).collect(),
            writer,
        }
    }

    /// Everything since the start of the recording.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let recording = self.recording;
        let from_ns = recording.recorded_from_ns;
        for (place, span) in recording.spans.iter().enumerate().filter(|(_, span)| span.start_ns >= from_ns) {
            self.host_span(place, span)?;
        }
        for (place, call) in recording.calls.iter().enumerate().filter(|(_, call)| call.start_ns >= from_ns) {
            self.call(place, call)?;
        }
        for event in recording.device.iter().filter(|event| recording.calls[event.call].start_ns >= from_ns) {
            self.device_event(event)?;
        }
        for (place, span) in recording.spans.iter().enumerate().filter(|(_, span)| span.start_ns >= from_ns) {
            self.on_device(place, span)?;
        }
        for (place, memory) in recording.memory.iter().enumerate().filter(|(_, memory)| memory.at_ns >= from_ns) {
            self.memory(place, memory)?;
        }
        self.names_and_window()
    }

    fn host_span(&mut self, place: usize, span: &HostSpan) -> io::Result<()> {
        let id = place as i64 + 1;
        let plain = [("External id", JsonValue::Int(id)), ("Ev Idx", JsonValue::Int(id - 1))];
        match &span.label {
            Label::Step(number) => self.on_thread(span, "user_annotation", &format!("ProfilerStep#{number}"), &plain),
            Label::Annotation(name) => self.on_thread(span, "user_annotation", name, &plain),
            Label::Op(op) => self.op(id, span, op),
            Label::Collective(collective) => {
                let ranks = self.group_ranks[collective.group].clone();
                let args = [&plain[..], self.collective_args(*collective, &ranks).as_slice()].concat();
                self.on_thread(span, "cpu_op", "record_param_comms", &args)
            }
        }
    }

    /// A label of the host around what it launched, once more on each stream that has any of it.
    fn on_device(&mut self, place: usize, span: &HostSpan) -> io::Result<()> {
        let name = match &span.label {
            Label::Step(number) => format!("ProfilerStep#{number}"),
            Label::Annotation(name) => (*name).to_owned(),
            Label::Op(_) | Label::Collective(_) => return Ok(()),
        };
        let recording = self.recording;
        let mut streams: BTreeMap<Stream, (i64, i64)> = BTreeMap::new();
        for event in &recording.device {
            let call = &recording.calls[event.call];
            if call.thread == span.thread && (span.start_ns..span.end_ns).contains(&call.start_ns) {
                let times = streams.entry(event.stream).or_insert((event.start_ns, event.end_ns));
                *times = (times.0.min(event.start_ns), times.1.max(event.end_ns));
            }
        }
        let args = [("External id", JsonValue::Int(place as i64 + 1))];
        streams.into_iter().try_for_each(|(stream, times)| {
            let track = (i64::from(self.rank), stream_id(stream));
            self.span("gpu_user_annotation", &name, track, times, &args)
        })
    }

    fn op(&mut self, id: i64, span: &HostSpan, op: &Op) -> io::Result<()> {
        let is_backward = span.thread == Thread::Backward;
        let (dims, types) = (format!("{:?}", op.dims), format!("{:?}", vec![op.dtype; op.dims.len()]));
        let mut args: Args = vec![("External id", id.into())];
        if let Some(sequence) = op.sequence {
            args.push(("Sequence number", sequence.into()));
            args.push(("Fwd thread id", JsonValue::Int(is_backward.into())));
        }
        if !op.dims.is_empty() {
            args.push(("Input Dims", JsonValue::Json(&dims)));
            args.push(("Input type", JsonValue::Json(&types)));
        }
        args.push(("Ev Idx", JsonValue::Int(id - 1)));
        self.on_thread(span, "cpu_op", op.name, &args)?;
        let Some(sequence) = op.sequence else { return Ok(()) };
        if !is_backward {
            return self.flow(Phase::FlowStart, "fwdbwd", sequence, self.thread_of(span.thread), span.start_ns);
        }
        if op.name.starts_with("autograd::") {
            return self.flow(Phase::FlowEnd, "fwdbwd", sequence, self.thread_of(span.thread), span.start_ns);
        }
        Ok(())
    }

    fn call(&mut self, place: usize, call: &Call) -> io::Result<()> {
        let mut args: Args = Vec::new();
        args.extend(call.op.map(|op| ("External id", JsonValue::Int(op as i64 + 1))));
        args.push(("cbid", callback(call.name).into()));
        args.push(("correlation", correlation(place).into()));
        let (process, thread) = self.thread_of(call.thread);
        self.span("cuda_runtime", call.name, (process, thread), (call.start_ns, call.end_ns), &args)
    }

    fn device_event(&mut self, event: &DeviceEvent) -> io::Result<()> {
        let call = &self.recording.calls[event.call];
        let mut args: Args = Vec::new();
        args.extend(call.op.map(|op| ("External id", JsonValue::Int(op as i64 + 1))));
        if !matches!(event.work, Work::Copy { .. }) {
            args.push(("queued", JsonValue::Int(0)));
        }
        args.extend([
            ("device", JsonValue::Int(i64::from(self.rank))),
            ("context", JsonValue::Int(1)),
            ("stream", stream_id(event.stream).into()),
            ("correlation", correlation(event.call).into()),
        ]);
        let times = (event.start_ns, event.end_ns);
        let track = (i64::from(self.rank), stream_id(event.stream));
        match &event.work {
            Work::Kernel(kernel) => self.kernel(*kernel, track, times, &args, &[])?,
            Work::Collective(collective) => {
                let ranks = self.group_ranks[collective.group].clone();
                let kernel = Kernel { name: COLLECTIVE_KERNEL, dur_ns: 0, grid: 24, block: 544 };
                let more = self.collective_args(*collective, &ranks);
                self.kernel(kernel, track, times, &args, &more)?;
            }
            Work::Copy { name, bytes, .. } => {
                let bandwidth = *bytes as f64 / (times.1 - times.0) as f64;
                args.push(("bytes", (*bytes).into()));
                args.push(("memory bandwidth (GB/s)", JsonValue::Float(bandwidth)));
                self.span("gpu_memcpy", name, track, times, &args)?;
            }
        }
        let (id, thread) = (correlation(event.call), self.thread_of(call.thread));
        self.flow(Phase::FlowStart, "ac2g", id, thread, call.start_ns)?;
        self.flow(Phase::FlowEnd, "ac2g", id, track, event.start_ns)
    }

    fn kernel(
        &mut self,
        kernel: Kernel,
        track: (i64, i64),
        times: (i64, i64),
        place: &[(&str, JsonValue<'_>)],
        more: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        let blocks_per_sm = kernel.grid as f64 / MULTIPROCESSORS as f64;
        let warps_per_sm = blocks_per_sm * kernel.block as f64 / 32.0;
        let (grid, block) = (format!("[{}, 1, 1]", kernel.grid), format!("[{}, 1, 1]", kernel.block));
        let shape = [
            ("registers per thread", JsonValue::Int(if kernel.block > 128 { 96 } else { 32 })),
            ("shared memory", JsonValue::Int(0)),
            ("blocks per SM", JsonValue::Float((blocks_per_sm * 1e6).round() / 1e6)),
            ("warps per SM", JsonValue::Float((warps_per_sm * 1e6).round() / 1e6)),
            ("grid", JsonValue::Json(&grid)),
            ("block", JsonValue::Json(&block)),
            ("est. achieved occupancy %", JsonValue::Int((warps_per_sm / 64.0 * 100.0).min(100.0) as i64)),
        ];
        self.span("kernel", kernel.name, track, times, &[place, &shape, more].concat())
    }

    fn collective_args<'a>(&self, collective: Collective, ranks: &'a str) -> Args<'a> {
        let group = &self.setup.groups[self.setup.groups_of(self.rank)[collective.group]];
        vec![
            ("Collective name", "allreduce".into()),
            ("dtype", "Float".into()),
            ("In msg nelems", collective.elements.into()),
            ("Out msg nelems", collective.elements.into()),
            ("Group size", (group.ranks.len() as i64).into()),
            ("Process Group Name", group.name.into()),
            ("Process Group Description", header::description(self.setup, &group.ranks).into()),
            ("Process Group Ranks", ranks.into()),
            ("Seq", (collective.ordinal as i64).into()),
        ]
    }

    fn memory(&mut self, place: usize, memory: &MemoryEvent) -> io::Result<()> {
        let (process, thread) = self.thread_of(memory.thread);
        let args = [
            ("Total Reserved", memory.reserved_bytes.into()),
            ("Total Allocated", memory.allocated_bytes.into()),
            ("Bytes", memory.bytes.into()),
            ("Addr", memory.address.into()),
            ("Device Id", JsonValue::Int(i64::from(self.rank))),
            ("Device Type", JsonValue::Int(1)),
            ("Ev Idx", JsonValue::Int(place as i64)),
        ];
        let at_ns = memory.at_ns + self.clock_ns;
        self.writer.event(&ChromeEvent {
            category: Some("cpu_instant_event"),
            args: &args,
            ..event(Phase::Instant, "[memory]", process.into(), thread.into(), at_ns)
        })
    }

    /// The names of processes, threads and streams, and the span of the whole recording.
    fn names_and_window(&mut self) -> io::Result<()> {
        let (host, device) = (self.process, i64::from(self.rank));
        let label = format!("GPU {device}");
        self.metadata("process_name", (host, 0), "name", "python".into())?;
        self.metadata("process_labels", (host, 0), "labels", "CPU".into())?;
        self.metadata("process_sort_index", (host, 0), "sort_index", host.into())?;
        self.metadata("process_name", (device, 0), "name", "python".into())?;
        self.metadata("process_labels", (device, 0), "labels", label.as_str().into())?;
        self.metadata("process_sort_index", (device, 0), "sort_index", (5_000_000 + device).into())?;
        for thread in [Thread::Script, Thread::Backward] {
            let track = self.thread_of(thread);
            self.metadata("thread_name", track, "name", format!("thread {} (python)", track.1).as_str().into())?;
        }
        for stream in (0..=self.group_ranks.len()).map(Stream::of_index).map(stream_id) {
            self.metadata("thread_name", (device, stream), "name", format!("stream {stream}").as_str().into())?;
        }
        let first_ns = self.recording.recorded_from_ns;
        let last_ns = self.recording.calls.last().map_or(first_ns, |call| call.end_ns);
        self.writer.event(&ChromeEvent {
            category: Some("Trace"),
            dur_ns: Some(last_ns - first_ns),
            args: &[("Op count", JsonValue::Int(0))],
            ..event(
                Phase::Complete,
                "PyTorch Profiler (0)",
                "Spans".into(),
                "PyTorch Profiler".into(),
                first_ns + self.clock_ns,
            )
        })?;
        self.writer.event(&event(Phase::Instant, "Record Window End", "".into(), "".into(), last_ns + self.clock_ns))
    }

    fn on_thread(
        &mut self,
        span: &HostSpan,
        category: &str,
        name: &str,
        args: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        self.span(category, name, self.thread_of(span.thread), (span.start_ns, span.end_ns), args)
    }

    fn span(
        &mut self,
        category: &str,
        name: &str,
        (process, thread): (i64, i64),
        (start_ns, end_ns): (i64, i64),
        args: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        self.writer.event(&ChromeEvent {
            category: Some(category),
            dur_ns: Some(end_ns - start_ns),
            args,
            ..event(Phase::Complete, name, process.into(), thread.into(), start_ns + self.clock_ns)
        })
    }

    fn flow(
        &mut self,
        phase: Phase,
        category: &str,
        id: i64,
        (process, thread): (i64, i64),
        at_ns: i64,
    ) -> io::Result<()> {
        self.writer.event(&ChromeEvent {
            category: Some(category),
            id: Some(id.into()),
            ..event(phase, category, process.into(), thread.into(), at_ns + self.clock_ns)
        })
    }

    fn metadata(&mut self, what: &str, track: (i64, i64), key: &str, value: JsonValue<'_>) -> io::Result<()> {
        let at_ns = self.recording.recorded_from_ns + self.clock_ns;
        self.writer.event(&ChromeEvent {
            args: &[(key, value)],
            ..event(Phase::Metadata, what, track.0.into(), track.1.into(), at_ns)
        })
    }

    fn thread_of(&self, thread: Thread) -> (i64, i64) {
        match thread {
            Thread::Script => (self.process, self.process),
            Thread::Backward => (self.process, self.process + 31),
        }
    }
}

fn stream_id(stream: Stream) -> i64 {
    match stream {
        Stream::Compute => 7,
        Stream::Communication(group) => 20 + 4 * group as i64,
    }
}

fn correlation(call: usize) -> i64 {
    FIRST_CORRELATION + call as i64
}
