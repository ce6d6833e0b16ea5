//! Runs of functions and graphs of TensorFlow, which mark steps where nothing else does.

use hashbrown::{HashMap, HashSet};

use super::mark::{Mark, argument};
use super::nest::Nested;
use super::stream::Span;
use crate::collect::names::NameFacts;
use crate::collect::record::SpanId;
use crate::spill::strings::Strings;

/// The runs of a recording, as they come.
#[derive(Debug, Default)]
pub(super) struct FunctionRuns {
    runs: Vec<Run>,
    /// Ids of the functions that input pipelines run.
    of_pipelines: HashSet<Option<String>>,
}

#[derive(Debug)]
struct Run {
    span: SpanId,
    outer: Option<SpanId>,
    id: Option<String>,
    mark: Mark,
}

impl FunctionRuns {
    /// Takes a run, or a function of an input pipeline.
    pub(super) fn add(&mut self, span: &Span<'_>, nested: &Nested, strings: &Strings) {
        let head = &span.record.head;
        let id = argument(span, "id", strings);
        if head.facts.has(NameFacts::CAPTURED_FUNCTION) {
            self.of_pipelines.insert(id);
        } else if head.kind.is_host() {
            let name = head.name.map_or("", |name| strings.resolve(name, span.record.texts)).to_owned();
            let mark = Mark { start: span.key.start, end: span.key.end(), name };
            self.runs.push(Run { span: span.id, outer: nested.outer_mark, id, mark });
        }
    }

    /// The runs that are not those of an input pipeline and that no other such run is around.
    pub(super) fn outermost(&mut self) -> Vec<Mark> {
        let runs: HashMap<SpanId, &Run> = self.runs.iter().map(|run| (run.span, run)).collect();
        let counts = |run: &Run| !self.of_pipelines.contains(&run.id);
        let is_inside = |run: &Run| {
            let mut outer = run.outer.and_then(|outer| runs.get(&outer));
            while let Some(run) = outer {
                if counts(run) {
                    return true;
                }
                outer = run.outer.and_then(|outer| runs.get(&outer));
            }
            false
        };
        self.runs.iter().filter(|run| counts(run) && !is_inside(run)).map(|run| run.mark.clone()).collect()
    }
}
