//! One run of a comparison: what the steps of its window consist of.

use std::collections::BTreeMap;

use stepscope_model::tables::MEMORY_EVENTS;
use stepscope_model::{Sentence, SourceRecord, StepSource, say};
use stepscope_replay::recording::{DeviceEvent, Recording};
use stepscope_replay::{PathClass, PieceSubject, Step};
use stepscope_runs::RunError;

use crate::asking::NO_OPERATOR;
use crate::step_model::ModeledSteps;
use crate::{Asking, memory, modules};

/// The steps of a window, and what they consist of.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub step_source: StepSource,
    pub steps: Vec<Step>,
    /// Length of each step.
    pub steps_ns: Vec<i64>,
    /// Time on the critical path, by class and name.
    pub path: BTreeMap<(PathClass, String), PerStep>,
    /// By name; device work without an operator is under a name of its own.
    pub operators: BTreeMap<String, Operator>,
    /// Spans of operators, by name and shapes of inputs as recorded.
    pub shapes: BTreeMap<(String, Option<String>), i64>,
    /// Kernels, copies and fills, by operator and name.
    pub kernels: BTreeMap<(String, String), Kernel>,
    /// By the path from the root.
    pub modules: BTreeMap<String, Module>,
    /// By collective, process group and bytes.
    pub collectives: BTreeMap<Collective, Kernel>,
    /// Peak memory in the window by device, and whether that is what was in use, not just how much it grew.
    pub memory: BTreeMap<String, (i64, bool)>,
    /// What the comparison is about, where a run has more.
    pub limits: Vec<Sentence>,
}

/// Collective, process group, bytes of a message.
pub(super) type Collective = (String, Option<String>, Option<i64>);

/// Steps, and what holds them up.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathOfSteps {
    /// Length of each step.
    pub steps_ns: Vec<i64>,
    /// Time on the critical path, by class and name.
    pub rows: BTreeMap<(PathClass, String), PerStep>,
}

impl From<PathOfSteps> for Side {
    /// A side of which only the path is known.
    fn from(path: PathOfSteps) -> Self {
        Self { steps_ns: path.steps_ns, path: path.rows, ..Self::default() }
    }
}

/// A value of each step, and their sum with what lies between the marks of two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerStep {
    pub values: Vec<i64>,
    pub total: i64,
}

impl PerStep {
    pub(crate) fn new(steps: usize) -> Self {
        Self { values: vec![0; steps], total: 0 }
    }

    pub(crate) fn add(&mut self, step: Option<usize>, value: i64) {
        self.total += value;
        if let Some(sum) = step.and_then(|step| self.values.get_mut(step)) {
            *sum += value;
        }
    }
}

/// What an operator adds to the steps.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub spans: PerStep,
    pub host_self_ns: PerStep,
    pub device_self_ns: PerStep,
    /// Its device work on the critical path.
    pub on_path_ns: PerStep,
    /// Device time by stream.
    pub streams: BTreeMap<(Option<i64>, Option<i64>), i64>,
}

impl Operator {
    /// The stream with most of its device work.
    pub(super) fn stream(&self) -> Option<i64> {
        let longest = self.streams.iter().max_by_key(|(_, time_ns)| **time_ns);
        longest.and_then(|((_, stream), _)| *stream)
    }
}

/// What a module adds to them, with the modules inside it.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub device_ns: PerStep,
    pub host_ns: PerStep,
}

/// What a kernel, copy or fill adds to them.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub count: PerStep,
    pub total_ns: PerStep,
}

impl Side {
    /// The side of the first recording that is asked about; the reason if it has no path.
    pub(super) fn of(asking: &Asking<'_>) -> Result<Result<Self, &'static str>, RunError> {
        let modeled = asking.first_model()?;
        match modeled.steps {
            Ok(steps) => Ok(Ok(Self::of_steps(asking, modeled.source, &steps)?)),
            Err(reason) => Ok(Err(reason)),
        }
    }

    fn of_steps(asking: &Asking<'_>, source: &SourceRecord, steps: &ModeledSteps) -> Result<Self, RunError> {
        let mut side = Self {
            step_source: source.step_source,
            steps: steps.steps().to_vec(),
            steps_ns: steps.steps().iter().map(|step| step.dur_ns).collect(),
            limits: steps.limits(),
            ..Self::default()
        };
        if asking.sources.len() > 1 {
            let (rank, all) = (source.id.rank.to_string(), say::counted(asking.sources.len(), "trace"));
            side.limits.push(say!("rank {}, one of {}", rank, all));
        }
        side.add_operators(asking, source, steps)?;
        side.add_device_work(steps);
        side.add_path(steps);
        side.add_of_window(asking, source, steps)?;
        Ok(side)
    }

    /// Modules, collectives and memory, as their analyses count them, of the steps of the window.
    fn add_of_window(
        &mut self,
        asking: &Asking<'_>,
        source: &SourceRecord,
        steps: &ModeledSteps,
    ) -> Result<(), RunError> {
        let (first, count) = (steps.first(), self.steps_ns.len());
        let Some(question) = steps.question(asking, source, &["path", "step"])? else { return Ok(()) };
        let asking = Asking::of(asking.open, &question)?;
        let place = |step: Option<i64>| step.map(|step| step as usize - first);
        for (group, sums) in modules::read(&asking)?.modules {
            let new = || Module { device_ns: PerStep::new(count), host_ns: PerStep::new(count) };
            let module = self.modules.entry(group.name).or_insert_with(new);
            module.device_ns.add(place(group.step), sums.device_total_ns);
            module.host_ns.add(place(group.step), sums.host_total_ns);
        }
        self.add_collectives(&asking, place)?;
        if asking.has_rows(&MEMORY_EVENTS) {
            let peak = |device: memory::Device| (device.name, (device.peak_bytes, device.is_absolute));
            self.memory = memory::peaks(&asking)?.into_iter().map(peak).collect();
        }
        Ok(())
    }

    fn add_collectives(
        &mut self,
        asking: &Asking<'_>,
        place: impl Fn(Option<i64>) -> Option<usize>,
    ) -> Result<(), RunError> {
        let rows = asking.query(
            "SELECT step, collective, process_group, message_bytes, count(*) AS events, sum(dur_ns) AS dur_ns
             FROM collectives WHERE {events} GROUP BY ALL",
        )?;
        let (steps, bytes) = (rows.i64("step")?, rows.i64("message_bytes")?);
        let (events, times) = (rows.required_i64("events")?, rows.required_i64("dur_ns")?);
        let groups = rows.text("process_group")?;
        for (row, name) in rows.text("collective")?.into_iter().enumerate() {
            let key = (name.unwrap_or_default(), groups[row].clone(), bytes[row]);
            let count = self.steps_ns.len();
            let new = || Kernel { count: PerStep::new(count), total_ns: PerStep::new(count) };
            let sums = self.collectives.entry(key).or_insert_with(new);
            sums.count.add(place(steps[row]), events[row]);
            sums.total_ns.add(place(steps[row]), times[row]);
        }
        Ok(())
    }

    fn add_path(&mut self, steps: &ModeledSteps) {
        let (model, count) = (steps.model(), self.steps_ns.len());
        for (step, path) in model.paths()[steps.asked.clone()].iter().enumerate() {
            for piece in &path.pieces {
                let recording = model.recording();
                let key = (piece.class, piece.row_name(recording).to_owned());
                self.path.entry(key).or_insert_with(|| PerStep::new(count)).add(Some(step), piece.dur_ns());
                if let PieceSubject::Event(place) = piece.subject
                    && piece.class.is_device_work()
                {
                    let name = operator_of(&recording.events[place as usize], recording);
                    if let Some(operator) = self.operators.get_mut(&name) {
                        operator.on_path_ns.add(Some(step), piece.dur_ns());
                    }
                }
            }
        }
    }

    /// Spans, their own time and their shapes.
    fn add_operators(
        &mut self,
        asking: &Asking<'_>,
        source: &SourceRecord,
        steps: &ModeledSteps,
    ) -> Result<(), RunError> {
        let first = steps.first();
        let of_window = format!(
            "rank = {} AND \"window\" = {} AND kind = 'op' AND step >= {first} AND step < {}",
            source.id.rank,
            source.id.window,
            first + steps.asked.len()
        );
        let statement = format!(
            "SELECT step, name, input_dims, count(*) AS spans, sum(self_ns) AS self_ns FROM spans
             WHERE {of_window} GROUP BY step, name, input_dims"
        );
        asking.walk(&statement, |frame| {
            let column = |name: &str| frame.required_i64(name);
            let (places, spans, own) = (column("step")?, column("spans")?, column("self_ns")?);
            let shapes = frame.text("input_dims")?;
            for ((row, name), shape) in frame.text("name")?.into_iter().enumerate().zip(shapes) {
                let (name, step) = (name.unwrap_or_default(), Some(places[row] as usize - first));
                *self.shapes.entry((name.clone(), shape)).or_default() += spans[row];
                let operator = self.operator(name);
                operator.spans.add(step, spans[row]);
                operator.host_self_ns.add(step, own[row]);
            }
            Ok(())
        })
    }

    /// Kernels, copies and fills of the window, and the operators that launched them.
    fn add_device_work(&mut self, steps: &ModeledSteps) {
        let (model, count) = (steps.model(), self.steps_ns.len());
        let recording = model.recording();
        for event in model.events() {
            let step = step_of(event, recording, steps.steps());
            let name = operator_of(event, recording);
            let operator = self.operator(name.clone());
            operator.device_self_ns.add(step, event.dur_ns);
            let stream = recording.streams[event.stream as usize];
            *operator.streams.entry((stream.device_id, stream.stream_id)).or_default() += event.dur_ns;
            let key = (name, recording.names.text(event.name).to_owned());
            let new = || Kernel { count: PerStep::new(count), total_ns: PerStep::new(count) };
            let kernel = self.kernels.entry(key).or_insert_with(new);
            kernel.count.add(step, 1);
            kernel.total_ns.add(step, event.dur_ns);
        }
    }

    /// The lengths of steps as values of a test.
    pub(super) fn step_values(&self) -> Vec<f64> {
        self.steps_ns.iter().map(|step_ns| *step_ns as f64).collect()
    }

    /// The mean step.
    pub(super) fn mean_ns(&self) -> f64 {
        self.steps_ns.iter().sum::<i64>() as f64 / self.steps_ns.len().max(1) as f64
    }

    /// Time on the critical path by class.
    pub(super) fn classes(&self) -> BTreeMap<PathClass, PerStep> {
        let mut classes = BTreeMap::new();
        for ((class, _), row) in &self.path {
            let sums: &mut PerStep = classes.entry(*class).or_insert_with(|| PerStep::new(self.steps_ns.len()));
            row.values.iter().enumerate().for_each(|(step, value)| sums.add(Some(step), *value));
        }
        classes
    }

    fn operator(&mut self, name: String) -> &mut Operator {
        let new = || PerStep::new(self.steps_ns.len());
        let [spans, host_self_ns, device_self_ns, on_path_ns] = [new(), new(), new(), new()];
        let streams = BTreeMap::new();
        self.operators.entry(name).or_insert(Operator { spans, host_self_ns, device_self_ns, on_path_ns, streams })
    }
}

/// The operator that launched an event.
fn operator_of(event: &DeviceEvent, recording: &Recording) -> String {
    let of_span = |place: u32| recording.names.text(recording.spans[place as usize].name).to_owned();
    event.operator.map_or_else(|| NO_OPERATOR.to_owned(), of_span)
}

/// The step in whose mark an event was launched, or began if no call launched it.
fn step_of(event: &DeviceEvent, recording: &Recording, steps: &[Step]) -> Option<usize> {
    let time_ns = recording.launch_of(event).map_or(event.start_ns, |call| call.start_ns);
    steps.iter().position(|step| (step.host_start_ns..step.host_end_ns()).contains(&time_ns))
}
