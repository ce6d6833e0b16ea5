//! What the steps of a replayed rank show: what is on the critical path, what held each point in time, and the spans and
//! events that changes are about.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use stepscope_model::{Kind, step_numbers};
use stepscope_replay::recording::{DeviceEvent, HostSpan, Recording};
use stepscope_replay::{
    EdgeKind, Gap, Hold, NameId, NameSet, PathClass, Piece, PieceSubject, Selection, StepModel, StepPath,
};
use stepscope_rules::{LEAST_RUN, SMALL_COLLECTIVE_BYTES, WindowStep};

use super::names;
use crate::step_model::ModeledSteps;
use crate::tensor_cores::is_eligible;

/// What was found, step by step, and what it was found in, by places.
#[derive(Default)]
pub(super) struct Evidence {
    /// The steps that are asked about.
    pub steps: Vec<WindowStep>,
    /// Calls that waited for the device, without the last one of each step.
    pub repeated_waits: Vec<u32>,
    /// Calls that waited for a value that is read on the host.
    pub scalar_reads: Vec<u32>,
    /// The operators around them that do nothing but read it.
    pub scalar_operators: Vec<u32>,
    /// Elementwise kernels and reductions that follow each other in a step.
    pub fusible_runs: Vec<Vec<u32>>,
    /// Calls that take memory from the runtime or give it back.
    pub allocator_calls: Vec<u32>,
    /// Spans that compile or load code.
    pub compiles: Vec<u32>,
    /// Copies on the device, and kernels that cast.
    pub redundant: Vec<u32>,
    /// Work that takes longer with a larger batch: copies to the device, and kernels that fill it, without the optimizer.
    pub grows_with_batch: Vec<u32>,
    /// Annotations of loaders, in the first step of an epoch.
    pub first_batches: Vec<u32>,
    /// Where the script pauses, with how long it takes there usually.
    pub pauses: Vec<Gap>,
    /// Runtime calls in which the profiler worked for itself, with their lengths without that.
    pub with_overhead: Vec<(u32, i64)>,
}

/// What the store says about events and operators beside the recording, by the numbers of their spans.
#[derive(Default)]
pub(super) struct Details {
    /// Blocks per multiprocessor of kernels that have less than one.
    pub blocks_per_sm: HashMap<i64, f64>,
    /// Bytes of collectives, where they are known.
    pub collective_bytes: HashMap<i64, i64>,
    /// What the profiler took for itself: start and length, in the order of their starts.
    pub overheads: Vec<(i64, i64)>,
    /// Whether the inputs of operators that tensor cores can do are fp32, where it is known.
    pub is_float: HashMap<i64, bool>,
}

/// Host time that a faster host, or fewer launches, would shorten.
const HOST: [PathClass; 4] = [PathClass::CpuExec, PathClass::Runtime, PathClass::Other, PathClass::LaunchDelay];
/// Steps of a recording that are warm-up.
const WARM_UP: usize = 2;
/// The script pauses if it is outside of operators for this long, and for so many times the median at that place.
const PAUSE_NS: i64 = 1_000_000;
const PAUSE_RATIO: i64 = 10;
/// Calls before a moment that may be around it.
const NEAR_CALLS: usize = 8;

impl Evidence {
    pub(super) fn of(steps: &ModeledSteps, details: &Details) -> Self {
        let mut looking = Looking::new(steps.model(), details);
        looking.add_kernels();
        looking.add_runs();
        looking.add_host_spans();
        looking.add_holds();
        looking.add_overheads();
        let paths = looking.model.paths();
        looking.add_pauses(&paths);
        looking.add_paths(&paths);
        let mut found = looking.found;
        found.steps = found.steps[steps.asked.clone()].to_vec();
        found
    }
}

/// A model that is looked at.
struct Looking<'a> {
    model: &'a StepModel,
    recording: &'a Recording,
    details: &'a Details,
    /// Steps of the optimizer: when they begin and end.
    optimizer: Vec<(i64, i64)>,
    found: Evidence,
}

impl<'a> Looking<'a> {
    fn new(model: &'a StepModel, details: &'a Details) -> Self {
        let recording = model.recording();
        let first = recording.window.steps.start;
        let numbers = step_numbers(recording.steps.iter().map(|step| step.name.as_str()));
        let begins_epoch = |place: usize| match place.checked_sub(1) {
            Some(before) => numbers[place] > numbers[before] + 1,
            None => numbers[place] == 0,
        };
        let step = |place: usize| WindowStep {
            rank: recording.rank,
            is_warm: first + place >= WARM_UP,
            begins_epoch: begins_epoch(first + place),
            ..WindowStep::default()
        };
        let steps = (0..model.steps().len()).map(step).collect();
        let named = recording.names.that(|name| name.starts_with("Optimizer.step"));
        let optimizer = recording.spans.iter().filter(|span| named.has(span.name) && span.kind == Kind::Annotation);
        let mut optimizer: Vec<(i64, i64)> = optimizer.map(|span| (span.start_ns, span.end_ns())).collect();
        optimizer.sort_unstable();
        Self { model, recording, details, optimizer, found: Evidence { steps, ..Evidence::default() } }
    }

    /// The place of the step in which something begins on the host.
    fn step_at(&self, time_ns: i64) -> Option<usize> {
        let steps = self.model.steps();
        let place = steps.partition_point(|step| step.host_start_ns <= time_ns).checked_sub(1)?;
        (time_ns <= steps[place].host_end_ns()).then_some(place)
    }

    /// When an event was launched, else when it began.
    fn launched_ns(&self, event: &DeviceEvent) -> i64 {
        self.recording.launch_of(event).map_or(event.start_ns, |call| call.start_ns)
    }

    /// The place of the step that launched an event.
    fn step_of(&self, event: &DeviceEvent) -> Option<usize> {
        self.step_at(self.launched_ns(event))
    }

    fn event(&self, place: u32) -> &'a DeviceEvent {
        &self.recording.events[place as usize]
    }

    fn is_in_optimizer(&self, time_ns: i64) -> bool {
        let place = self.optimizer.partition_point(|(start_ns, _)| *start_ns <= time_ns);
        place > 0 && time_ns < self.optimizer[place - 1].1
    }

    /// Whether a span, or one around it, has one of the names.
    fn is_in(&self, span: u32, named: &NameSet) -> bool {
        self.model.around(span).any(|place| named.has(self.recording.spans[place as usize].name))
    }

    /// Adds what the kernels and copies of each step are.
    fn add_kernels(&mut self) {
        let mut hashers: Vec<DefaultHasher> = vec![DefaultHasher::new(); self.found.steps.len()];
        let names = &self.recording.names;
        let (copies, casts) = (names.that(names::is_copy_on_device), names.that(names::is_cast));
        let (eligible, to_device) = (names.that(is_eligible), names.that(|name| name.contains("HtoD")));
        // In the order in which they were launched, so that equal steps have equal sequences.
        let launched = self.recording.events.iter().enumerate().map(|(place, event)| (self.launched_ns(event), place));
        let in_steps = launched.filter_map(|(time_ns, place)| Some((time_ns, place as u32, self.step_at(time_ns)?)));
        let mut in_steps: Vec<(i64, u32, usize)> = in_steps.collect();
        in_steps.sort_unstable();
        for (launched_ns, place, number) in in_steps {
            let event = self.event(place);
            let is_cast = event.operator.is_some_and(|operator| self.is_in(operator, &casts));
            let is_redundant = if event.kind == Kind::Memcpy { copies.has(event.name) } else { is_cast };
            let is_in_optimizer = self.is_in_optimizer(launched_ns);
            let is_small = self.is_small_collective(event);
            let step = &mut self.found.steps[number];
            step.small_collectives += usize::from(is_small);
            step.optimizer_launches += usize::from(is_in_optimizer && event.launch.is_some());
            if is_redundant && !event.is_communication {
                step.redundant += 1;
                self.found.redundant.push(place);
            }
            let fills_device = event.kind == Kind::Kernel && !self.details.blocks_per_sm.contains_key(&event.span_id);
            let is_input = event.kind == Kind::Memcpy && to_device.has(event.name);
            if (fills_device || is_input) && !event.is_communication && !is_in_optimizer {
                self.found.grows_with_batch.push(place);
            }
            if event.kind != Kind::Kernel || event.is_communication {
                continue;
            }
            step.kernels += 1;
            step.kernel_ns += event.dur_ns;
            event.name.hash(&mut hashers[number]);
            let operator = event.operator.map(|operator| &self.recording.spans[operator as usize]);
            let of_eligible = operator.filter(|operator| eligible.has(operator.name));
            if let Some(is_float) = of_eligible.and_then(|operator| self.details.is_float.get(&operator.span_id)) {
                step.eligible_ns += event.dur_ns;
                step.float_ns += if *is_float { event.dur_ns } else { 0 };
            }
        }
        for (step, hasher) in self.found.steps.iter_mut().zip(hashers) {
            step.sequence = hasher.finish();
        }
    }

    fn is_small_collective(&self, event: &DeviceEvent) -> bool {
        let bytes = self.details.collective_bytes.get(&event.span_id);
        bytes.is_some_and(|bytes| *bytes < SMALL_COLLECTIVE_BYTES)
    }

    /// Adds kernels that a compiler would fuse.
    fn add_runs(&mut self) {
        let named = self.recording.names.that(names::is_fusible);
        let is_meant =
            |event: &DeviceEvent| event.kind == Kind::Kernel && !event.is_communication && named.has(event.name);
        let runs = self.model.runs_of(&Selection::of_events(self.recording, is_meant));
        let of_one_step = |a: &u32, b: &u32| self.step_of(self.event(*a)) == self.step_of(self.event(*b));
        let of_steps = runs.iter().flat_map(|run| run.chunk_by(of_one_step));
        let runs: Vec<Vec<u32>> = of_steps.filter(|run| run.len() >= LEAST_RUN).map(<[u32]>::to_vec).collect();
        for &place in runs.iter().flatten() {
            let event = self.event(place);
            if let Some(place) = self.step_of(event) {
                self.found.steps[place].fusible += 1;
                self.found.steps[place].fusible_ns += event.dur_ns;
            }
        }
        self.found.fusible_runs = runs;
    }

    /// Adds calls and spans of the host that have no place in a loop.
    fn add_host_spans(&mut self) {
        let allocators = self.recording.names.that(names::is_allocator_call);
        let compiling = self.recording.names.that(names::is_compiling);
        let recording = self.recording;
        let calls = spans_named(recording, &allocators, |span| span.kind == Kind::Runtime);
        let is_outermost = |place: &u32| {
            let mut around = self.model.around(*place).skip(1);
            !around.any(|place| compiling.has(recording.spans[place as usize].name))
        };
        let compiles = spans_named(recording, &compiling, |_| true).into_iter().filter(is_outermost);
        let compiles: Vec<u32> = compiles.collect();
        for span in calls.iter().map(|&place| &recording.spans[place as usize]) {
            if let Some(place) = self.step_at(span.start_ns) {
                self.found.steps[place].allocator_calls += 1;
                self.found.steps[place].allocator_ns += span.dur_ns;
            }
        }
        for span in compiles.iter().map(|&place| &recording.spans[place as usize]) {
            if let Some(place) = self.step_at(span.start_ns) {
                self.found.steps[place].compiles += 1;
                self.found.steps[place].compile_ns += span.dur_ns;
            }
        }
        (self.found.allocator_calls, self.found.compiles) = (calls, compiles);
        let loaders = self.recording.names.that(names::is_loader);
        let annotations = spans_named(recording, &loaders, |span| span.kind == Kind::Annotation);
        for span in annotations.iter().map(|&place| &recording.spans[place as usize]) {
            if let Some(place) = self.step_at(span.start_ns) {
                self.found.steps[place].loader_wait_ns += span.dur_ns;
            }
        }
        let in_first_step = |place: &u32| {
            let step = self.step_at(recording.spans[*place as usize].start_ns);
            step.is_some_and(|step| self.found.steps[step].begins_epoch)
        };
        self.found.first_batches = annotations.into_iter().filter(in_first_step).collect();
    }

    /// Adds what the profiler did for itself, and the calls in which it did that.
    fn add_overheads(&mut self) {
        let spans = self.recording.spans.iter().enumerate();
        let mut calls: Vec<(i64, u32)> = spans
            .filter(|(_, span)| span.kind == Kind::Runtime)
            .map(|(place, span)| (span.start_ns, place as u32))
            .collect();
        calls.sort_unstable();
        let mut taken_ns: HashMap<u32, i64> = HashMap::new();
        for &(start_ns, dur_ns) in &self.details.overheads {
            if let Some(place) = self.step_at(start_ns) {
                self.found.steps[place].overhead_ns += dur_ns;
            }
            let before = calls.partition_point(|(call_ns, _)| *call_ns <= start_ns);
            // Calls of several threads may be open: the last to begin is the one that it is in.
            let is_around = |place: &u32| self.recording.spans[*place as usize].end_ns() >= start_ns + dur_ns;
            let call = calls[..before].iter().rev().take(NEAR_CALLS).map(|(_, place)| *place).find(is_around);
            if let Some(place) = call {
                *taken_ns.entry(place).or_default() += dur_ns;
            }
        }
        let rest = |(place, taken_ns): (u32, i64)| (place, self.recording.spans[place as usize].dur_ns - taken_ns);
        self.found.with_overhead = taken_ns.into_iter().map(rest).filter(|(_, rest_ns)| *rest_ns >= 0).collect();
        self.found.with_overhead.sort_unstable();
    }

    /// Adds the times on the paths that the script did nothing for much longer than usual between the same two points.
    fn add_pauses(&mut self, paths: &[StepPath]) {
        let is_python = |class: PathClass| matches!(class, PathClass::Other | PathClass::CpuExec | PathClass::Handoff);
        let pieces = paths.iter().flat_map(|path| &path.pieces);
        let on_path: HashSet<i64> = pieces.filter(|piece| is_python(piece.class)).map(|piece| piece.end_ns).collect();
        let compiled = self.recording.names.that(|name| name.starts_with("Torch-Compiled Region"));
        let mut at_places: HashMap<(NameId, NameId, bool), Vec<(u32, Hold)>> = HashMap::new();
        for hold in self.model.holds() {
            let is_gap = match hold.kind {
                // Python runs between operators, and inside compiled regions.
                EdgeKind::Order => {
                    let is_compiled = |owner: u32| compiled.has(self.recording.spans[owner as usize].name);
                    hold.class == PathClass::Other || hold.owner.is_some_and(is_compiled)
                }
                kind => kind == EdgeKind::Handoff,
            };
            if let (true, PieceSubject::Span(of), PieceSubject::Span(by)) = (is_gap, hold.of, hold.by) {
                let name = |place: u32| self.recording.spans[place as usize].name;
                at_places.entry((name(by), name(of), hold.is_start)).or_default().push((of, hold));
            }
        }
        for (_, mut holds) in at_places {
            holds.sort_unstable_by_key(|(_, hold)| (hold.lag_ns, hold.time_ns));
            let length_ns = holds[(holds.len() - 1) / 2].1.lag_ns;
            for (span, hold) in holds {
                let is_long = hold.lag_ns >= PAUSE_NS && hold.lag_ns >= PAUSE_RATIO * length_ns;
                let step = self.step_at(hold.time_ns).filter(|_| is_long && on_path.contains(&hold.time_ns));
                if let Some(step) = step {
                    self.found.steps[step].pauses += 1;
                    self.found.steps[step].pause_ns += hold.lag_ns - length_ns;
                    self.found.pauses.push(Gap { span, is_start: hold.is_start, length_ns });
                }
            }
        }
    }

    /// Adds what held device events, and calls that waited.
    fn add_holds(&mut self) {
        let reads = self.recording.names.that(names::is_scalar_read);
        let items = self.recording.names.that(names::is_item);
        let blocking = self.recording.names.that(names::is_pinned_copy_to_device);
        let mut waits: Vec<Vec<u32>> = vec![Vec::new(); self.found.steps.len()];
        for hold in self.model.holds() {
            match (hold.of, hold.is_start, hold.kind, hold.by) {
                (PieceSubject::Event(place), true, kind, _) => {
                    let Some(number) = self.step_of(self.event(place)) else { continue };
                    self.found.steps[number].device_starts += 1;
                    self.found.steps[number].starts_by_launch += usize::from(kind == EdgeKind::Launch);
                }
                (PieceSubject::Span(call), false, EdgeKind::Sync, PieceSubject::Event(awaited)) => {
                    let (span, awaited) = (&self.recording.spans[call as usize], self.event(awaited));
                    let Some(number) = self.step_at(span.start_ns) else { continue };
                    // What ended before the call was not waited for.
                    if awaited.end_ns() <= span.start_ns {
                        continue;
                    }
                    let is_read = self.is_in(call, &reads);
                    let step = &mut self.found.steps[number];
                    step.waits += 1;
                    waits[number].push(call);
                    if is_read {
                        step.scalar_reads += 1;
                        step.scalar_read_ns += span.dur_ns;
                        self.found.scalar_reads.push(call);
                        let around = self
                            .model
                            .around(call)
                            .filter(|place| items.has(self.recording.spans[*place as usize].name));
                        self.found.scalar_operators.extend(around.last());
                    }
                    if blocking.has(awaited.name) {
                        step.blocking_copies += 1;
                        step.blocking_copy_ns += span.dur_ns;
                    }
                }
                _ => {}
            }
        }
        for calls in &mut waits {
            calls.sort_unstable_by_key(|call| self.recording.spans[*call as usize].start_ns);
            calls.pop();
        }
        self.found.repeated_waits = waits.concat();
    }

    /// Adds what is on the critical path of each step.
    fn add_paths(&mut self, paths: &[StepPath]) {
        let fusible: HashSet<u32> = self.found.fusible_runs.iter().flatten().copied().collect();
        let redundant: HashSet<u32> = self.found.redundant.iter().copied().collect();
        for (number, path) in paths.iter().enumerate() {
            let of = |class: PathClass| path.classes_ns[class as usize];
            let mut step = std::mem::take(&mut self.found.steps[number]);
            step.dur_ns = path.classes_ns.iter().sum();
            step.loader_ns = of(PathClass::Dataloader);
            step.communication_ns = of(PathClass::Communication);
            step.other_ns = of(PathClass::Other);
            step.host_ns = HOST.into_iter().map(of).sum();
            for piece in &path.pieces {
                let PieceSubject::Event(place) = piece.subject else {
                    step.optimizer_ns += self.optimizer_ns(piece);
                    continue;
                };
                if piece.class == PathClass::Communication && self.is_small_collective(self.event(place)) {
                    step.small_collective_ns += piece.dur_ns();
                }
                let is_work = matches!(piece.class, PathClass::Kernel | PathClass::Memcpy);
                let length_if = |is_so: bool| if is_work && is_so { piece.dur_ns() } else { 0 };
                let span_id = self.event(place).span_id;
                step.fusible_path_ns += length_if(fusible.contains(&place));
                step.redundant_ns += length_if(redundant.contains(&place));
                step.low_occupancy_ns += length_if(self.details.blocks_per_sm.contains_key(&span_id));
            }
            self.found.steps[number] = step;
        }
    }

    /// The time of a piece of host work that is inside a step of the optimizer.
    fn optimizer_ns(&self, piece: &Piece) -> i64 {
        if HOST.contains(&piece.class) && self.is_in_optimizer(piece.start_ns) { piece.dur_ns() } else { 0 }
    }
}

/// Host spans of some names, by their places.
pub(super) fn spans_named(recording: &Recording, named: &NameSet, fits: impl Fn(&HostSpan) -> bool) -> Vec<u32> {
    let spans = recording.spans.iter().enumerate();
    spans.filter(|(_, span)| named.has(span.name) && fits(span)).map(|(place, _)| place as u32).collect()
}
