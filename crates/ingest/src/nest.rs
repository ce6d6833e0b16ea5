//! Who encloses whom on a track, and how much of a span is its own (metrics, section 3).
//!
//! Spans nest in families: operators, annotations and runtime calls together; Python frames in a second tree that also
//! sees operators and calls; every other kind among its own. Device events do not nest: they may overlap.

use stepscope_model::Kind;
use stepscope_model::args::SpanArgColumn;

use crate::args::find_cell;
use crate::collect::Records;
use crate::derived::Derived;
use crate::order::by_track;
use crate::record::{Span, SpanId};

/// Fills in parents, depths, self times, Python frames and modules. Returns how many host spans cross another.
pub(crate) fn nest(records: &Records, derived: &mut [Derived]) -> u64 {
    let mut crossing = 0;
    for (first, spans) in by_track(&records.spans) {
        let mut walk = Walk { records, spans, first, derived };
        crossing += walk.host_tree();
        walk.python_tree();
        walk.other_trees();
    }
    crossing
}

/// One walk over the spans of one track.
struct Walk<'a> {
    records: &'a Records,
    spans: &'a [Span],
    first: usize,
    derived: &'a mut [Derived],
}

/// A span on the stack, and how much of it its children cover so far. Children come in the order of their starts.
#[derive(Clone, Copy)]
struct Open {
    id: SpanId,
    end: i64,
    covered_to: i64,
    covered_ns: i64,
}

impl Open {
    fn new(id: SpanId, span: &Span) -> Self {
        Self { id, end: span.end, covered_to: span.start, covered_ns: 0 }
    }

    fn cover(&mut self, child: &Span) {
        let start = child.start.max(self.covered_to);
        let end = child.end.min(self.end);
        if end > start {
            self.covered_ns += end - start;
            self.covered_to = end;
        }
    }
}

/// Pops what has ended and what `span` crosses; the top of the stack is then the parent. Returns whether it crossed.
fn pop_for(stack: &mut Vec<Open>, span: &Span, mut close: impl FnMut(Open)) -> bool {
    while let Some(&top) = stack.last() {
        if top.end > span.start {
            break;
        }
        stack.pop();
        close(top);
    }
    let crosses = stack.last().is_some_and(|top| span.end > top.end);
    while let Some(&top) = stack.last() {
        if top.end >= span.end {
            break;
        }
        stack.pop();
        close(top);
    }
    crosses
}

impl Walk<'_> {
    fn span(&self, id: SpanId) -> &Span {
        &self.records.spans[id as usize]
    }

    fn host_tree(&mut self) -> u64 {
        let mut crossing = 0;
        let mut stack: Vec<Open> = Vec::new();
        for (index, span) in self.spans.iter().enumerate() {
            if !span.kind.is_host() {
                continue;
            }
            let id = (self.first + index) as SpanId;
            let derived = &mut *self.derived;
            crossing += u64::from(pop_for(&mut stack, span, |open| close(derived, &self.records.spans, open)));
            let parent = stack.last().map(|open| open.id);
            let parent_op = parent.and_then(|parent| {
                if self.span(parent).kind == Kind::Op { Some(parent) } else { self.derived[parent as usize].parent_op }
            });
            let entry = &mut self.derived[id as usize];
            entry.parent = parent;
            entry.depth = stack.len() as u32;
            entry.parent_op = parent_op;
            self.cover_ancestors(&mut stack, span);
            stack.push(Open::new(id, span));
        }
        for open in stack {
            close(self.derived, &self.records.spans, open);
        }
        crossing
    }

    /// A span takes time from its parent. Annotations are transparent: an operator or a call also takes from the first
    /// operator or call above them.
    fn cover_ancestors(&self, stack: &mut [Open], span: &Span) {
        for open in stack.iter_mut().rev() {
            let is_label = self.span(open.id).kind == Kind::Annotation;
            if is_label || span.kind != Kind::Annotation {
                open.cover(span);
            }
            if !is_label {
                break;
            }
        }
    }

    fn python_tree(&mut self) {
        let mut stack: Vec<Open> = Vec::new();
        for (index, span) in self.spans.iter().enumerate() {
            let in_tree = matches!(span.kind, Kind::Python | Kind::Op | Kind::Runtime);
            if !in_tree && span.kind != Kind::Annotation {
                continue;
            }
            let id = (self.first + index) as SpanId;
            let spans = &self.records.spans;
            let derived = &mut *self.derived;
            if in_tree {
                pop_for(&mut stack, span, |open| close_python(derived, spans, open));
            }
            // An annotation is not part of this tree, so it finds its frame without moving the stack.
            let frame =
                stack.iter().rev().find(|open| open.end > span.start && self.span(open.id).kind == Kind::Python);
            let frame = frame.map(|open| open.id);
            let module =
                frame.and_then(
                    |frame| if self.is_module(frame) { Some(frame) } else { self.derived[frame as usize].module },
                );
            let depth = frame.map_or(0, |frame| self.derived[frame as usize].depth + 1);
            let entry = &mut self.derived[id as usize];
            entry.python_parent = frame;
            entry.module = module;
            if span.kind == Kind::Python {
                entry.parent = frame;
                entry.depth = depth;
            }
            if in_tree {
                if let Some(top) = stack.last_mut() {
                    top.cover(span);
                }
                stack.push(Open::new(id, span));
            }
        }
        for open in stack {
            close_python(self.derived, &self.records.spans, open);
        }
    }

    fn is_module(&self, frame: SpanId) -> bool {
        find_cell(self.records.cells_of(self.span(frame).args), SpanArgColumn::python_module_id).is_some()
    }

    fn other_trees(&mut self) {
        let mut kinds: Vec<Kind> = self.spans.iter().map(|span| span.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            if kind.is_host() || kind == Kind::Python {
                continue;
            }
            let mut stack: Vec<Open> = Vec::new();
            for (index, span) in self.spans.iter().enumerate().filter(|(_, span)| span.kind == kind) {
                let id = (self.first + index) as SpanId;
                if kind.is_device() {
                    self.derived[id as usize].self_ns = span.dur();
                    continue;
                }
                let derived = &mut *self.derived;
                pop_for(&mut stack, span, |open| close(derived, &self.records.spans, open));
                let entry = &mut self.derived[id as usize];
                entry.parent = stack.last().map(|open| open.id);
                entry.depth = stack.len() as u32;
                if let Some(top) = stack.last_mut() {
                    top.cover(span);
                }
                stack.push(Open::new(id, span));
            }
            for open in stack {
                close(self.derived, &self.records.spans, open);
            }
        }
    }
}

fn close(derived: &mut [Derived], spans: &[Span], open: Open) {
    derived[open.id as usize].self_ns = spans[open.id as usize].dur() - open.covered_ns;
}

/// Operators and calls are in the second tree too, but their self time comes from the first.
fn close_python(derived: &mut [Derived], spans: &[Span], open: Open) {
    if spans[open.id as usize].kind == Kind::Python {
        close(derived, spans, open);
    }
}
