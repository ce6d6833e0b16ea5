//! Plays one step on one rank: the host runs ahead, the streams follow, and everything gets its time.
//!
//! Times are true times, the same for all ranks; the clocks of the ranks come in later.

use crate::collective::Collective;
use crate::job::Job;
use crate::kernel::{Kernel, Tensor};
use crate::noise::noise;
use crate::step::{Copy, Frame, Happening, Op, Place, What};

/// From the start of a call to the earliest start of what it launches.
const LAUNCH_LATENCY_NS: i64 = 5_200;
/// A call that launches something.
const LAUNCH_CALL_NS: i64 = 3_600;
/// A call that only notes something down.
const SHORT_CALL_NS: i64 = 900;
/// What an operator does on the host before the first and behind the last thing inside it.
const OP_ENTRY_NS: i64 = 2_400;
const OP_EXIT_NS: i64 = 700;
/// Bandwidth of copies from and to pageable memory: 6 GB/s.
const PAGEABLE_BYTES_PER_NS: i64 = 6;
/// The shortest copy.
const COPY_MIN_NS: i64 = 1_100;
/// Host work takes up to this share longer than it must, at the same places on every rank.
const HOST_JITTER: f64 = 0.4;
/// Where the device memory of the simulated process begins.
const FIRST_ADDRESS: i64 = 0x7f00_0000_0000;

/// One step on one rank, as far as it has been played.
pub(crate) struct Player<'j> {
    pub job: &'j Job,
    rank: u32,
    step: u32,
    /// When each collective of the step ends on all ranks; not known before all ranks have been asked for `ready_ns`.
    ends_ns: Option<&'j [i64]>,
    thread: Place,
    pub now_ns: i64,
    /// When the stream of the network is free.
    compute_ns: i64,
    /// When this rank has computed what each collective needs.
    pub ready_ns: Vec<i64>,
    pub happenings: Vec<Happening>,
    pub collectives: Vec<Collective>,
    /// Spans on the host that are not over.
    open: Vec<usize>,
    /// Blocks of device memory that the step has allocated, by size.
    blocks: Vec<i64>,
    allocated_bytes: i64,
}

impl<'j> Player<'j> {
    pub(crate) fn new(job: &'j Job, rank: u32, step: u32, start_ns: i64, ends_ns: Option<&'j [i64]>) -> Self {
        let layer_bytes = Tensor::Weight.size_bytes(job) + Tensor::Bias.size_bytes(job);
        Self {
            job,
            rank,
            step,
            ends_ns,
            thread: Place::MainThread,
            now_ns: start_ns,
            compute_ns: start_ns,
            ready_ns: Vec::new(),
            happenings: Vec::new(),
            collectives: Vec::new(),
            open: Vec::new(),
            blocks: Vec::new(),
            // Parameters and their gradients stay from step to step.
            allocated_bytes: 2 * layer_bytes * i64::from(job.layers),
        }
    }

    /// Whether the collectives can be played to their end.
    pub(crate) fn knows_ends(&self) -> bool {
        self.ends_ns.is_some()
    }

    /// A span on the host around what `body` does.
    pub(crate) fn within(&mut self, what: What, body: impl FnOnce(&mut Self)) {
        let cause = match what {
            What::Frame(_) => self.innermost(|what| matches!(what, What::Frame(_))),
            _ => None,
        };
        let index = self.push(what, self.thread, self.now_ns, 0, cause);
        self.open.push(index);
        body(self);
        self.open.pop();
        self.happenings[index].dur_ns = self.now_ns - self.happenings[index].start_ns;
    }

    /// An operator around what `body` does.
    pub(crate) fn op(&mut self, name: &'static str, inputs: &'static [Tensor], body: impl FnOnce(&mut Self)) {
        self.op_in_sequence(name, inputs, None, body);
    }

    /// The same, with the number that a forward operator shares with its backward operator.
    pub(crate) fn op_in_sequence(
        &mut self,
        name: &'static str,
        inputs: &'static [Tensor],
        sequence: Option<u32>,
        body: impl FnOnce(&mut Self),
    ) {
        self.within(What::Op(Op { name, inputs, sequence }), |player| {
            player.spend(OP_ENTRY_NS);
            body(player);
            player.spend(OP_EXIT_NS);
        });
    }

    /// A Python function or module around what `body` does.
    pub(crate) fn frame(&mut self, frame: Frame, body: impl FnOnce(&mut Self)) {
        self.within(What::Frame(frame), |player| {
            player.spend(OP_ENTRY_NS);
            body(player);
        });
    }

    /// What `body` does on the thread of the backward pass; the thread of the script waits for it.
    pub(crate) fn on_backward_thread(&mut self, body: impl FnOnce(&mut Self)) {
        self.thread = Place::BackwardThread;
        body(self);
        self.thread = Place::MainThread;
    }

    /// The host is busy with something that nobody records.
    pub(crate) fn spend(&mut self, least_ns: i64) {
        self.now_ns += self.host_ns(least_ns);
    }

    /// The wait for the next batch.
    pub(crate) fn wait_for_data(&mut self) {
        let wait_ns = self.job.dataloader_ns;
        self.within(What::DataLoader, |player| player.now_ns += wait_ns);
    }

    /// A call that launches a kernel on the stream of the network.
    pub(crate) fn launch(&mut self, kernel: Kernel) {
        let (call, earliest_ns) = self.launch_call("cudaLaunchKernel");
        let start_ns = self.compute_ns.max(earliest_ns);
        let dur_ns = self.kernel_ns(kernel);
        self.push(What::Kernel(kernel), Place::ComputeStream, start_ns, dur_ns, Some(call));
        self.compute_ns = start_ns + dur_ns;
    }

    /// A copy from or to pageable memory, which the host waits for.
    pub(crate) fn copy(&mut self, copy: Copy) {
        let (call, earliest_ns) = self.launch_call("cudaMemcpyAsync");
        let start_ns = self.compute_ns.max(earliest_ns);
        let dur_ns = COPY_MIN_NS + copy.tensor().size_bytes(self.job) / PAGEABLE_BYTES_PER_NS;
        self.push(What::Copy(copy), Place::ComputeStream, start_ns, dur_ns, Some(call));
        self.compute_ns = start_ns + dur_ns;
        self.call_until("cudaStreamSynchronize", self.compute_ns);
    }

    /// A collective: the gradients that are ready are summed over the ranks while the backward pass goes on.
    pub(crate) fn collective(&mut self) {
        let index = self.ready_ns.len() as u32;
        self.within(What::CollectiveOp(index), |player| {
            player.spend(OP_ENTRY_NS);
            player.within(What::Annotation("nccl:all_reduce"), |player| {
                player.spend(OP_ENTRY_NS);
                // The stream of the collective waits for the gradients, which that of the network computes.
                player.call_until("cudaStreamWaitEvent", player.now_ns + SHORT_CALL_NS);
                let (call, earliest_ns) = player.launch_call("cudaLaunchKernelExC");
                let ready_ns = player.compute_ns.max(earliest_ns);
                player.ready_ns.push(ready_ns);
                player.collective_kernel(index, ready_ns, call);
            });
            player.spend(OP_EXIT_NS);
        });
    }

    /// What follows on the stream of the network waits for the collectives.
    pub(crate) fn wait_for_collectives(&mut self) {
        self.call_until("cudaStreamWaitEvent", self.now_ns + SHORT_CALL_NS);
        let last_ns = self.ends_ns.and_then(<[i64]>::last).copied();
        self.compute_ns = self.compute_ns.max(last_ns.unwrap_or(self.compute_ns));
    }

    /// Memory for a tensor.
    pub(crate) fn allocate(&mut self, tensor: Tensor) {
        let bytes = tensor.size_bytes(self.job);
        let address = FIRST_ADDRESS + self.allocated_bytes;
        self.blocks.push(bytes);
        self.allocated_bytes += bytes;
        self.memory(bytes, address);
    }

    /// The memory that was allocated last and is not free yet.
    pub(crate) fn free(&mut self) {
        if let Some(bytes) = self.blocks.pop() {
            self.allocated_bytes -= bytes;
            self.memory(-bytes, FIRST_ADDRESS + self.allocated_bytes);
        }
    }

    fn memory(&mut self, bytes: i64, address: i64) {
        let what = What::Memory { bytes, address, allocated_bytes: self.allocated_bytes };
        self.push(what, self.thread, self.now_ns, 0, None);
    }

    /// The kernel of a collective. It has no length while its end is not known, but it is there: places in the step
    /// must not depend on what is known.
    fn collective_kernel(&mut self, index: u32, ready_ns: i64, call: usize) {
        let end_of = |place: usize| self.ends_ns.and_then(|ends_ns| ends_ns.get(place)).copied();
        let before_ns = (index as usize).checked_sub(1).and_then(end_of);
        let start_ns = ready_ns.max(before_ns.unwrap_or(ready_ns));
        let dur_ns = end_of(index as usize).map_or(0, |end_ns| end_ns - start_ns);
        self.push(What::CollectiveKernel(index), Place::CommunicationStream, start_ns, dur_ns, Some(call));
        let count = u64::from(self.job.collectives_per_step);
        let ordinal = u64::from(self.step) * count + u64::from(index);
        let elements = self.job.collective_elements(index);
        let launch_ns = self.happenings[call].start_ns;
        self.collectives.push(Collective { ordinal, index, launch_ns, start_ns, dur_ns, elements });
    }

    /// A call, and the earliest start of what it launches.
    fn launch_call(&mut self, name: &'static str) -> (usize, i64) {
        let earliest_ns = self.now_ns + LAUNCH_LATENCY_NS;
        let call_ns = self.host_ns(LAUNCH_CALL_NS);
        (self.call_until(name, self.now_ns + call_ns), earliest_ns)
    }

    fn call_until(&mut self, name: &'static str, end_ns: i64) -> usize {
        let end_ns = end_ns.max(self.now_ns + SHORT_CALL_NS);
        let operator = self.innermost(|what| matches!(what, What::Op(_) | What::CollectiveOp(_)));
        let call = self.push(What::Call(name), self.thread, self.now_ns, end_ns - self.now_ns, operator);
        self.now_ns = end_ns;
        call
    }

    fn innermost(&self, is_wanted: impl Fn(What) -> bool) -> Option<usize> {
        self.open.iter().rev().copied().find(|&index| is_wanted(self.happenings[index].what))
    }

    fn push(&mut self, what: What, place: Place, start_ns: i64, dur_ns: i64, cause: Option<usize>) -> usize {
        self.happenings.push(Happening { what, place, start_ns, dur_ns, cause });
        self.happenings.len() - 1
    }

    /// Time on the host. The same on every rank, so that a rank with slower kernels is never ahead of another.
    fn host_ns(&self, least_ns: i64) -> i64 {
        longer(least_ns, HOST_JITTER * noise(self.job.seed, [0, u64::from(self.step), self.happenings.len() as u64]))
    }

    fn kernel_ns(&self, kernel: Kernel) -> i64 {
        let place = [1 + u64::from(self.rank), u64::from(self.step), self.happenings.len() as u64];
        let slowdown = if self.job.slow_rank == Some(self.rank) { self.job.slowdown } else { 0.0 };
        longer(kernel.least_ns(self.job), slowdown + self.job.jitter * noise(self.job.seed, place))
    }
}

fn longer(least_ns: i64, share: f64) -> i64 {
    least_ns + (least_ns as f64 * share) as i64
}
