//! The device events of each stream, by the order in which they ran and by that in which they were launched.

use crate::recording::{Moment, Recording};

/// The events of the streams, by their places.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// By start.
    pub by_start: Vec<Vec<u32>>,
    /// By launch; an event without a launch call counts from its own start.
    pub by_launch: Vec<Vec<u32>>,
    /// For each event the one before it on its stream.
    pub before: Vec<Option<u32>>,
}

impl Streams {
    pub(crate) fn new(recording: &Recording) -> Self {
        let events = &recording.events;
        let mut by_start = vec![Vec::new(); recording.streams.len()];
        for (place, event) in events.iter().enumerate() {
            by_start[event.stream as usize].push(place as u32);
        }
        let mut before = vec![None; events.len()];
        for list in &mut by_start {
            // Stable, as what comes from a store is sorted already.
            list.sort_by_key(|&place| (events[place as usize].start_ns, events[place as usize].position));
            for pair in list.windows(2) {
                before[pair[1] as usize] = Some(pair[0]);
            }
        }
        let mut by_launch = by_start.clone();
        for list in &mut by_launch {
            list.sort_by_key(|&place| launch_order(recording, place));
        }
        Self { by_start, by_launch, before }
    }

    /// The event of a stream that was launched last before a moment.
    pub(crate) fn launched_before(&self, recording: &Recording, stream: u32, moment: Moment) -> Option<u32> {
        let list = &self.by_launch[stream as usize];
        let count = list.partition_point(|&place| launch_moment(recording, place) < moment);
        count.checked_sub(1).map(|last| list[last])
    }

    /// The first event of a stream whose launch call begins after a moment.
    pub(crate) fn launched_after(&self, recording: &Recording, stream: u32, moment: Moment) -> Option<u32> {
        let list = &self.by_launch[stream as usize];
        let from = list.partition_point(|&place| launch_moment(recording, place) <= moment);
        let launched = list[from..].iter().copied().filter(|&place| recording.events[place as usize].launch.is_some());
        let first = launched.clone().next()?;
        // Events of one launch are in the order of their starts; of them, the first in the file is meant.
        let moment = launch_moment(recording, first);
        let together = launched.take_while(|&place| launch_moment(recording, place) == moment);
        together.min_by_key(|&place| recording.events[place as usize].position)
    }

    /// The events of a stream that have a launch call, one for each call, in the order of the calls.
    pub(crate) fn first_of_each_launch(&self, recording: &Recording, stream: u32) -> Vec<u32> {
        let launch = |place: u32| recording.events[place as usize].launch;
        let mut list: Vec<u32> = self.by_launch[stream as usize].clone();
        list.retain(|&place| launch(place).is_some());
        list.dedup_by_key(|place| launch(*place));
        list
    }
}

/// When an event was launched.
pub(crate) fn launch_moment(recording: &Recording, place: u32) -> Moment {
    let event = &recording.events[place as usize];
    recording.launch_of(event).map_or((event.start_ns, -1), crate::recording::LaunchCall::moment)
}

fn launch_order(recording: &Recording, place: u32) -> (Moment, i64, i64) {
    let event = &recording.events[place as usize];
    (launch_moment(recording, place), event.start_ns, event.position)
}
