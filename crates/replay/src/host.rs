//! The threads of the host as chains of points, and what their time goes to (A2).

use stepscope_model::{Kind, StepSource};

use crate::class::{EdgeKind, PathClass};
use crate::draft::{Draft, Edge, NONE, Node, Point, Subject};
use crate::names::NameFacts;
use crate::recording::{HostSpan, Recording};
use crate::window::Window;

/// The nodes of the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// For each span the node of its start and of its end, `NONE` where that is outside the window.
    pub starts: Vec<Node>,
    pub ends: Vec<Node>,
    /// For each span the one that encloses it.
    pub parents: Vec<u32>,
    /// For each thread its nodes, which follow each other.
    pub chains: Vec<std::ops::Range<Node>>,
    /// The thread that runs the training loop.
    pub script: Option<u32>,
}

impl Host {
    /// Makes the nodes of all threads and the order between them.
    pub(crate) fn build(recording: &Recording, draft: &mut Draft) -> Self {
        let count = recording.spans.len();
        let mut host = Self {
            starts: vec![NONE; count],
            ends: vec![NONE; count],
            parents: vec![NONE; count],
            chains: vec![0..0; recording.threads.len()],
            script: None,
        };
        let by_thread = spans_by_thread(recording);
        for thread in recording.threads_by_text() {
            let Some(spans) = by_thread[thread as usize].clone() else { continue };
            host.nest(recording, spans.clone());
            let first = draft.times.len() as Node;
            host.add_chain(recording, spans, draft);
            host.chains[thread as usize] = first..draft.times.len() as Node;
        }
        host.script = script_thread(recording, &by_thread);
        host
    }

    /// Finds the span around each span of a thread (metrics, section 3). What ended before the window was left out, and
    /// does not matter for what is in it.
    fn nest(&mut self, recording: &Recording, places: std::ops::Range<u32>) {
        let mut open: Vec<u32> = Vec::new();
        let end = |place: u32| recording.spans[place as usize].end_ns();
        for place in places {
            let span = &recording.spans[place as usize];
            while open.last().is_some_and(|&top| end(top) <= span.start_ns) {
                open.pop();
            }
            while open.last().is_some_and(|&top| end(top) < span.end_ns()) {
                open.pop();
            }
            self.parents[place as usize] = open.last().copied().unwrap_or(NONE);
            open.push(place);
        }
    }

    fn add_chain(&mut self, recording: &Recording, places: std::ops::Range<u32>, draft: &mut Draft) {
        let first = places.start;
        let spans = &recording.spans[places.start as usize..places.end as usize];
        let window = &recording.window;
        let mut open = OpenSpans::default();
        for (nth, span) in spans.iter().enumerate() {
            if is_open_before(span, window) {
                open.push(first + nth as u32, span, recording.names.facts(span.name));
            }
        }
        let mut before = NONE;
        for (time, moment) in moments(spans, window) {
            let (place, is_start) = (first + moment.nth(), moment.is_start());
            let span = &recording.spans[place as usize];
            let (class, owner) = open.class();
            let point = Point {
                subject: Subject::Span(place),
                is_start,
                class,
                owner,
                is_bare: open.is_bare(),
                is_history: false,
            };
            let node = draft.add_node(time, point);
            if before != NONE {
                let typical_ns = time - draft.time(before);
                draft.add_edge(node, Edge { source: before, kind: EdgeKind::Order, typical_ns });
            }
            before = node;
            let facts = recording.names.facts(span.name);
            if is_start {
                open.push(place, span, facts);
                self.starts[place as usize] = node;
            } else {
                open.remove(place, span, facts);
                self.ends[place as usize] = node;
            }
        }
    }
}

/// Whether a span began before the window and runs into it.
pub(crate) fn is_open_before(span: &HostSpan, window: &Window) -> bool {
    span.start_ns < window.start_ns && window.start_ns < span.end_ns()
}

/// A start or an end among those of one instant, so that sorting gives the order in which a thread passes them: ends of
/// what has a length come first, from the inside out; then starts in the order of the spans, an empty span's end right
/// after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment(u64);

impl Moment {
    const LATER: u64 = 1 << 62;

    fn start(nth: u32) -> Self {
        Self(Self::LATER | u64::from(nth) << 1)
    }

    fn end(nth: u32, is_empty: bool) -> Self {
        if is_empty { Self(Self::LATER | u64::from(nth) << 1 | 1) } else { Self(u64::from(u32::MAX - nth) << 1) }
    }

    fn nth(self) -> u32 {
        let nth = (self.0 & !Self::LATER) >> 1;
        if self.0 & Self::LATER == 0 { u32::MAX - nth as u32 } else { nth as u32 }
    }

    fn is_start(self) -> bool {
        self.0 & Self::LATER != 0 && self.0 & 1 == 0
    }
}

/// The points of a thread in the window, in order.
fn moments(spans: &[HostSpan], window: &Window) -> Vec<(i64, Moment)> {
    let mut moments = Vec::with_capacity(spans.len() * 2);
    for (nth, span) in spans.iter().enumerate() {
        let nth = nth as u32;
        moments.push((span.start_ns, Moment::start(nth)));
        moments.push((span.end_ns(), Moment::end(nth, span.dur_ns == 0)));
    }
    moments.retain(|(time, _)| window.has_point(*time));
    moments.sort_unstable();
    moments
}

/// The spans of a thread that are open, by the class that they give, in the order of their starts.
#[derive(Debug, Default)]
struct OpenSpans {
    by_rule: [Vec<u32>; RULES.len()],
    /// Operators and calls.
    work: usize,
}

/// The classes of host time; the first that an open span gives counts.
const RULES: [PathClass; 4] = [PathClass::Runtime, PathClass::Dataloader, PathClass::Communication, PathClass::CpuExec];

impl OpenSpans {
    fn push(&mut self, place: u32, span: &HostSpan, facts: &NameFacts) {
        self.work += usize::from(span.kind != Kind::Annotation);
        if let Some(list) = self.list(span, facts) {
            list.push(place);
        }
    }

    fn remove(&mut self, place: u32, span: &HostSpan, facts: &NameFacts) {
        let Some(list) = self.list(span, facts) else { return };
        // Nearly always the last; spans that cross are not. One that ends as the window begins was never open in it.
        let Some(found) = list.iter().rposition(|open| *open == place) else { return };
        list.remove(found);
        self.work -= usize::from(span.kind != Kind::Annotation);
    }

    fn list(&mut self, span: &HostSpan, facts: &NameFacts) -> Option<&mut Vec<u32>> {
        let class = facts.host_class(span.kind);
        RULES.iter().position(|rule| *rule == class).map(|rule| &mut self.by_rule[rule])
    }

    /// The class of the time under the open spans, and the innermost span that gives it.
    fn class(&self) -> (PathClass, u32) {
        let found = RULES.iter().zip(&self.by_rule).find_map(|(class, open)| Some((*class, *open.last()?)));
        found.unwrap_or((PathClass::Other, NONE))
    }

    fn is_bare(&self) -> bool {
        self.work == 0
    }
}

/// Where the spans of each thread are.
fn spans_by_thread(recording: &Recording) -> Vec<Option<std::ops::Range<u32>>> {
    let mut ranges = vec![None; recording.threads.len()];
    let mut start = 0;
    for spans in recording.spans.chunk_by(|a, b| a.thread == b.thread) {
        let end = start + spans.len() as u32;
        ranges[spans[0].thread as usize] = Some(start..end);
        start = end;
    }
    ranges
}

/// The thread of the first mark of a step; without marks, the one with most operators.
fn script_thread(recording: &Recording, by_thread: &[Option<std::ops::Range<u32>>]) -> Option<u32> {
    if recording.script_thread.is_some() {
        return recording.script_thread;
    }
    let marks = recording.spans.iter().filter(|span| is_script_mark(recording, span));
    if let Some(mark) = marks.min_by_key(|span| span.moment()) {
        return Some(mark.thread);
    }
    let operators = |thread: u32| {
        let places = by_thread[thread as usize].clone().unwrap_or_default();
        let spans = &recording.spans[places.start as usize..places.end as usize];
        spans.iter().filter(|span| span.kind == Kind::Op).count()
    };
    // Of equal ones the first by text: `max_by_key` gives the last.
    let threads = recording.threads_by_text().into_iter().rev();
    threads.filter(|thread| by_thread[*thread as usize].is_some()).max_by_key(|thread| operators(*thread))
}

/// Whether a span marks a step, or the end of one.
pub(crate) fn is_script_mark(recording: &Recording, span: &HostSpan) -> bool {
    let facts = recording.names.facts(span.name);
    span.kind == Kind::Annotation
        && match recording.step_source {
            StepSource::OptimizerStep => facts.is_optimizer_step,
            StepSource::ServingAnnotation => facts.is_profiler_step || facts.is_serving_step,
            _ => facts.is_profiler_step,
        }
}
