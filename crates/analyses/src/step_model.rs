//! What waited for what in the steps that a question is about: the glue between a question and `replay`.

use std::ops::Range;
use std::sync::Arc;

use stepscope_model::{Sentence, SourceRecord, StepRange, say};
use stepscope_replay::{Step, StepModel};
use stepscope_runs::{RunError, WindowModel};

use super::step_numbers::StepNumbers;
use super::{Asking, Question};

/// A recording with its model.
pub(crate) struct Modeled<'a> {
    /// The recording.
    pub source: &'a SourceRecord,
    /// The model of its steps, or the null reason why there is none.
    pub steps: Result<ModeledSteps, &'static str>,
}

/// The steps of a recording that are asked about, in the model of their window.
pub(crate) struct ModeledSteps {
    window: Arc<WindowModel>,
    /// The steps that are asked about, by their places in the window; all unless some are asked for.
    pub asked: Range<usize>,
}

impl<'a> Asking<'a> {
    /// The recordings that are asked about, each with its model. A model is built when its turn comes, and is gone again
    /// with the item unless the run keeps it: hold on to few of them.
    pub(crate) fn step_models(&self) -> impl Iterator<Item = Result<Modeled<'a>, RunError>> {
        self.sources.iter().copied().map(|source| self.step_model(source))
    }

    /// The first of them. One rank is looked at; [`super::whatif::limits`] says which.
    pub(crate) fn first_model(&self) -> Result<Modeled<'a>, RunError> {
        let first = self.step_models().next();
        first.unwrap_or_else(|| Err(RunError::Shape("no trace to ask about".to_owned())))
    }

    /// The model of a recording, or why there is none.
    pub(crate) fn step_model(&self, source: &'a SourceRecord) -> Result<Modeled<'a>, RunError> {
        let id = (i64::from(source.id.rank), i64::from(source.id.window));
        let asked = self.steps.as_ref().and_then(|steps| steps.places.get(&id));
        let modeled = self.open.step_model(source, asked)?;
        Ok(Modeled { source, steps: modeled.map(|window| ModeledSteps::new(window, asked)) })
    }
}

impl ModeledSteps {
    fn new(window: Arc<WindowModel>, asked: Option<&Range<usize>>) -> Self {
        let there = window.model.recording().window.steps.clone();
        let asked = asked.cloned().unwrap_or_else(|| there.clone());
        let place = |place: usize| place.clamp(there.start, there.end) - there.start;
        Self { asked: place(asked.start)..place(asked.end), window }
    }

    /// The model.
    pub(crate) fn model(&self) -> &StepModel {
        &self.window.model
    }

    /// The place of the first of them among all steps of the recording.
    pub(crate) fn first(&self) -> usize {
        self.model().recording().window.steps.start + self.asked.start
    }

    /// The question about just these steps of a recording, for other analyses; `None` if they have no numbers.
    pub(crate) fn question(
        &self,
        asking: &Asking<'_>,
        source: &SourceRecord,
        group_by: &[&str],
    ) -> Result<Option<Question>, RunError> {
        let (rank, window) = (source.id.rank, source.id.window);
        let numbers = StepNumbers::read(asking)?;
        let number = |place: usize| {
            let number = numbers.of(i64::from(rank), i64::from(window), place as i64);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let last = (self.first() + self.asked.len()).saturating_sub(1);
        let range = number(self.first()).zip(number(last)).map(|(first, last)| StepRange { first, last });
        Ok(range.map(|range| Question {
            ranks: vec![rank],
            window: Some(window),
            steps: Some(range),
            group_by: group_by.iter().map(|&grouping| grouping.to_owned()).collect(),
            ..asking.question.clone()
        }))
    }

    /// The steps that are asked about.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.model().steps()[self.asked.clone()]
    }

    /// What memory left out, in words: nothing, mostly.
    pub(crate) fn limits(&self) -> Vec<Sentence> {
        let WindowModel { steps_left_out, has_all_events, .. } = *self.window;
        let steps = (steps_left_out > 0).then(|| {
            let steps = say::counted(steps_left_out, "step");
            say!("{} left out to stay within the memory limit; `--memory-limit` raises it", steps)
        });
        let events = (!has_all_events)
            .then(|| "typical lags are those of the window, not of the whole trace, to save memory".into());
        steps.into_iter().chain(events).collect()
    }
}
