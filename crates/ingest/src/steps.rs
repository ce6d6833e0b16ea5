//! The steps of a recording (metrics, section 5).

use stepscope_model::Kind;

use crate::collect::Records;
use crate::derived::Derived;
use crate::names::NameFacts;

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
}

/// The steps and where they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub source: &'static str,
    pub list: Vec<Step>,
    pub overlapping: u64,
}

/// A step as the host marked it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    start: i64,
    end: i64,
    name: String,
}

/// Device work that was launched inside a mark.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceWork {
    events: u64,
    first_start: Option<i64>,
    last_end: Option<i64>,
}

/// Finds the steps and writes to each host span and device event the step that it belongs to.
pub(crate) fn find(records: &mut Records, derived: &mut [Derived]) -> Steps {
    let (source, mut marks) = marks(records);
    if marks.is_empty() {
        return whole_trace(records, derived);
    }
    marks.sort();
    let overlapping = marks.windows(2).filter(|pair| pair[1].start < pair[0].end).count() as u64;
    let mark_at = |time: i64| {
        let after = marks.partition_point(|mark| mark.start <= time);
        after.checked_sub(1).filter(|&index| time < marks[index].end)
    };
    let mut work = vec![DeviceWork::default(); marks.len()];
    let mut unmarked_ends = Vec::new();
    for (index, span) in records.spans.iter().enumerate() {
        if span.kind.is_device() {
            let step = derived[index].launch.and_then(|launch| mark_at(records.spans[launch as usize].start));
            derived[index].step = step.map(|step| step as u32);
            let Some(step) = step else {
                unmarked_ends.push(span.end);
                continue;
            };
            let work = &mut work[step];
            work.events += 1;
            work.first_start = Some(work.first_start.map_or(span.start, |first| first.min(span.start)));
            work.last_end = Some(work.last_end.map_or(span.end, |last| last.max(span.end)));
        } else if span.kind.is_host() || span.kind == Kind::Python {
            derived[index].step = mark_at(span.start).map(|step| step as u32);
        }
    }
    let list = extend(&marks, &work, &unmarked_ends);
    Steps { source, list, overlapping }
}

/// The marks of the first rule that yields any.
fn marks(records: &mut Records) -> (&'static str, Vec<Mark>) {
    let profiler = annotations(records, |facts| facts.profiler_step);
    if !profiler.is_empty() {
        return ("profiler_step", profiler);
    }
    let serving = annotations(records, |facts| facts.serving_step);
    if !serving.is_empty() {
        return ("serving_annotation", serving);
    }
    let mut optimizer = annotations(records, |facts| facts.optimizer_step);
    if optimizer.len() < 3 {
        return ("", Vec::new());
    }
    // By their ends, so that one inside another makes no step that ends before it starts.
    optimizer.sort_by_key(|mark| mark.end);
    let between = optimizer.windows(2).enumerate();
    let marks = between.map(|(index, pair)| Mark {
        start: pair[0].end,
        end: pair[1].end,
        name: format!("optimizer#{}", index + 1),
    });
    ("optimizer_step", marks.collect())
}

/// Annotations whose name passes, in the order of the file.
fn annotations(records: &mut Records, accepts: impl Fn(NameFacts) -> bool) -> Vec<Mark> {
    let Records { spans, names, strings, .. } = records;
    let mut found = Vec::new();
    for span in spans.iter().filter(|span| span.kind == Kind::Annotation) {
        if let (Some(name), true) = (span.name, accepts(names.facts(span.name, strings))) {
            found.push((span.position, Mark { start: span.start, end: span.end, name: strings.text(name).to_owned() }));
        }
    }
    found.sort_unstable_by_key(|(position, _)| *position);
    found.into_iter().map(|(_, mark)| mark).collect()
}

/// Extends the marks to the device work that they launched; without any, the marks are the steps.
fn extend(marks: &[Mark], work: &[DeviceWork], unmarked_ends: &[i64]) -> Vec<Step> {
    let has_device_work = work.iter().any(|work| work.events > 0);
    let mut previous_end = marks[0].start;
    if let (true, Some(first)) = (has_device_work, work[0].first_start) {
        // Work launched before the first mark may still run when it begins.
        let before = unmarked_ends.iter().copied().filter(|&end| end < first).max();
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

/// One step from the first host span or device event to the last.
fn whole_trace(records: &Records, derived: &mut [Derived]) -> Steps {
    let mut hull: Option<(i64, i64)> = None;
    let mut device_events = 0;
    for (index, span) in records.spans.iter().enumerate() {
        if span.kind.is_host() || span.kind.is_device() {
            hull = Some(hull.map_or((span.start, span.end), |(start, end)| (start.min(span.start), end.max(span.end))));
            device_events += u64::from(span.kind.is_device());
            derived[index].step = Some(0);
        }
    }
    let Some((start, end)) = hull else {
        return Steps { source: "none", ..Steps::default() };
    };
    let step = Step {
        name: "whole trace".to_owned(),
        start,
        end,
        host_start: start,
        host_end: end,
        device_events,
        is_complete: true,
    };
    Steps { source: "whole_trace", list: vec![step], overlapping: 0 }
}
