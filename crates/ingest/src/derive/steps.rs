//! The steps of a recording (metrics, section 5).

use stepscope_model::{Kind, StepSource};

use super::device_marks::DeviceMarks;
use super::function_runs::FunctionRuns;
use super::link::LinkRow;
use super::mark::{Mark, argument};
use super::nest::Nested;
use super::stream::Span;
use crate::collect::header::Header;
use crate::collect::names::NameFacts;
use crate::collect::tracks::Track;
use crate::error::IngestError;
use crate::spill::sorter::Sorted;
use crate::spill::strings::Strings;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub name: String,
    pub start: i64,
    pub end: i64,
    pub host_start: i64,
    pub host_end: i64,
    pub device_events: u64,
    pub is_complete: bool,
    pub samples: Option<i64>,
}

/// The steps and where they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub source: StepSource,
    pub list: Vec<Step>,
    pub overlapping: u64,
    marks: Vec<Mark>,
    placing: Placing,
}

/// Which step device work belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Placing {
    /// The one that its launch call lies in.
    #[default]
    Launch,
    /// The same; work that no launch call can be known of belongs to the last step that began before it.
    LaunchOrOrder,
    /// The one that it lies in itself, if there is no launch call.
    Time,
}

/// Device work that was launched inside a mark.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceWork {
    events: u64,
    first_start: Option<i64>,
    last_end: Option<i64>,
}

/// What steps are made of, as it comes.
#[derive(Debug, Default)]
pub(crate) struct StepInputs {
    /// Annotations that may mark a step, with their place in the file.
    annotations: Vec<(NameFacts, u64, Mark)>,
    /// Outermost numbered steps of TensorFlow and JAX.
    numbered: Vec<Mark>,
    function_runs: FunctionRuns,
    device_marks: DeviceMarks,
    /// From the first host span or device event to the last.
    hull: Option<(i64, i64)>,
    device_events: u64,
}

impl StepInputs {
    /// Takes the next span, and the track that it is on.
    pub(crate) fn add(&mut self, span: &Span<'_>, nested: &Nested, track: &Track, strings: &Strings) {
        let (start, end) = (span.key.start, span.key.end());
        let head = &span.record.head;
        let name = || head.name.map_or("", |name| strings.resolve(name, span.record.texts));
        if head.kind.is_host() || head.kind.is_device() {
            self.hull = Some(self.hull.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
            self.device_events += u64::from(head.kind.is_device());
        }
        let marks = [NameFacts::PROFILER_STEP, NameFacts::SERVING_STEP, NameFacts::OPTIMIZER_STEP];
        if head.kind == Kind::Annotation && marks.iter().any(|&mark| head.facts.has(mark)) {
            let mark = Mark { start, end, name: name().to_owned() };
            self.annotations.push((head.facts, span.key.position, mark));
        }
        if track.told.is_none() {
            return;
        }
        if head.facts.has(NameFacts::NUMBERED_STEP) && head.kind == Kind::Annotation {
            if nested.outer_mark.is_none() {
                let number = argument(span, "step_num", strings).unwrap_or_default();
                self.numbered.push(Mark { start, end, name: format!("{} {number}", name()) });
            }
        } else if head.facts.has(NameFacts::FUNCTION_RUN) || head.facts.has(NameFacts::CAPTURED_FUNCTION) {
            self.function_runs.add(span, nested, strings);
        } else if head.kind == Kind::GpuAnnotation {
            self.device_marks.add(span.key.track, track, start, end, name, strings);
        }
    }

    /// The steps. The header says more of marks that the profiler made, by their number.
    pub(crate) fn find(mut self, links: &Sorted<LinkRow>, header: &Header) -> Result<Steps, IngestError> {
        self.annotations.sort_unstable_by_key(|(_, position, _)| *position);
        let (source, mut marks) = self.marks();
        let placing = match source {
            StepSource::StepNum | StepSource::FunctionRun => Placing::LaunchOrOrder,
            StepSource::DeviceSteps | StepSource::ModuleRuns => Placing::Time,
            _ => Placing::Launch,
        };
        if marks.is_empty() {
            return Ok(self.whole_trace());
        }
        marks.sort();
        let overlapping = marks.windows(2).filter(|pair| pair[1].start < pair[0].end).count() as u64;
        let work = device_work(&marks, placing, links)?;
        let before = match work[0].first_start {
            Some(first) => last_end_before(first, &marks, placing, links)?,
            None => None,
        };
        // Marks of a device are where its work is already.
        let mut list = extend(&marks, &work, before, placing != Placing::Time);
        if source == StepSource::ProfilerStep {
            for step in &mut list {
                let number = number_of(&step.name);
                step.samples = number.and_then(|number| header.samples.get(&number).copied());
                step.is_complete &= number.is_none() || number != header.incomplete_step;
            }
        }
        Ok(Steps { source, list, overlapping, marks, placing })
    }

    /// The marks of the first rule that yields any.
    fn marks(&mut self) -> (StepSource, Vec<Mark>) {
        let profiler = self.annotations_with(NameFacts::PROFILER_STEP);
        if !profiler.is_empty() {
            return (StepSource::ProfilerStep, profiler);
        }
        let serving = self.annotations_with(NameFacts::SERVING_STEP);
        if !serving.is_empty() {
            return (StepSource::ServingAnnotation, serving);
        }
        let of_frameworks = [
            (StepSource::StepNum, std::mem::take(&mut self.numbered)),
            (StepSource::DeviceSteps, self.device_marks.steps()),
            (StepSource::FunctionRun, self.function_runs.outermost()),
            (StepSource::ModuleRuns, self.device_marks.module_runs()),
        ];
        if let Some(found) = of_frameworks.into_iter().find(|(_, marks)| !marks.is_empty()) {
            return found;
        }
        let mut optimizer = self.annotations_with(NameFacts::OPTIMIZER_STEP);
        if optimizer.len() < 3 {
            return (StepSource::None, Vec::new());
        }
        // By their ends, so that one inside another makes no step that ends before it starts.
        optimizer.sort_by_key(|mark| mark.end);
        let between = optimizer.windows(2).enumerate();
        let marks = between.map(|(index, pair)| Mark {
            start: pair[0].end,
            end: pair[1].end,
            name: format!("optimizer#{}", index + 1),
        });
        (StepSource::OptimizerStep, marks.collect())
    }

    /// Annotations of which the name says `fact`, in the order of the file.
    fn annotations_with(&self, fact: NameFacts) -> Vec<Mark> {
        self.annotations.iter().filter(|(facts, ..)| facts.has(fact)).map(|(.., mark)| mark.clone()).collect()
    }

    /// One step from the first host span or device event to the last.
    fn whole_trace(&self) -> Steps {
        let Some((start, end)) = self.hull else {
            return Steps::default();
        };
        let step = Step {
            name: "whole trace".to_owned(),
            start,
            end,
            host_start: start,
            host_end: end,
            device_events: self.device_events,
            is_complete: true,
            samples: None,
        };
        Steps { source: StepSource::WholeTrace, list: vec![step], ..Steps::default() }
    }
}

impl Steps {
    /// The step of a span: by its start on the host, by its launch for a device event.
    #[inline]
    pub(crate) fn step_of(&self, kind: Kind, start: i64, link: Option<&LinkRow>) -> Option<u32> {
        let is_whole_trace = self.marks.is_empty();
        if kind.is_device() {
            let place = |link| mark_of(&self.marks, self.placing, link).map(|step| step as u32);
            if is_whole_trace { Some(0) } else { link.and_then(place) }
        } else if kind.is_host() {
            if is_whole_trace { Some(0) } else { mark_at(&self.marks, start) }
        } else if kind == Kind::Python && !is_whole_trace {
            mark_at(&self.marks, start)
        } else {
            None
        }
    }
}

/// The number in `ProfilerStep#7`.
fn number_of(name: &str) -> Option<u64> {
    name.rsplit_once('#').and_then(|(_, number)| number.parse().ok())
}

/// The mark that a time lies in, in sorted marks.
fn mark_at(marks: &[Mark], time: i64) -> Option<u32> {
    let after = marks.partition_point(|mark| mark.start <= time);
    after.checked_sub(1).filter(|&index| time < marks[index].end).map(|index| index as u32)
}

/// The mark that a device event belongs to.
fn mark_of(marks: &[Mark], placing: Placing, row: &LinkRow) -> Option<usize> {
    let time = match placing {
        _ if row.launch.is_some() => row.launch_start,
        Placing::Time => row.start,
        Placing::LaunchOrOrder if !row.has_correlation => {
            return marks.partition_point(|mark| mark.start <= row.start).checked_sub(1);
        }
        Placing::Launch | Placing::LaunchOrOrder => return None,
    };
    mark_at(marks, time).map(|index| index as usize)
}

fn device_work(marks: &[Mark], placing: Placing, links: &Sorted<LinkRow>) -> Result<Vec<DeviceWork>, IngestError> {
    let mut work = vec![DeviceWork::default(); marks.len()];
    let mut reader = links.reader()?;
    while let Some(row) = reader.next_key()? {
        let Some(step) = mark_of(marks, placing, &row) else { continue };
        let work = &mut work[step];
        work.events += 1;
        work.first_start = Some(work.first_start.map_or(row.start, |first| first.min(row.start)));
        work.last_end = Some(work.last_end.map_or(row.end, |last| last.max(row.end)));
    }
    Ok(work)
}

/// End of the last device event that no mark launched and that ends before `first`.
fn last_end_before(
    first: i64,
    marks: &[Mark],
    placing: Placing,
    links: &Sorted<LinkRow>,
) -> Result<Option<i64>, IngestError> {
    let mut last = None;
    let mut reader = links.reader()?;
    while let Some(row) = reader.next_key()? {
        if row.end < first && mark_of(marks, placing, &row).is_none() {
            last = last.max(Some(row.end));
        }
    }
    Ok(last)
}

/// Extends the marks to the device work that they launched; without any, the marks are the steps. `before` is when work
/// that was launched before the first mark ends.
fn extend(marks: &[Mark], work: &[DeviceWork], before: Option<i64>, extends: bool) -> Vec<Step> {
    let has_device_work = extends && work.iter().any(|work| work.events > 0);
    let mut previous_end = marks[0].start;
    if has_device_work {
        previous_end = before.map_or(previous_end, |end| end.max(previous_end));
    }
    let mut steps = Vec::with_capacity(marks.len());
    for (mark, work) in marks.iter().zip(work) {
        let (start, end) = if has_device_work {
            let start = previous_end.max(mark.start);
            (start, mark.end.max(start).max(work.last_end.unwrap_or(mark.end)))
        } else {
            (mark.start, mark.end)
        };
        previous_end = end;
        steps.push(Step {
            name: mark.name.clone(),
            start,
            end,
            host_start: mark.start,
            host_end: mark.end,
            device_events: work.events,
            is_complete: true,
            samples: None,
        });
    }
    if has_device_work {
        flag_cut_off(&mut steps);
    }
    steps
}

/// Trailing steps without device work, and a last one with much less than the one before, were cut off.
fn flag_cut_off(steps: &mut [Step]) {
    if steps.len() < 2 {
        return;
    }
    let Some(last_with_work) = steps.iter().rposition(|step| step.device_events > 0) else { return };
    for step in &mut steps[last_with_work + 1..] {
        step.is_complete = false;
    }
    if last_with_work > 0 && steps[last_with_work].device_events * 10 < steps[last_with_work - 1].device_events * 8 {
        steps[last_with_work].is_complete = false;
    }
}
