//! Turns what happened on a rank into the events of a trace.

use std::io::{self, Write};

use stepscope_formats::{ChromeEvent, ChromeWriter, JsonValue};
use stepscope_model::Phase;

use crate::collective::{self, PROCESS_GROUP};
use crate::device;
use crate::job::Job;
use crate::kernel::{Kernel, Tensor};
use crate::step::{Copy, Frame, Happening, Op, Place, Step, What};

/// The allocator of the framework takes memory from the device in pieces of this size.
const RESERVED_PIECE_BYTES: i64 = 2 << 20;

/// Writes the events of one rank.
pub(super) struct Events<'j, W: Write> {
    job: &'j Job,
    device: i64,
    process: i64,
    group_ranks: String,
    reserved_bytes: i64,
    first_ns: i64,
    last_ns: i64,
    pub(super) writer: ChromeWriter<W>,
}

impl<'j, W: Write> Events<'j, W> {
    pub(super) fn new(job: &'j Job, rank: u32, writer: ChromeWriter<W>) -> Self {
        let layers = i64::from(job.layers);
        let parameters_bytes = 2 * layers * (Tensor::Weight.size_bytes(job) + Tensor::Bias.size_bytes(job));
        let batches = 2 * layers + i64::from(job.copies_per_step);
        let used_bytes = parameters_bytes + batches * Tensor::Batch.size_bytes(job);
        Self {
            job,
            device: device::of_rank(rank),
            process: 4000 + 100 * i64::from(rank),
            group_ranks: collective::group_ranks(job),
            reserved_bytes: (used_bytes / RESERVED_PIECE_BYTES + 1) * RESERVED_PIECE_BYTES,
            first_ns: i64::MAX,
            last_ns: i64::MIN,
            writer,
        }
    }

    /// Everything that happened in a step.
    pub(super) fn step(&mut self, step: &Step) -> io::Result<()> {
        self.first_ns = self.first_ns.min(step.start_ns);
        self.last_ns = self.last_ns.max(step.end_ns);
        for (index, happening) in step.happenings.iter().enumerate() {
            self.happening(step, index, happening)?;
        }
        Ok(())
    }

    /// The names of processes, threads and streams, and the span of the whole recording.
    pub(super) fn names_and_window(&mut self) -> io::Result<()> {
        let (host, device) = (self.process, self.device);
        let label = format!("GPU {device}");
        self.metadata("process_name", host, 0, "name", "python".into())?;
        self.metadata("process_labels", host, 0, "labels", "CPU".into())?;
        self.metadata("process_sort_index", host, 0, "sort_index", host.into())?;
        self.metadata("process_name", device, 0, "name", "python".into())?;
        self.metadata("process_labels", device, 0, "labels", label.as_str().into())?;
        self.metadata("process_sort_index", device, 0, "sort_index", (5_000_000 + device).into())?;
        for place in [Place::MainThread, Place::BackwardThread] {
            let thread = self.thread(place);
            self.metadata("thread_name", host, thread, "name", format!("thread {thread} (python)").as_str().into())?;
        }
        for place in [Place::ComputeStream, Place::CommunicationStream] {
            let stream = self.thread(place);
            self.metadata("thread_name", device, stream, "name", format!("stream {stream}").as_str().into())?;
        }
        self.writer.event(&ChromeEvent {
            category: Some("Trace"),
            dur_ns: Some(self.last_ns - self.first_ns),
            args: &[("Op count", JsonValue::Int(0))],
            ..event(Phase::Complete, "PyTorch Profiler (0)", "Spans".into(), "PyTorch Profiler".into(), self.first_ns)
        })?;
        self.writer.event(&event(Phase::Instant, "Record Window End", "".into(), "".into(), self.last_ns))
    }

    fn happening(&mut self, step: &Step, index: usize, happening: &Happening) -> io::Result<()> {
        let id = id_of(step, index);
        let plain = [("External id", JsonValue::Int(id)), ("Ev Idx", JsonValue::Int(id - 1))];
        match happening.what {
            What::StepMark => self.span(happening, "user_annotation", &step.name(), &plain),
            What::DataLoader => {
                let name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
                self.span(happening, "user_annotation", name, &plain)
            }
            What::Annotation(name) => self.span(happening, "user_annotation", name, &plain),
            What::Frame(frame) => self.frame(step, id, happening, frame),
            What::Op(op) => self.op(step, id, happening, op),
            What::CollectiveOp(place) => {
                let group_ranks = self.group_ranks.clone();
                let args = [&plain[..], &self.collective_args(step, place, &group_ranks)].concat();
                self.span(happening, "cpu_op", "record_param_comms", &args)
            }
            What::Call(name) => {
                let operator = happening.cause.map(|operator| ("External id", id_of(step, operator).into()));
                let args = operator.into_iter().chain([("cbid", callback(name).into()), ("correlation", id.into())]);
                self.span(happening, "cuda_runtime", name, &args.collect::<Vec<_>>())
            }
            What::Kernel(kernel) => {
                let (grid, block) = kernel.grid_and_block(self.job);
                let registers = if kernel == Kernel::MatMul { 122 } else { 32 };
                self.kernel(step, happening, kernel.name(), (grid, block, registers), &[])
            }
            What::CollectiveKernel(place) => {
                let group_ranks = self.group_ranks.clone();
                let args = self.collective_args(step, place, &group_ranks);
                self.kernel(step, happening, collective::KERNEL_NAME, (24, 512, 96), &args)
            }
            What::Copy(copy) => self.copy(step, happening, copy),
            What::Memory { bytes, address, allocated_bytes } => self.writer.event(&ChromeEvent {
                category: Some("cpu_instant_event"),
                args: &[
                    ("Total Reserved", self.reserved_bytes.into()),
                    ("Total Allocated", allocated_bytes.into()),
                    ("Bytes", bytes.into()),
                    ("Addr", address.into()),
                    ("Device Id", self.device.into()),
                    ("Device Type", JsonValue::Int(1)),
                    ("Ev Idx", JsonValue::Int(id - 1)),
                ],
                ..self.event_at(Phase::Instant, "[memory]", happening.place, happening.start_ns)
            }),
        }
    }

    fn frame(&mut self, step: &Step, id: i64, happening: &Happening, frame: Frame) -> io::Result<()> {
        let (name, module) = match frame {
            Frame::TrainStep => ("train.py(24): train_step".to_owned(), None),
            Frame::Network => ("nn.Module: Network_0".to_owned(), Some(0)),
            Frame::Layer(layer) => (format!("nn.Module: Linear_{layer}"), Some(i64::from(layer) + 1)),
        };
        let caller = happening.cause.map(|caller| ("Python parent id", id_of(step, caller).into()));
        let module = module.map(|module| ("Python module id", JsonValue::Int(module)));
        let args = caller.into_iter().chain([("Python id", id.into())]).chain(module);
        let args: Vec<_> = args.chain([("Ev Idx", JsonValue::Int(id - 1))]).collect();
        self.span(happening, "python_function", &name, &args)
    }

    fn op(&mut self, step: &Step, id: i64, happening: &Happening, op: Op) -> io::Result<()> {
        let shapes = op.inputs.iter().map(|tensor| format!("{:?}", tensor.dims(self.job)));
        let shapes = format!("[{}]", shapes.collect::<Vec<_>>().join(", "));
        let types = format!("{:?}", vec!["float"; op.inputs.len()]);
        let is_backward = happening.place == Place::BackwardThread;
        let mut args = vec![("External id", id.into())];
        let sequence = op.sequence.map(|number| self.sequence(step, number));
        if let Some(number) = sequence {
            args.push(("Sequence number", number.into()));
            args.push(("Fwd thread id", JsonValue::Int(is_backward.into())));
        }
        args.push(("Input Dims", JsonValue::Json(&shapes)));
        args.push(("Input type", JsonValue::Json(&types)));
        args.push(("Ev Idx", JsonValue::Int(id - 1)));
        self.span(happening, "cpu_op", op.name, &args)?;
        match sequence {
            Some(number) if !is_backward => self.flow(Phase::FlowStart, "fwdbwd", number, happening),
            Some(number) if op.name.starts_with("autograd::") => self.flow(Phase::FlowEnd, "fwdbwd", number, happening),
            _ => Ok(()),
        }
    }

    fn kernel(
        &mut self,
        step: &Step,
        happening: &Happening,
        name: &str,
        (grid, block, registers): (i64, i64, i64),
        more: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        let blocks_per_sm = grid as f64 / device::MULTIPROCESSORS as f64;
        let warps_per_sm = blocks_per_sm * block as f64 / 32.0;
        let (grid, block) = (format!("[{grid}, 1, 1]"), format!("[{block}, 1, 1]"));
        let args = [
            ("registers per thread", JsonValue::Int(registers)),
            ("shared memory", JsonValue::Int(0)),
            ("blocks per SM", JsonValue::Float(blocks_per_sm)),
            ("warps per SM", JsonValue::Float(warps_per_sm)),
            ("grid", JsonValue::Json(&grid)),
            ("block", JsonValue::Json(&block)),
            ("est. achieved occupancy %", JsonValue::Int((warps_per_sm / 64.0 * 100.0).min(100.0) as i64)),
        ];
        self.on_device(step, happening, "kernel", name, &[&args, more].concat())
    }

    fn copy(&mut self, step: &Step, happening: &Happening, copy: Copy) -> io::Result<()> {
        let name = match copy {
            Copy::ToDevice(_) => "Memcpy HtoD (Pageable -> Device)",
            Copy::FromDevice(_) => "Memcpy DtoH (Device -> Pageable)",
        };
        let bytes = copy.tensor().size_bytes(self.job);
        let bandwidth = bytes as f64 / happening.dur_ns as f64;
        let args = [("bytes", bytes.into()), ("memory bandwidth (GB/s)", JsonValue::Float(bandwidth))];
        self.on_device(step, happening, "gpu_memcpy", name, &args)
    }

    /// An event on a stream, and the arrow to it from its call.
    fn on_device(
        &mut self,
        step: &Step,
        happening: &Happening,
        category: &str,
        name: &str,
        more: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        let Some(call) = happening.cause else { return Ok(()) };
        let correlation = id_of(step, call);
        let operator = step.happenings[call].cause.map(|operator| ("External id", id_of(step, operator).into()));
        let place = [
            ("queued", JsonValue::Int(0)),
            ("device", self.device.into()),
            ("context", JsonValue::Int(1)),
            ("stream", self.thread(happening.place).into()),
            ("correlation", correlation.into()),
        ];
        let args: Vec<_> = operator.into_iter().chain(place).chain(more.iter().copied()).collect();
        self.span(happening, category, name, &args)?;
        self.flow(Phase::FlowStart, "ac2g", correlation, &step.happenings[call])?;
        self.flow(Phase::FlowEnd, "ac2g", correlation, happening)
    }

    fn collective_args<'a>(&self, step: &Step, place: u32, group_ranks: &'a str) -> [(&'a str, JsonValue<'a>); 9] {
        let elements = self.job.collective_elements(place);
        let sequence = i64::from(step.number) * i64::from(self.job.collectives_per_step) + i64::from(place);
        [
            ("Collective name", "allreduce".into()),
            ("dtype", "Float".into()),
            ("In msg nelems", elements.into()),
            ("Out msg nelems", elements.into()),
            ("Group size", i64::from(self.job.ranks).into()),
            ("Process Group Name", PROCESS_GROUP.into()),
            ("Process Group Description", "default_pg".into()),
            ("Process Group Ranks", group_ranks.into()),
            ("Seq", sequence.into()),
        ]
    }

    fn span(
        &mut self,
        happening: &Happening,
        category: &str,
        name: &str,
        args: &[(&str, JsonValue<'_>)],
    ) -> io::Result<()> {
        self.writer.event(&ChromeEvent {
            category: Some(category),
            dur_ns: Some(happening.dur_ns),
            args,
            ..self.event_at(Phase::Complete, name, happening.place, happening.start_ns)
        })
    }

    fn flow(&mut self, phase: Phase, category: &str, id: i64, at: &Happening) -> io::Result<()> {
        self.writer.event(&ChromeEvent {
            category: Some(category),
            id: Some(id.into()),
            ..self.event_at(phase, category, at.place, at.start_ns)
        })
    }

    fn metadata(&mut self, what: &str, process: i64, thread: i64, key: &str, value: JsonValue<'_>) -> io::Result<()> {
        self.writer.event(&ChromeEvent {
            args: &[(key, value)],
            ..event(Phase::Metadata, what, process.into(), thread.into(), self.first_ns)
        })
    }

    fn event_at<'a>(&self, phase: Phase, name: &'a str, place: Place, ts_ns: i64) -> ChromeEvent<'a> {
        let process = if place.stream_id().is_some() { self.device } else { self.process };
        event(phase, name, process.into(), self.thread(place).into(), ts_ns)
    }

    fn thread(&self, place: Place) -> i64 {
        match place {
            Place::BackwardThread => self.process + 31,
            place => place.stream_id().unwrap_or(self.process),
        }
    }

    /// The number that a forward operator shares with its backward operator; two for each layer of a step.
    fn sequence(&self, step: &Step, number: u32) -> i64 {
        2 * i64::from(self.job.layers) * i64::from(step.number) + i64::from(number)
    }
}

/// An event without any of what only some have.
pub(crate) fn event<'a>(
    phase: Phase,
    name: &'a str,
    process: JsonValue<'a>,
    thread: JsonValue<'a>,
    ts_ns: i64,
) -> ChromeEvent<'a> {
    ChromeEvent {
        phase,
        category: None,
        name,
        process,
        thread,
        ts_ns,
        dur_ns: None,
        id: None,
        args: &[],
        more_args: None,
    }
}

/// CUPTI's number of a runtime function.
pub(crate) fn callback(name: &str) -> i64 {
    match name {
        "cudaLaunchKernel" => 211,
        "cudaLaunchKernelExC" => 430,
        "cudaMemcpyAsync" => 41,
        "cudaStreamSynchronize" => 131,
        "cudaEventRecord" => 135,
        "cudaEventSynchronize" => 137,
        "cudaDeviceSynchronize" => 165,
        "cudaMalloc" => 20,
        _ => 147,
    }
}

/// A number for something that happened, which nothing else on the rank has: as many things happen in every step.
fn id_of(step: &Step, index: usize) -> i64 {
    (step.number as usize * step.happenings.len() + index + 1) as i64
}
