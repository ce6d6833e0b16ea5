//! Where the steps of the window begin and end in a graph, and how long they take at other times (A5, A6).

use stepscope_model::StepSource;

use crate::device::Device;
use crate::draft::{Draft, NONE, Node};
use crate::graph::Graph;
use crate::host::Host;
use crate::names::NameFacts;
use crate::recording::{HostSpan, Recording};

/// The nodes that a step reaches from and to.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepNodes {
    /// Start and end of the mark on the host, where the window has them.
    mark: (Option<Node>, Option<Node>),
    /// Ends of the step's device events; of a whole trace the ends of threads too.
    ends: Vec<Node>,
}

/// Finds the nodes of each step of the window.
pub(crate) fn step_nodes(recording: &Recording, host: &Host, device: &Device, draft: &Draft) -> Vec<StepNodes> {
    let steps = &recording.steps[recording.window.steps.clone()];
    let ends = device_ends(recording, device);
    if recording.step_source == StepSource::WholeTrace {
        let last = |thread: u32| host.chains[thread as usize].clone().next_back();
        let threads = recording.threads_by_text().into_iter().filter_map(last);
        let ends = ends.into_iter().flatten().chain(threads).collect();
        return vec![StepNodes { mark: (None, None), ends }];
    }
    let marks = steps.iter().map(|step| {
        // Steps by the optimizer reach from the end of a call to the end of the next.
        if recording.step_source == StepSource::OptimizerStep {
            let is_mark = |_: &HostSpan, facts: &NameFacts| facts.is_optimizer_step;
            let ends = [step.host_start_ns, step.host_end_ns()];
            let [start, end] = ends.map(|time| point_at(recording, host, draft, (time, false), is_mark));
            return (start, end);
        }
        let is_mark = |span: &HostSpan, _: &NameFacts| recording.names.text(span.name) == step.name;
        let start = point_at(recording, host, draft, (step.host_start_ns, true), is_mark);
        (start, point_at(recording, host, draft, (step.host_end_ns(), false), is_mark))
    });
    marks.zip(ends).map(|(mark, ends)| StepNodes { mark, ends }).collect()
}

impl StepNodes {
    /// Where the path of the step begins: the end of the mark, unless device work of the step ends later.
    pub(crate) fn sink(&self, graph: &Graph) -> Option<Node> {
        let last = self.ends.iter().copied().max_by_key(|&node| graph.latest_first(node));
        match (self.mark.1, last) {
            (Some(mark), Some(last)) => Some(if graph.time(last) > graph.time(mark) { last } else { mark }),
            (mark, last) => mark.or(last),
        }
    }
}

/// When the steps begin and end at the given times, by the rule of metrics, section 5: a step begins where the one before
/// ended, and ends with the device work that it launched.
pub(crate) fn bounds(recording: &Recording, steps: &[StepNodes], times: &[i64]) -> Vec<(i64, i64)> {
    let time = |node: Option<Node>| node.map_or(recording.window.start_ns, |node| times[node as usize]);
    let mut before = recording.steps[recording.window.steps.start].start_ns;
    steps
        .iter()
        .map(|step| {
            let start = before.max(time(step.mark.0));
            let ends = step.ends.iter().map(|&node| times[node as usize]);
            before = ends.fold(start.max(time(step.mark.1)), i64::max);
            (start, before)
        })
        .collect()
}

/// The lengths of the steps at the given times.
pub(crate) fn durations(recording: &Recording, steps: &[StepNodes], times: &[i64]) -> Vec<i64> {
    bounds(recording, steps, times).into_iter().map(|(start, end)| end - start).collect()
}

/// Nodes of the ends of each step's device events: those that it launched, of a whole trace all.
fn device_ends(recording: &Recording, device: &Device) -> Vec<Vec<Node>> {
    let steps = &recording.steps[recording.window.steps.clone()];
    let mut ends = vec![Vec::new(); steps.len()];
    for &place in &device.inside {
        let Some(end) = device.inside_start(place).map(|start| start + 1) else { continue };
        if recording.step_source == StepSource::WholeTrace {
            ends[0].push(end);
            continue;
        }
        let Some(call) = recording.launch_of(&recording.events[place as usize]) else { continue };
        let count = steps.partition_point(|step| step.host_start_ns <= call.start_ns);
        if let Some(step) = count.checked_sub(1).filter(|&step| call.start_ns < steps[step].host_end_ns()) {
            ends[step].push(end);
        }
    }
    ends
}

/// The first point of the script at a time that starts or ends a span which is looked for.
fn point_at(
    recording: &Recording,
    host: &Host,
    draft: &Draft,
    (time_ns, is_start): (i64, bool),
    is_wanted: impl Fn(&HostSpan, &NameFacts) -> bool,
) -> Option<Node> {
    let chain = host.chains[host.script? as usize].clone();
    let times = &draft.times[chain.start as usize..chain.end as usize];
    let first = chain.start + times.partition_point(|time| *time < time_ns) as Node;
    (first..chain.end).take_while(|&node| draft.time(node) == time_ns).find(|&node| {
        let crate::draft::Subject::Span(place) = draft.point(node).subject else { return false };
        let span = &recording.spans[place as usize];
        let nodes = if is_start { &host.starts } else { &host.ends };
        nodes[place as usize] == node && node != NONE && is_wanted(span, recording.names.facts(span.name))
    })
}
