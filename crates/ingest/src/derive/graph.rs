//! Events of CUDA and HIP graphs: which launch of a graph they belong to, and which node they are.

use std::sync::Arc;

use crate::collect::record::SpanId;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};

row! {
    /// A device event that a graph launch brought, in the order of launches and events.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    GraphEvent {
        launch_start: i64,
        launch_position: u64,
        start: i64,
        position: u64,
        id: SpanId,
        launch: SpanId,
        node: Option<i64>,
    }
}

row! {
    /// Where in the graphs a device event is.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    GraphPlace { id: SpanId, launch_number: u32, node: i64, }
}

/// Numbers the launches by start, and the events of each by node or by start.
pub(crate) fn number_launches(
    events: Sorter<GraphEvent>,
    scratch: &Arc<Scratch>,
) -> Result<Sorted<GraphPlace>, IngestError> {
    let mut places = Sorter::new(scratch);
    let events = events.finish()?;
    let mut reader = events.reader()?;
    let mut current: Option<(SpanId, u32, i64)> = None;
    while let Some(event) = reader.next_key()? {
        let (launch_number, place) = match current {
            Some((launch, number, place)) if launch == event.launch => (number, place + 1),
            Some((_, number, _)) => (number + 1, 0),
            None => (0, 0),
        };
        current = Some((event.launch, launch_number, place));
        places.push(GraphPlace { id: event.id, launch_number, node: event.node.unwrap_or(place) })?;
    }
    places.finish()
}
