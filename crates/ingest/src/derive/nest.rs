//! Who encloses whom on a track, and how much of a span is its own (metrics, section 3).
//!
//! Spans nest in families: operators, annotations and runtime calls together; Python frames in a second tree that also
//! sees operators and calls; every other kind among its own. Device events do not nest, because they may overlap, except
//! for the operations of a compiled program. Spans come in
//! the order of the table, and what is known when one comes does not depend on those after it; only its self time does.

use stepscope_model::Kind;

use crate::collect::names::NameFacts;
use crate::collect::record::{SpanId, TrackId};

/// What nesting has to know of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NestSpan {
    pub id: SpanId,
    pub track: TrackId,
    pub start: i64,
    pub end: i64,
    pub kind: Kind,
    pub facts: NameFacts,
    pub is_module: bool,
    /// Device work on its track nests.
    pub work_nests: bool,
    /// What operators and calls take of a frame is still its own.
    pub frames_nest_alone: bool,
}

/// What is known of a span as soon as it comes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nested {
    pub parent: Option<SpanId>,
    pub depth: u32,
    pub parent_op: Option<SpanId>,
    /// What the name of that operator says.
    pub parent_op_facts: NameFacts,
    pub python_parent: Option<SpanId>,
    pub module: Option<SpanId>,
    /// For a runtime call: the first span above it that is none.
    pub above: Option<Above>,
    /// For a mark of a step: the nearest one of its kind around it.
    pub outer_mark: Option<SpanId>,
}

/// A span that issued a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Above {
    pub id: SpanId,
    /// The operator it is or belongs to.
    pub operator: Option<SpanId>,
    pub facts: NameFacts,
    /// What the name of the operator says.
    pub operator_facts: NameFacts,
}

/// A span that has not ended, and how much of it its children cover so far. Children come in the order of their starts.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: SpanId,
    kind: Kind,
    facts: NameFacts,
    start: i64,
    end: i64,
    covered_to: i64,
    covered_ns: i64,
    /// Of a host span: the operator it is or belongs to. Of a frame: the module it is or belongs to.
    within: Option<SpanId>,
    /// What the name of that says.
    within_facts: NameFacts,
    depth: u32,
}

impl Open {
    fn new(span: &NestSpan, within: Option<SpanId>, depth: u32) -> Self {
        let NestSpan { id, start, end, kind, facts, .. } = *span;
        let within_facts = NameFacts::default();
        Self { id, kind, facts, start, end, covered_to: start, covered_ns: 0, within, within_facts, depth }
    }

    fn cover(&mut self, child: &NestSpan) {
        let start = child.start.max(self.covered_to);
        let end = child.end.min(self.end);
        if end > start {
            self.covered_ns += end - start;
            self.covered_to = end;
        }
    }

    fn self_ns(&self) -> i64 {
        self.end - self.start - self.covered_ns
    }
}

/// The spans of the current track that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    track: TrackId,
    host: Vec<Open>,
    python: Vec<Open>,
    others: [Vec<Open>; Kind::ALL.len()],
    /// Host spans that cross another.
    pub crossing: u64,
    /// Spans that have ended since this was last emptied, with their self times.
    pub ended: Vec<(SpanId, i64)>,
}

impl Nest {
    /// Takes the next span.
    #[inline]
    pub(crate) fn push(&mut self, span: &NestSpan) -> Nested {
        if span.track != self.track {
            self.end_all();
            self.track = span.track;
        }
        match span.kind {
            Kind::Python => self.push_frame(span),
            kind if kind.is_host() => self.push_host(span),
            kind if kind.is_device() && span.work_nests => self.push_other(span, Kind::Kernel),
            kind if kind.is_device() => Nested::default(),
            kind => self.push_other(span, kind),
        }
    }

    /// Ends every span.
    pub(crate) fn end_all(&mut self) {
        let python = self.python.drain(..).filter(|open| open.kind == Kind::Python);
        let all = self.host.drain(..).chain(python).chain(self.others.iter_mut().flat_map(|stack| stack.drain(..)));
        self.ended.extend(all.map(|open| (open.id, open.self_ns())));
    }

    fn push_host(&mut self, span: &NestSpan) -> Nested {
        let ended = &mut self.ended;
        let crosses = pop_for(&mut self.host, span, |open| ended.push((open.id, open.self_ns())));
        self.crossing += u64::from(crosses);
        let parent = self.host.last();
        let parent_op = parent.and_then(|parent| parent.within);
        let parent_op_facts = parent.map(|parent| parent.within_facts).unwrap_or_default();
        let above = if span.kind == Kind::Runtime {
            let issuer = self.host.iter().rev().find(|open| open.kind != Kind::Runtime);
            issuer.map(|open| Above {
                id: open.id,
                operator: open.within,
                facts: open.facts,
                operator_facts: open.within_facts,
            })
        } else {
            None
        };
        let mark = [NameFacts::NUMBERED_STEP, NameFacts::FUNCTION_RUN].into_iter().find(|&mark| span.facts.has(mark));
        let outer_mark =
            mark.and_then(|mark| self.host.iter().rev().find(|open| open.facts.has(mark)).map(|open| open.id));
        let (parent, depth) = (parent.map(|parent| parent.id), self.host.len() as u32);
        cover_ancestors(&mut self.host, span);
        let (within, within_facts) =
            if span.kind == Kind::Op { (Some(span.id), span.facts) } else { (parent_op, parent_op_facts) };
        self.host.push(Open { within_facts, ..Open::new(span, within, depth) });
        let (python_parent, module) = self.frame_of(span);
        Nested { parent, depth, parent_op, parent_op_facts, python_parent, module, above, outer_mark }
    }

    /// The frame and the module around a host span. Annotations are not part of the second tree, so they find their
    /// frame without moving it.
    fn frame_of(&mut self, span: &NestSpan) -> (Option<SpanId>, Option<SpanId>) {
        if self.python.is_empty() {
            return (None, None);
        }
        let in_tree = span.kind != Kind::Annotation && !span.frames_nest_alone;
        if in_tree {
            let ended = &mut self.ended;
            pop_for(&mut self.python, span, |open| end_frame(ended, open));
        }
        let frame = innermost_frame(&self.python, span.start);
        let found = (frame.map(|frame| frame.id), frame.and_then(|frame| frame.within));
        if in_tree && let Some(top) = self.python.last_mut() {
            top.cover(span);
            self.python.push(Open::new(span, None, 0));
        }
        found
    }

    fn push_frame(&mut self, span: &NestSpan) -> Nested {
        let ended = &mut self.ended;
        pop_for(&mut self.python, span, |open| end_frame(ended, open));
        let frame = innermost_frame(&self.python, span.start);
        let parent = frame.map(|frame| frame.id);
        let module = frame.and_then(|frame| frame.within);
        let depth = frame.map_or(0, |frame| frame.depth + 1);
        if let Some(top) = self.python.last_mut() {
            top.cover(span);
        }
        let within = if span.is_module { Some(span.id) } else { module };
        self.python.push(Open::new(span, within, depth));
        Nested { parent, depth, python_parent: parent, module, ..Nested::default() }
    }

    fn push_other(&mut self, span: &NestSpan, family: Kind) -> Nested {
        let ended = &mut self.ended;
        let stack = &mut self.others[family as usize];
        pop_for(stack, span, |open| ended.push((open.id, open.self_ns())));
        let (parent, depth) = (stack.last().map(|open| open.id), stack.len() as u32);
        if let Some(top) = stack.last_mut() {
            top.cover(span);
        }
        stack.push(Open::new(span, None, depth));
        Nested { parent, depth, ..Nested::default() }
    }
}

/// Pops what has ended and what `span` crosses; the top of the stack is then the parent. Gives whether it crossed.
fn pop_for(stack: &mut Vec<Open>, span: &NestSpan, mut end: impl FnMut(Open)) -> bool {
    while let Some(&top) = stack.last() {
        if top.end > span.start {
            break;
        }
        stack.pop();
        end(top);
    }
    let crosses = stack.last().is_some_and(|top| span.end > top.end);
    while let Some(&top) = stack.last() {
        if top.end >= span.end {
            break;
        }
        stack.pop();
        end(top);
    }
    crosses
}

/// Operators and calls are in the second tree too, but their self time comes from the first.
fn end_frame(ended: &mut Vec<(SpanId, i64)>, open: Open) {
    if open.kind == Kind::Python {
        ended.push((open.id, open.self_ns()));
    }
}

fn innermost_frame(stack: &[Open], start: i64) -> Option<&Open> {
    stack.iter().rev().find(|open| open.kind == Kind::Python && open.end > start)
}

/// A span takes time from its parent. Annotations are transparent: an operator or a call also takes from the first
/// operator or call above them.
fn cover_ancestors(stack: &mut [Open], span: &NestSpan) {
    for open in stack.iter_mut().rev() {
        let is_label = open.kind == Kind::Annotation;
        if is_label || span.kind != Kind::Annotation {
            open.cover(span);
        }
        if !is_label {
            break;
        }
    }
}
