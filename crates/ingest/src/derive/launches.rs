//! The calls that brought work to a device, each with the earliest of that work (metrics, section 13).

use std::sync::Arc;

use super::stream::Span;
use crate::collect::record::SpanId;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};
use crate::write::rows::{Rows, SourceText as _};

row! {
    /// What a call launched, in the order of the calls.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Launch {
        call: SpanId,
        is_graph: bool,
        device_events: i64,
        device_total: i64,
        /// The earliest of the events.
        first: LaunchedEvent,
    }
}

row! {
    /// A device event that a call launched.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    LaunchedEvent { start: i64, position: u64, dur: i64, device: Option<i64>, stream: Option<i64>, }
}

/// A call as far as its launch is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaunchCall {
    pub id: SpanId,
    pub start: i64,
    pub is_graph: bool,
}

/// Puts launches together. All events of a launch have its correlation, and events come by correlation.
pub(crate) struct Launches {
    /// What was launched under the current correlation.
    together: Vec<(LaunchCall, LaunchedEvent)>,
    found: Sorter<Launch>,
    /// Launches whose earliest device event starts before the call.
    pub device_before_launch: u64,
}

impl Launches {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { together: Vec::new(), found: Sorter::new(scratch), device_before_launch: 0 }
    }

    /// Takes an event and the call that launched it.
    pub(crate) fn push(&mut self, call: LaunchCall, event: LaunchedEvent) {
        self.together.push((call, event));
    }

    /// Ends the current correlation.
    pub(crate) fn end_correlation(&mut self) -> Result<(), IngestError> {
        self.together.sort_unstable();
        for launched in self.together.chunk_by(|(a, _), (b, _)| a.id == b.id) {
            let (call, first) = launched[0];
            self.device_before_launch += u64::from(first.start < call.start);
            self.found.push(Launch {
                call: call.id,
                is_graph: call.is_graph,
                device_events: launched.len() as i64,
                device_total: launched.iter().fold(0, |sum: i64, (_, event)| sum.saturating_add(event.dur)),
                first,
            })?;
        }
        self.together.clear();
        Ok(())
    }

    /// The launches, in the order of the calls.
    pub(crate) fn finish(self) -> Result<Sorted<Launch>, IngestError> {
        self.found.finish()
    }
}

/// Writes the row of a launch; `span` is its call.
pub(crate) fn write_row(
    rows: &mut Rows<'_>,
    span: &Span<'_>,
    step: Option<u32>,
    launch: &Launch,
) -> Result<(), IngestError> {
    let (key, first) = (&span.key, &launch.first);
    rows.i64(span.id.index() as i64)
        .i32(key.track as i32)
        .i64(key.start)
        .i64(key.dur())
        .source_text(span.record.head.name, span.record.texts)
        .i32(step.map(|step| step as i32))
        .bool(launch.is_graph)
        .i64(launch.device_events)
        .i64(launch.device_total)
        .i64(first.device)
        .i64(first.stream)
        .i64(first.start)
        .i64(first.dur)
        .i64(first.start - key.start)
        .i64((first.start - key.end()).max(0))
        .end_row()?;
    Ok(())
}
