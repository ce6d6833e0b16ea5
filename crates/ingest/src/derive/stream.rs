//! The spans of a source in the order of the table, with their numbers and true times.

use super::nest::NestSpan;
use crate::collect::record::{SpanId, SpanKey, SpanRecord};
use crate::error::IngestError;
use crate::spill::sorter::{Reader, Sorted};

/// One span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub id: SpanId,
    pub key: SpanKey,
    pub record: SpanRecord<'a>,
}

impl Span<'_> {
    /// What nesting has to know.
    pub(crate) fn for_nest(&self, work_nests: bool, frames_nest_alone: bool) -> NestSpan {
        NestSpan {
            id: self.id,
            track: self.key.track,
            start: self.key.start,
            end: self.key.end(),
            kind: self.record.head.kind,
            facts: self.record.head.facts,
            is_module: self.record.head.is_module,
            work_nests,
            frames_nest_alone,
        }
    }
}

/// Gives the spans one by one.
pub(crate) struct SpanStream<'a> {
    reader: Reader<'a, SpanKey>,
    base_time_ns: i64,
    next: u64,
}

impl<'a> SpanStream<'a> {
    pub(crate) fn new(spans: &'a Sorted<SpanKey>, base_time_ns: i64) -> Result<Self, IngestError> {
        Ok(Self { reader: spans.reader()?, base_time_ns, next: 0 })
    }

    /// The next span.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Span<'_>>, IngestError> {
        let Some((key, bytes)) = self.reader.next()? else { return Ok(None) };
        let id = SpanId::new(self.next);
        self.next += 1;
        Ok(Some(Span { id, key: key.later_by(self.base_time_ns), record: SpanRecord::read(bytes) }))
    }
}
