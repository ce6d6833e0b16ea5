//! What goes away on the host when events of a stream become one (A7).

use std::collections::{HashMap, HashSet};

use crate::draft::NONE;
use crate::host::Host;
use crate::recording::Recording;
use crate::selection::Selection;

/// What a fusion changes.
pub(crate) struct Fused {
    /// Events that are part of the one before them, with no launch and no gap of their own.
    pub joined: Selection,
    /// Calls and operators that are not needed any more.
    pub host: Selection,
}

/// Joins events that follow each other directly on a stream.
pub(crate) fn plan(recording: &Recording, host: &Host, before: &[Option<u32>], groups: &[Vec<u32>]) -> Fused {
    let mut joined = Selection::none(recording);
    for group in groups {
        let members: HashSet<u32> = group.iter().copied().collect();
        let follows = |place: u32| before[place as usize].is_some_and(|before| members.contains(&before));
        group.iter().filter(|&&place| follows(place)).for_each(|&place| joined.add_event(place));
    }
    let mut spans = Selection::none(recording);
    let calls = calls_of_only(recording, |event| joined.has_event(event));
    for &call in &calls {
        spans.add_span(call);
    }
    // Where an operator launches nothing but joined events, all of it is gone; else it has other work to do.
    let needed = needed_operators(recording, host, &joined);
    for (place, event) in recording.events.iter().enumerate() {
        if let Some(operator) = event.operator.filter(|_| joined.has_event(place as u32))
            && !needed.contains(&operator)
        {
            spans.add_span(operator);
        }
    }
    Fused { joined, host: spans }
}

/// Host spans of the calls all of whose events fit.
pub(crate) fn calls_of_only(recording: &Recording, fits: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut all_fit: HashMap<u32, bool> = HashMap::new();
    for (place, event) in recording.events.iter().enumerate() {
        let Some(span) = recording.launch_of(event).and_then(|call| call.span) else { continue };
        *all_fit.entry(span).or_insert(true) &= fits(place as u32);
    }
    let mut spans: Vec<u32> = all_fit.into_iter().filter_map(|(span, all)| all.then_some(span)).collect();
    spans.sort_unstable();
    spans
}

/// Operators around the launch of an event that stays.
fn needed_operators(recording: &Recording, host: &Host, joined: &Selection) -> HashSet<u32> {
    let mut needed = HashSet::new();
    for (place, event) in recording.events.iter().enumerate() {
        if joined.has_event(place as u32) {
            continue;
        }
        let call = recording.launch_of(event).and_then(|call| call.span);
        let mut around = call.or(event.operator).unwrap_or(NONE);
        while around != NONE && needed.insert(around) {
            around = host.parents[around as usize];
        }
        needed.extend(event.operator);
    }
    needed
}
