//! One run of a comparison: what the steps of its window consist of.

use std::collections::BTreeMap;

use stepscope_model::{SourceRecord, StepSource};
use stepscope_replay::recording::{DeviceEvent, Recording};
use stepscope_replay::{PathClass, Step};
use stepscope_runs::RunError;

use crate::Asking;
use crate::asking::NO_OPERATOR;
use crate::step_model::ModeledSteps;

/// The steps of a window, and what they consist of.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub step_source: StepSource,
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
}

/// A value of each step, and their sum with what lies between the marks of two steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PerStep {
    pub values: Vec<i64>,
    pub total: i64,
}

impl PerStep {
    pub(super) fn new(steps: usize) -> Self {
        Self { values: vec![0; steps], total: 0 }
    }

    pub(super) fn add(&mut self, step: Option<usize>, value: i64) {
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
            steps_ns: steps.steps().iter().map(|step| step.dur_ns).collect(),
            path: BTreeMap::new(),
            operators: BTreeMap::new(),
            shapes: BTreeMap::new(),
            kernels: BTreeMap::new(),
        };
        side.add_path(steps);
        side.add_operators(asking, source, steps)?;
        side.add_device_work(steps);
        Ok(side)
    }

    fn add_path(&mut self, steps: &ModeledSteps) {
        let (model, count) = (steps.model(), self.steps_ns.len());
        for (step, path) in model.paths()[steps.asked.clone()].iter().enumerate() {
            for piece in &path.pieces {
                let key = (piece.class, piece.row_name(model.recording()).to_owned());
                self.path.entry(key).or_insert_with(|| PerStep::new(count)).add(Some(step), piece.dur_ns());
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
        let first = steps.model().recording().window.steps.start + steps.asked.start;
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
            let of_span = |place: u32| recording.names.text(recording.spans[place as usize].name).to_owned();
            let operator = event.operator.map_or_else(|| NO_OPERATOR.to_owned(), of_span);
            self.operator(operator.clone()).device_self_ns.add(step, event.dur_ns);
            let key = (operator, recording.names.text(event.name).to_owned());
            let new = || Kernel { count: PerStep::new(count), total_ns: PerStep::new(count) };
            let kernel = self.kernels.entry(key).or_insert_with(new);
            kernel.count.add(step, 1);
            kernel.total_ns.add(step, event.dur_ns);
        }
    }

    fn operator(&mut self, name: String) -> &mut Operator {
        let new = || PerStep::new(self.steps_ns.len());
        let [spans, host_self_ns, device_self_ns] = [new(), new(), new()];
        self.operators.entry(name).or_insert(Operator { spans, host_self_ns, device_self_ns })
    }
}

/// The step in whose mark an event was launched, or began if no call launched it.
fn step_of(event: &DeviceEvent, recording: &Recording, steps: &[Step]) -> Option<usize> {
    let time_ns = recording.launch_of(event).map_or(event.start_ns, |call| call.start_ns);
    steps.iter().position(|step| (step.host_start_ns..step.host_end_ns()).contains(&time_ns))
}
