//! Plays the programs of all ranks together: an agenda of what happens next, in the order of time.
//!
//! A host works through its program and waits where a real one would: for a place in the queue of a stream, for a
//! stream, for an event, for a batch. Streams and hosts of a rank meet through launches and waits, and ranks through
//! collectives.

mod allocator;
mod loader;
mod streams;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use crate::noise::noise;

use super::parameters::{
    COLLECTIVE_LATENCY_NS, COPY_CALL_NS, EVENT_CALL_NS, GAP_NS, HAND_OFF_NS, KERNEL_NOISE, LAUNCH_CALL_NS,
    LAUNCH_LATENCY_NS, MALLOC_NS, QUEUE_LIMIT, Quantiles, STAGING_NS, SYNC_OWN_NS, SYNC_RETURN_NS,
};
use super::program::{Action, Cost, Label, Placed, Program, Stream, Thread, Work};
use super::recording::{Call, DeviceEvent, HostSpan, MemoryEvent, RankRecording};
use super::setup::{Setup, WARMUP_STEPS};
use allocator::Allocator;
use loader::Loader;
use streams::{Position, Queued, Running, StreamState, communicates};

/// What one draw at a place is for, where an action needs several.
#[derive(Clone, Copy)]
enum Draw {
    Host,
    Latency,
    Gap,
    Device,
    Return,
}

/// Something on the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A host takes up its next action.
    Host { rank: usize },
    /// A stream may be able to start something.
    Stream { rank: usize, stream: usize },
    /// Work is over, if its end did not move since.
    End { rank: usize, stream: usize, place: u64, version: u64 },
}

/// What a host waits for.
enum Wait {
    /// A place in the queue of a stream, since the start of a call.
    Slot { stream: usize, since_ns: i64 },
    /// Work on the device, in a call.
    Work { call: usize, positions: Vec<Position> },
}

struct Rank<'p> {
    program: &'p [Placed],
    next: usize,
    thread: Thread,
    step: Option<u32>,
    /// Open spans of each thread.
    open: [Vec<usize>; 2],
    wait: Option<Wait>,
    streams: [StreamState; Stream::COUNT],
    /// How far streams were filled when events were recorded.
    events: HashMap<u32, Position>,
    loader: Loader,
    allocator: Allocator,
    addresses: HashMap<u32, i64>,
    recording: RankRecording,
}

struct Machine<'p> {
    setup: &'p Setup,
    ranks: Vec<Rank<'p>>,
    /// Ranks that have arrived at each collective, by group and ordinal.
    arrived: BTreeMap<(usize, u64), Vec<(usize, usize)>>,
    agenda: BinaryHeap<Reverse<(i64, u64, Next)>>,
    entries: u64,
}

/// Plays the programs of the ranks.
pub(crate) fn play(setup: &Setup, programs: &[Program]) -> Vec<RankRecording> {
    let mut machine = Machine {
        setup,
        ranks: (0..)
            .zip(programs)
            .map(|(number, program)| Rank {
                program: &program.actions,
                next: 0,
                thread: Thread::Script,
                step: None,
                open: [Vec::new(), Vec::new()],
                wait: None,
                streams: Default::default(),
                events: HashMap::new(),
                loader: Loader::new(setup.loader, setup.seed, number),
                allocator: Allocator::default(),
                addresses: HashMap::new(),
                recording: RankRecording::default(),
            })
            .collect(),
        arrived: BTreeMap::new(),
        agenda: BinaryHeap::new(),
        entries: 0,
    };
    for rank in 0..programs.len() {
        machine.at(0, Next::Host { rank });
    }
    while let Some(Reverse((now_ns, _, next))) = machine.agenda.pop() {
        match next {
            Next::Host { rank } => machine.host(rank, now_ns),
            Next::Stream { rank, stream } => machine.start_next(rank, stream, now_ns),
            Next::End { rank, stream, place, version } => machine.end(rank, stream, place, version, now_ns),
        }
    }
    debug_assert!(machine.ranks.iter().all(|rank| rank.next == rank.program.len()), "a host waits for nothing");
    machine.ranks.into_iter().map(|rank| rank.recording).collect()
}

impl Machine<'_> {
    fn at(&mut self, time_ns: i64, next: Next) {
        self.entries += 1;
        self.agenda.push(Reverse((time_ns, self.entries, next)));
    }

    /// The host takes up actions until one takes time.
    fn host(&mut self, rank: usize, now_ns: i64) {
        while let Some(placed) = self.ranks[rank].program.get(self.ranks[rank].next) {
            if let Some(until_ns) = self.act(rank, placed, now_ns) {
                if until_ns < i64::MAX {
                    self.at(until_ns, Next::Host { rank });
                }
                return;
            }
        }
    }

    /// Does one action; gives when the next one can be taken up if that is not now, and the end of time if that is not known.
    fn act(&mut self, rank: usize, placed: &Placed, now_ns: i64) -> Option<i64> {
        let place = placed.place;
        match &placed.action {
            Action::Open(label) => self.ranks[rank].open_span(label.clone(), now_ns),
            Action::Close => self.ranks[rank].close_span(now_ns),
            Action::Work(cost) => {
                self.ranks[rank].next += 1;
                return Some(now_ns + self.host_ns(rank, place, *cost));
            }
            Action::HandOff(thread) => {
                self.ranks[rank].thread = *thread;
                self.ranks[rank].next += 1;
                return Some(now_ns + self.host_ns(rank, place, Cost::Drawn(&HAND_OFF_NS)));
            }
            Action::Launch { stream, .. } => {
                let stream = stream.index();
                if self.ranks[rank].streams[stream].waiting() >= QUEUE_LIMIT {
                    self.ranks[rank].wait = Some(Wait::Slot { stream, since_ns: now_ns });
                    return Some(i64::MAX);
                }
                return Some(self.launch(rank, now_ns, now_ns));
            }
            Action::CopyPageable { stream, work } => {
                let call = self.ranks[rank].call("cudaMemcpyAsync", now_ns, now_ns);
                let ready_ns = now_ns + self.drawn(&STAGING_NS, rank, place, Draw::Latency);
                let position = self.enqueue(rank, place, *stream, work.clone(), call, ready_ns);
                return Some(self.wait_for(rank, call, vec![position]));
            }
            Action::RecordEvent { event, stream } => {
                if let Some(position) = self.ranks[rank].latest(stream.index()) {
                    self.ranks[rank].events.insert(*event, position);
                }
                return Some(self.short_call(rank, place, "cudaEventRecord", now_ns));
            }
            Action::AwaitEvent { event, stream } => {
                let rank_state = &mut self.ranks[rank];
                if let Some(&position) = rank_state.events.get(event) {
                    rank_state.streams[stream.index()].awaits.push(position);
                }
                return Some(self.short_call(rank, place, "cudaStreamWaitEvent", now_ns));
            }
            Action::SynchronizeStream(stream) => {
                let positions = self.ranks[rank].latest(stream.index()).into_iter().collect();
                return Some(self.synchronize(rank, place, "cudaStreamSynchronize", positions, now_ns));
            }
            Action::SynchronizeEvent(event) => {
                let positions = self.ranks[rank].events.get(event).copied().into_iter().collect();
                return Some(self.synchronize(rank, place, "cudaEventSynchronize", positions, now_ns));
            }
            Action::SynchronizeDevice => {
                let positions = (0..Stream::COUNT).filter_map(|stream| self.ranks[rank].latest(stream)).collect();
                return Some(self.synchronize(rank, place, "cudaDeviceSynchronize", positions, now_ns));
            }
            Action::AwaitBatch => {
                let ready_ns = self.ranks[rank].loader.next_ready_ns();
                if ready_ns > now_ns {
                    return Some(ready_ns);
                }
                self.ranks[rank].loader.take(now_ns);
            }
            Action::Allocate { tensor, bytes } => {
                let malloc_ns = self.host_ns(rank, place, Cost::Drawn(&MALLOC_NS));
                if let Some(until_ns) = self.ranks[rank].allocate(*tensor, *bytes, now_ns, malloc_ns) {
                    self.ranks[rank].next += 1;
                    return Some(until_ns);
                }
            }
            Action::Free { tensor } => self.ranks[rank].free(*tensor, now_ns),
        }
        self.ranks[rank].next += 1;
        None
    }

    /// A call that launches the next action's work, since `since_ns`; gives its end.
    fn launch(&mut self, rank: usize, since_ns: i64, now_ns: i64) -> i64 {
        let placed = &self.ranks[rank].program[self.ranks[rank].next];
        let Action::Launch { call, stream, work } = &placed.action else { return now_ns };
        let own = if matches!(work, Work::Copy { .. }) { &COPY_CALL_NS } else { &LAUNCH_CALL_NS };
        let end_ns = now_ns + self.host_ns(rank, placed.place, Cost::Drawn(own));
        let latency_ns = self.drawn(&LAUNCH_LATENCY_NS, rank, placed.place, Draw::Latency);
        let call = self.ranks[rank].call(call, since_ns, end_ns);
        self.enqueue(rank, placed.place, *stream, work.clone(), call, end_ns.max(now_ns + latency_ns));
        self.ranks[rank].next += 1;
        end_ns
    }

    fn enqueue(&mut self, rank: usize, place: u64, stream: Stream, work: Work, call: usize, ready_ns: i64) -> Position {
        let gap_ns = self.drawn(&GAP_NS, rank, place, Draw::Gap);
        let dur_ns = self.device_ns(rank, place, &work);
        let index = stream.index();
        let rank_state = &mut self.ranks[rank];
        let after = std::mem::take(&mut rank_state.streams[index].awaits);
        let event = rank_state.recording.device.len();
        rank_state.recording.device.push(DeviceEvent {
            work: work.clone(),
            stream,
            start_ns: 0,
            end_ns: 0,
            call,
            after: after.iter().map(|&position| rank_state.event_at(position)).collect(),
            step: rank_state.step,
        });
        let state = &mut rank_state.streams[index];
        state.queue.push_back(Queued { event, work, ready_ns, gap_ns, after, dur_ns });
        state.events.push(event);
        state.launched += 1;
        let position = (index, state.launched - 1);
        self.at(ready_ns, Next::Stream { rank, stream: index });
        position
    }

    fn short_call(&mut self, rank: usize, place: u64, name: &'static str, now_ns: i64) -> i64 {
        let end_ns = now_ns + self.host_ns(rank, place, Cost::Drawn(&EVENT_CALL_NS));
        self.ranks[rank].call(name, now_ns, end_ns);
        self.ranks[rank].next += 1;
        end_ns
    }

    fn synchronize(
        &mut self,
        rank: usize,
        place: u64,
        name: &'static str,
        positions: Vec<Position>,
        now_ns: i64,
    ) -> i64 {
        let own_ns = self.host_ns(rank, place, Cost::Drawn(&SYNC_OWN_NS));
        let call = self.ranks[rank].call(name, now_ns, now_ns + own_ns);
        if self.ranks[rank].have_finished(&positions) {
            self.ranks[rank].next += 1;
            return now_ns + own_ns;
        }
        self.wait_for(rank, call, positions)
    }

    /// The host waits inside of a call, until [`Machine::end`] finds that what it waits for is over.
    fn wait_for(&mut self, rank: usize, call: usize, positions: Vec<Position>) -> i64 {
        let rank = &mut self.ranks[rank];
        rank.recording.calls[call].awaited = positions.iter().map(|&position| rank.event_at(position)).collect();
        rank.wait = Some(Wait::Work { call, positions });
        i64::MAX
    }

    /// Starts what is first in the queue of a stream, if it can start now.
    fn start_next(&mut self, rank: usize, stream: usize, now_ns: i64) {
        let rank_state = &mut self.ranks[rank];
        let state = &rank_state.streams[stream];
        let Some(first) = state.queue.front() else { return };
        if state.running.is_some() || !rank_state.have_finished(&first.after) {
            return;
        }
        let awaited_ns = first.after.iter().map(|&(stream, place)| rank_state.streams[stream].ends_ns[place as usize]);
        let before_ns = awaited_ns.chain(state.ends_ns.last().copied()).max().map(|end_ns| end_ns + first.gap_ns);
        let earliest_ns = first.ready_ns.max(before_ns.unwrap_or(first.ready_ns));
        if earliest_ns > now_ns {
            self.at(earliest_ns, Next::Stream { rank, stream });
            return;
        }
        let state = &mut rank_state.streams[stream];
        let Some(first) = state.queue.pop_front() else { return };
        rank_state.recording.device[first.event].start_ns = now_ns;
        state.running = Some(Running::new(first, now_ns));
        state.started += 1;
        let place = state.started - 1;
        if let Some(Running { work: Work::Collective(collective), .. }) = &state.running {
            let group = self.setup.groups_of(rank as u32)[collective.group];
            let (ordinal, elements) = (collective.ordinal, collective.elements);
            self.arrive(rank, stream, (group, ordinal), elements, now_ns);
        }
        self.set_pace(rank, now_ns);
        self.announce_end(rank, stream, place);
        if let Some(Wait::Slot { stream: full, since_ns }) = self.ranks[rank].wait
            && full == stream
        {
            self.ranks[rank].wait = None;
            let until_ns = self.launch(rank, since_ns, now_ns);
            self.at(until_ns, Next::Host { rank });
        }
    }

    /// A rank has arrived at a collective. When all have, the data is moved, and it ends on all of them together.
    fn arrive(&mut self, rank: usize, stream: usize, collective: (usize, u64), elements: i64, now_ns: i64) {
        let group = &self.setup.groups[collective.0];
        let arrived = self.arrived.entry(collective).or_default();
        arrived.push((rank, stream));
        let size = group.ranks.len() as i64;
        if (arrived.len() as i64) < size {
            return;
        }
        let bytes = elements * 4 * 2 * (size - 1) / size;
        let transfer_ns = COLLECTIVE_LATENCY_NS + bytes * 1_000 / group.bytes_per_us;
        let share = noise(self.setup.seed, [u64::MAX - collective.0 as u64, collective.1, Draw::Device as u64]);
        let transfer_ns = transfer_ns * KERNEL_NOISE.at(share) / 1_000;
        for (rank, stream) in self.arrived.remove(&collective).unwrap_or_default() {
            let state = &mut self.ranks[rank].streams[stream];
            let place = state.finished;
            if let Some(running) = &mut state.running {
                running.set_left(transfer_ns, now_ns);
            }
            self.announce_end(rank, stream, place);
        }
    }

    /// Kernels that compute are slower while a collective runs beside them.
    fn set_pace(&mut self, rank: usize, now_ns: i64) {
        let is_contended = communicates(&self.ranks[rank].streams);
        let stream = Stream::Compute.index();
        let state = &mut self.ranks[rank].streams[stream];
        let place = state.finished;
        if let Some(running) = &mut state.running
            && running.contend(is_contended, now_ns)
        {
            self.announce_end(rank, stream, place);
        }
    }

    fn announce_end(&mut self, rank: usize, stream: usize, place: u64) {
        let running = self.ranks[rank].streams[stream].running.as_ref();
        if let Some((end_ns, version)) = running.and_then(|running| Some((running.end_ns()?, running.version))) {
            self.at(end_ns, Next::End { rank, stream, place, version });
        }
    }

    fn end(&mut self, rank: usize, stream: usize, place: u64, version: u64, now_ns: i64) {
        let state = &mut self.ranks[rank].streams[stream];
        if place != state.finished || state.running.as_ref().is_none_or(|running| running.version != version) {
            return;
        }
        let Some(running) = state.running.take() else { return };
        state.finished += 1;
        state.ends_ns.push(now_ns);
        self.ranks[rank].recording.device[running.event].end_ns = now_ns;
        self.set_pace(rank, now_ns);
        self.wake(rank, now_ns);
        for stream in 0..Stream::COUNT {
            self.start_next(rank, stream, now_ns);
        }
    }

    /// Lets the host go on if what it waits for is over.
    fn wake(&mut self, rank: usize, now_ns: i64) {
        let rank_state = &self.ranks[rank];
        let Some(Wait::Work { call, positions }) = &rank_state.wait else { return };
        if !rank_state.have_finished(positions) {
            return;
        }
        let call = *call;
        let place = rank_state.program[rank_state.next].place;
        let end_ns = now_ns + self.drawn(&SYNC_RETURN_NS, rank, place, Draw::Return);
        let rank_state = &mut self.ranks[rank];
        rank_state.recording.calls[call].end_ns = end_ns;
        rank_state.wait = None;
        rank_state.next += 1;
        self.at(end_ns, Next::Host { rank });
    }

    /// Time on the host.
    fn host_ns(&self, rank: usize, place: u64, cost: Cost) -> i64 {
        let dur_ns = match cost {
            Cost::Drawn(quantiles) => self.drawn(quantiles, rank, place, Draw::Host),
            Cost::About(dur_ns) => dur_ns * self.drawn(&KERNEL_NOISE, rank, place, Draw::Host) / 1_000,
        };
        (dur_ns as f64 * self.setup.host_scale) as i64
    }

    /// Time on the device.
    fn device_ns(&self, rank: usize, place: u64, work: &Work) -> i64 {
        let (dur_ns, slower) = match work {
            Work::Kernel(kernel) => {
                let slow = self.setup.slow_rank.filter(|slow| slow.0 as usize == rank);
                (kernel.dur_ns, slow.map_or(1.0, |slow| slow.1))
            }
            Work::Copy { dur_ns, .. } => (*dur_ns, 1.0),
            Work::Collective(_) => (0, 1.0),
        };
        let noisy_ns = dur_ns * self.drawn(&KERNEL_NOISE, rank, place, Draw::Device) / 1_000;
        (noisy_ns as f64 * slower) as i64
    }

    fn drawn(&self, quantiles: &Quantiles, rank: usize, place: u64, draw: Draw) -> i64 {
        quantiles.at(noise(self.setup.seed, [rank as u64, place, draw as u64]))
    }
}

impl Rank<'_> {
    fn open_span(&mut self, label: Label, now_ns: i64) {
        if let Label::Step(number) = label {
            self.step = Some(number);
            if number == WARMUP_STEPS {
                self.recording.recorded_from_ns = now_ns;
            }
        }
        self.open[self.thread as usize].push(self.recording.spans.len());
        self.recording.spans.push(HostSpan { label, thread: self.thread, start_ns: now_ns, end_ns: now_ns });
    }

    fn close_span(&mut self, now_ns: i64) {
        if let Some(span) = self.open[self.thread as usize].pop() {
            let span = &mut self.recording.spans[span];
            span.end_ns = now_ns;
            if matches!(span.label, Label::Step(_)) {
                self.step = None;
            }
        }
    }

    fn call(&mut self, name: &'static str, start_ns: i64, end_ns: i64) -> usize {
        let is_op = |&span: &usize| matches!(self.recording.spans[span].label, Label::Op(_) | Label::Collective(_));
        let op = self.open[self.thread as usize].iter().rev().copied().find(is_op);
        self.recording.calls.push(Call { name, thread: self.thread, start_ns, end_ns, op, awaited: Vec::new() });
        self.recording.calls.len() - 1
    }

    /// Memory for a tensor; gives when the host can go on, if it had to ask the device.
    fn allocate(&mut self, tensor: u32, bytes: i64, now_ns: i64, malloc_ns: i64) -> Option<i64> {
        let handed = self.allocator.allocate(bytes);
        self.addresses.insert(tensor, handed.address);
        let at_ns = if handed.is_new { now_ns + malloc_ns } else { now_ns };
        if handed.is_new {
            self.call("cudaMalloc", now_ns, at_ns);
        }
        self.note_memory(handed.bytes, handed.address, at_ns);
        handed.is_new.then_some(at_ns)
    }

    fn free(&mut self, tensor: u32, now_ns: i64) {
        if let Some(address) = self.addresses.remove(&tensor) {
            let bytes = self.allocator.free(address);
            self.note_memory(-bytes, address, now_ns);
        }
    }

    fn note_memory(&mut self, bytes: i64, address: i64, at_ns: i64) {
        self.recording.memory.push(MemoryEvent {
            at_ns,
            thread: self.thread,
            bytes,
            address,
            allocated_bytes: self.allocator.allocated_bytes,
            reserved_bytes: self.allocator.reserved_bytes,
        });
    }

    /// What was launched last on a stream.
    fn latest(&self, stream: usize) -> Option<Position> {
        Some((stream, self.streams[stream].launched.checked_sub(1)?))
    }

    fn event_at(&self, (stream, place): Position) -> usize {
        self.streams[stream].events[place as usize]
    }

    fn have_finished(&self, positions: &[Position]) -> bool {
        positions.iter().all(|&(stream, place)| self.streams[stream].has_finished(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::program::Kernel;

    fn kernel(dur_ns: i64) -> Work {
        Work::Kernel(Kernel { name: "k", dur_ns, grid: 1, block: 1 })
    }

    fn launch(program: &mut Program, dur_ns: i64) {
        program.push(Action::Launch { call: "cudaLaunchKernel", stream: Stream::Compute, work: kernel(dur_ns) });
    }

    fn play_alone(write: impl FnOnce(&mut Program)) -> RankRecording {
        let mut program = Program::new();
        write(&mut program);
        play(&Setup::draw(1, &[], &[]), &[program]).remove(0)
    }

    #[test]
    fn a_launch_waits_for_a_place_in_a_full_queue() {
        let recording = play_alone(|program| (0..1_400).for_each(|_| launch(program, 50_000)));
        let (calls, device) = (&recording.calls, &recording.device);
        let in_queue_at = |at_ns: i64| {
            let launched = calls.iter().filter(|call| call.start_ns <= at_ns).count();
            launched - device.iter().filter(|event| event.start_ns <= at_ns).count()
        };
        let longest = calls.iter().map(|call| in_queue_at(call.start_ns)).max();
        assert_eq!(longest, Some(QUEUE_LIMIT as usize + 1), "those in the queue, and the one that waits for a place");
        let waited: Vec<_> = calls.iter().filter(|call| call.end_ns - call.start_ns > 30_000).collect();
        assert!(!waited.is_empty());
        for call in waited {
            assert!(device.iter().any(|event| event.start_ns > call.start_ns && event.start_ns < call.end_ns));
        }
    }

    #[test]
    fn a_synchronization_ends_after_what_it_waits_for_and_is_short_if_that_is_over() {
        let recording = play_alone(|program| {
            launch(program, 500_000);
            program.push(Action::SynchronizeStream(Stream::Compute));
            program.push(Action::SynchronizeDevice);
        });
        let [_, waits, is_over] = &recording.calls[..] else { panic!("{:?}", recording.calls) };
        assert_eq!(waits.awaited, [0]);
        assert!(waits.end_ns > recording.device[0].end_ns);
        assert!(is_over.awaited.is_empty() && is_over.end_ns - is_over.start_ns < 10_000);
    }

    #[test]
    fn a_pageable_copy_blocks_until_it_is_over() {
        let copy = Work::Copy { name: "Memcpy HtoD (Pageable -> Device)", bytes: 1, dur_ns: 300_000 };
        let recording = play_alone(|program| {
            launch(program, 400_000);
            program.push(Action::CopyPageable { stream: Stream::Compute, work: copy });
            launch(program, 1_000);
        });
        let (calls, device) = (&recording.calls, &recording.device);
        assert!(device[1].start_ns > device[0].end_ns, "in the order of the stream");
        assert!(calls[1].end_ns > device[1].end_ns);
        assert!(calls[2].start_ns >= calls[1].end_ns);
    }

    #[test]
    fn a_stream_waits_for_an_event_of_another() {
        let mut setup = Setup::draw(1, &[], &[]);
        setup.groups = vec![crate::faults::setup::Group { name: "0", ranks: vec![0], bytes_per_us: 1_000 }];
        let mut program = Program::new();
        launch(&mut program, 300_000);
        let event = program.record_event(Stream::Compute);
        program.push(Action::AwaitEvent { event, stream: Stream::Communication(0) });
        program.push(Action::Launch {
            call: "cudaLaunchKernelExC",
            stream: Stream::Communication(0),
            work: kernel(50_000),
        });
        launch(&mut program, 1_000);
        let recording = play(&setup, &[program]).remove(0);
        let [first, other, third] = &recording.device[..] else { panic!() };
        assert_eq!(other.after, [0]);
        assert!(other.start_ns > first.end_ns && third.start_ns < other.end_ns);
    }
}
